"""`legation check`: what is wrong with manifests, before anything is served."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from legation.cli.terminal import PROBLEMS, fail, out

EXAMPLES = """
Examples:

`legation check shop/` one folder; `legation check base/ shop.yaml` several, as if they were one

`legation check -o json shop/` for machines

Exit codes: 0 fine, 1 problems, 2 cannot tell
"""


class Output(Enum):
    """How to write it."""

    TEXT = "text"
    JSON = "json"


def check(
    paths: Annotated[list[Path], typer.Argument(help="Manifests, or folders of them.")],
    *,
    output: Annotated[Output, typer.Option("--output", "-o", help="How to write it.")] = Output.TEXT,
) -> None:
    """Name everything that would not be served as written, with the remedy."""
    from legation.cli.drawing import print_findings  # noqa: PLC0415  # slow to import
    from legation.findings import findings  # noqa: PLC0415  # slow to import
    from legation.offline import translated  # noqa: PLC0415  # slow to import

    for path in paths:
        if not path.exists():
            fail(f"{path} does not exist")
    offline = translated(paths)
    found = findings(offline.problems, offline.outcome.statuses, offline.outcome.broken)
    problems = sum(each.is_problem for each in found)
    if output is Output.JSON:
        typer.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        print_findings(out(), found)
        out().print(
            f"{problems} {'problem' if problems == 1 else 'problems'}" if problems else "fine",
            style="red" if problems else "green",
        )
    if problems:
        raise typer.Exit(PROBLEMS)
