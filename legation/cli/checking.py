"""Shows what is wrong, of manifests or of what runs."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from legation.cli.drawing import print_findings
from legation.cli.overviews import overview_of
from legation.cli.terminal import PROBLEMS, fail, out
from legation.cli.whom import Whom
from legation.findings import Finding, advice, findings, in_order
from legation.offline import translated
from translator.advice.everything import advised


def written(paths: Sequence[Path]) -> tuple[Finding, ...]:
    """Return what is wrong with manifests."""
    offline = translated(paths)
    told = findings(offline.problems, offline.outcome.statuses, offline.outcome.broken)
    return in_order((*told, *advice(advised(offline.world))))


def served(whom: Whom) -> tuple[Finding, ...]:
    """Return what is wrong with what a process or a cluster serves."""
    overview = overview_of(whom)
    if not overview.ready:
        fail("nothing was read yet", "ask again in a moment")
    return overview.findings


def show(found: Sequence[Finding], *, as_json: bool, strict: bool) -> None:
    """List findings; say by the exit code whether any is a problem, or is one to whoever is strict."""
    problems = sum(each.is_strictly_a_problem if strict else each.is_problem for each in found)
    remarks = sum(each.is_strictly_a_problem for each in found) - problems
    if as_json:
        typer.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
    else:
        print_findings(out(), found)
        words = _number(problems, "problem") if problems else "fine"
        rest = f", with {_number(remarks, 'remark')}" if remarks else ""
        out().print(words + rest, style="red" if problems else "green")
    if problems:
        raise typer.Exit(PROBLEMS)


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
