"""Writes what manifests are translated into."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from legation.atlas.tree import trees
from legation.checks.findings import findings
from legation.cli.drawing import print_findings
from legation.cli.terminal import PROBLEMS, out
from legation.cli.translate import Output
from legation.offline import Offline, translated
from legation.rendering import rendered
from legation.yaml_text import yaml_text
from translator.names import Ref
from translator.objects.kinds import KINDS, as_manifest


def print_translated(paths: Sequence[Path], output: Output) -> None:
    """Print the result; what could not be read is said on stderr, and by the exit code."""
    offline = translated(paths)
    _write(offline, output)
    unread = findings(offline.problems, {}, offline.outcome.broken)
    if unread:
        print_findings(out(stderr=True), unread)
    if any(each.is_problem for each in unread):
        raise typer.Exit(PROBLEMS)


def _write(offline: Offline, output: Output) -> None:
    match output:
        case Output.YAML:
            typer.echo(yaml_text(_rendered(offline)), nl=False)
        case Output.JSON:
            typer.echo(msgspec.json.format(msgspec.json.encode(_rendered(offline))).decode())
        case Output.TREE:
            _draw(offline)
        case Output.STATUS:
            typer.echo("---\n".join(yaml_text(each) for each in _with_status(offline)), nl=False)


def _rendered(offline: Offline) -> dict[str, object]:
    return rendered(offline.outcome.snapshots)


def _draw(offline: Offline) -> None:
    for tree in trees(offline.world):
        out().print(tree)


def _with_status(offline: Offline) -> list[dict[str, object]]:
    """Write every object that has a status of ours, in the order of kinds and names."""
    written = []
    for info in KINDS:
        for name in sorted(offline.world.names(info.type)):
            status = offline.outcome.statuses.get(Ref(info.kind, name))
            if status is not None:
                manifest = as_manifest(offline.world.must(info.type, name))
                written.append({**manifest, "status": msgspec.json.decode(status)})
    return written
