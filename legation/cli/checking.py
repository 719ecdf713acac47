"""Shows what is wrong, of manifests or of what runs."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from legation.answers import UnansweredError
from legation.checks.findings import Finding, advice, findings, in_order, read_findings
from legation.checks.of_proxies import of_proxies
from legation.cli.asking import asked, look, of_any
from legation.cli.drawing import print_findings
from legation.cli.overviews import overview_of
from legation.cli.terminal import PROBLEMS, fail, out
from legation.cli.whom import Whom
from legation.offline import translated
from translator.advice.everything import advised


def written(paths: Sequence[Path]) -> tuple[Finding, ...]:
    """Return what is wrong with manifests."""
    offline = translated(paths)
    told = findings(offline.problems, offline.outcome.statuses, offline.outcome.broken)
    return in_order((*told, *advice(advised(offline.world))))


def served(whom: Whom) -> tuple[Finding, ...]:
    """Return what is wrong with what a process or a cluster serves."""
    try:
        overview = overview_of(whom)
    except typer.Exit:
        print_findings(out(stderr=True), _lacking(whom))  # perhaps nobody answers because of that
        raise
    if not overview.ready:
        fail("nothing was read yet", "ask again in a moment")
    found = asked(whom, "findings", of_any(read_findings))  # what replicas are given, they judge alike
    return in_order((*found, *of_proxies(overview), *_lacking(whom)))


def _lacking(whom: Whom) -> tuple[Finding, ...]:
    try:
        return asyncio.run(look(whom))
    except UnansweredError:  # there is no way to any cluster
        return ()


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
