"""Shows what proves each backend, of manifests or of what runs."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from legation import offline
from legation.checks.findings import findings
from legation.cli.asking import asked, of_any
from legation.cli.audit import CANNOT_TELL
from legation.cli.drawing import print_findings
from legation.cli.sections import columns
from legation.cli.terminal import fail, out
from legation.cli.whom import Whom
from legation.proofs.hops import BARE, WEAK, Hop, audited, read_hops
from legation.proofs.hops import as_json as audit_as_json
from translator.envoy.proofs import Grade

FOUND = 2


def translated(paths: Sequence[Path]) -> tuple[Hop, ...]:
    """Return the hops of manifests; where something could not be read, say so: a hop may be missing."""
    found = offline.translated(paths)
    hops = audited(found.outcome.snapshots)
    unread = [each for each in findings(found.problems, {}, found.outcome.broken) if each.is_problem]
    if unread:
        print_findings(out(stderr=True), unread)
        if not any(each.is_weak for each in hops):
            fail(
                "not everything could be read, so a way to a backend may be missing",
                "mend what is named above, and ask again",
                code=CANNOT_TELL,
            )
    return hops


def served(whom: Whom) -> tuple[Hop, ...]:
    """Return the hops that are served; all replicas serve the same."""
    return asked(whom, "audit", of_any(read_hops), CANNOT_TELL)


def show(hops: tuple[Hop, ...], *, as_json: bool, cleartext: bool) -> None:
    """List hops; say by the exit code whether any is unverified."""
    bad = WEAK | BARE if cleartext else WEAK
    number = sum(each.proof.grade in bad for each in hops)
    if as_json:
        typer.echo(msgspec.json.format(audit_as_json(hops)).decode())
    else:
        out().print(_drawn(hops, bad) if hops else "no backend is led to")
        words = f"{number} of {len(hops)} ways to a backend "
        rest = "not verified as they should be" if number else "unverified"
        bare = sum(each.proof.grade in BARE - bad for each in hops)
        rest += f", {bare} without TLS of ours" if bare else ""
        out().print(words + rest, style="red" if number else "green")
    if number:
        raise typer.Exit(FOUND)


def _drawn(hops: Sequence[Hop], bad: frozenset[Grade]) -> Table:
    table = columns("PROOF", "BACKEND", "BY", "POLICY", "WHAT PROVES IT")
    for each in hops:
        grade = each.proof.grade
        colour = "red" if grade in bad else "yellow" if grade in BARE else "green"
        table.add_row(
            Text(grade.value, style=colour),
            each.proof.backend,
            each.gateway,
            each.proof.policy,
            Text(each.words),
        )
    return table
