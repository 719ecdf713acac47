"""Run as a program: translates manifests in an order of its own; prints what is offered in which version."""

import json
import random
import sys
from pathlib import Path

from legation.folder import Folder, read
from legation.workbench import Workbench

Versions = dict[str, dict[str, str]]


def versions(paths: list[Path], order: random.Random) -> Versions:
    """Translate what files say together, of which half arrives first."""
    folder, workbench = Folder(), Workbench()
    for path in paths:
        folder.take(str(path), read(path.read_text(), str(path)))
    changes = list(folder.changes())
    order.shuffle(changes)
    workbench.work(changes[: len(changes) // 2])
    snapshots = workbench.work(changes[len(changes) // 2 :]).snapshots
    return {
        f"{group} {type_url}": {name: entry.version for name, entry in sorted(named.items())}
        for group, snapshot in sorted(snapshots.items())
        for type_url, named in sorted(snapshot.entries.items())
    }


if __name__ == "__main__":
    seed, background, *others = sys.argv[1:]
    chance = random.Random(int(seed))  # noqa: S311  # no secret
    found = {other: versions([Path(background), Path(other)], chance) for other in others}
    sys.stdout.write(json.dumps(found))
