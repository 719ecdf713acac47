"""Shows what is wrong, of manifests or of what runs."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from legation.cli.drawing import print_findings
from legation.cli.overviews import overview_of
from legation.cli.terminal import PROBLEMS, fail, out
from legation.cli.whom import Whom
from legation.findings import Finding, findings
from legation.offline import translated


def written(paths: Sequence[Path]) -> tuple[Finding, ...]:
    """Return what is wrong with manifests."""
    offline = translated(paths)
    return findings(offline.problems, offline.outcome.statuses, offline.outcome.broken)


def served(whom: Whom) -> tuple[Finding, ...]:
    """Return what is wrong with what a process or a cluster serves."""
    overview = overview_of(whom)
    if not overview.ready:
        fail("nothing was read yet", "ask again in a moment")
    return overview.findings


def show(found: Sequence[Finding], *, as_json: bool) -> None:
    """List findings; say by the exit code whether any is a problem."""
    problems = sum(each.is_problem for each in found)
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        print_findings(out(), found)
        words = f"{problems} {'problem' if problems == 1 else 'problems'}"
        out().print(words if problems else "fine", style="red" if problems else "green")
    if problems:
        raise typer.Exit(PROBLEMS)
