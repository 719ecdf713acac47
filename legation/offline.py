"""Manifests from files, translated without an Envoy and without a clock that goes on."""

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from legation.disk import Unreadable, list_manifests, read_manifest
from legation.folder import Folder, Reading, about_file, read
from legation.manifests import Problem
from legation.pump import the_time
from legation.workbench import Outcome, Workbench
from translator.world import World


class Offline(Struct, frozen=True, eq=False):
    """What files say, and what came of it."""

    world: World
    outcome: Outcome
    problems: tuple[Problem, ...]


def translated(paths: Iterable[Path]) -> Offline:
    """Read files and folders, and translate them together."""
    folder = Folder()
    for root in paths:
        listing = list_manifests(root)
        for name, why in listing.closed.items():
            folder.take(str(root / name), Reading(problems=(about_file(str(root / name), why),)))
        for path in listing.files.values():
            folder.take(str(path), _reading(path, root))
    workbench = Workbench(asks_envoys=False)
    outcome = workbench.work([the_time(), *folder.changes()])
    return Offline(workbench.world, outcome, folder.problems())


def _reading(path: Path, root: Path) -> Reading:
    text = read_manifest(path, root)
    if isinstance(text, Unreadable):
        return Reading(problems=(about_file(str(path), text.why),))
    return read(text, str(path))
