"""`legation translate`: what Envoys would be sent for some manifests, without any Envoy."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from legation.cli.terminal import PROBLEMS, fail, out, print_findings
from legation.findings import findings
from legation.offline import Offline, translated
from legation.yaml_text import yaml_text
from translator.names import Ref
from translator.objects.kinds import KINDS, as_manifest

EXAMPLES = """
Examples:

`legation translate shop/` what Envoy gets, as YAML; private keys are left out

`legation translate -o tree shop/` what leads where

`legation translate -o status shop.yaml` the objects with the status they would have

Exit codes: 0 translated, 1 some manifests could not be read (the others are translated), 2 cannot tell
"""


class Output(Enum):
    """What to write."""

    YAML = "yaml"
    JSON = "json"
    TREE = "tree"
    STATUS = "status"


def translate(
    paths: Annotated[list[Path], typer.Argument(help="Manifests, or folders of them.")],
    *,
    output: Annotated[Output, typer.Option("--output", "-o", help="What to write.")] = Output.YAML,
) -> None:
    """Translate manifests offline and print the result; no Envoy runs."""
    for path in paths:
        if not path.exists():
            fail(f"{path} does not exist")
    offline = translated(paths)
    _write(offline, output)
    unread = findings(offline.problems, {}, offline.outcome.broken)
    if unread:
        print_findings(out(stderr=True), unread)
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
    from legation.rendering import rendered  # noqa: PLC0415  # slow to import

    return rendered(offline.outcome.snapshots)


def _draw(offline: Offline) -> None:
    from legation.tree import trees  # noqa: PLC0415  # slow to import

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
