"""Shows what proves each backend, of manifests or of a running `legation up`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer
from rich.text import Text

from legation import offline
from legation.addresses import HostPort
from legation.audit import WEAK, Hop, as_json, audited, read_hops
from legation.cli.asking import ask
from legation.cli.drawing import columns, print_findings
from legation.cli.terminal import fail, out
from legation.findings import findings
from translator.envoy.proofs import Grade

CANNOT_TELL, FOUND = 1, 2  # of all commands' exit codes only these two are the other way round
COLOURS = {Grade.CLEARTEXT: "yellow", Grade.RELAYED: "yellow", Grade.REFUSED: "dim"}


def translated(paths: Sequence[Path]) -> tuple[Hop, ...]:
    """Return the hops of manifests; where something could not be read, say so: a hop may be missing."""
    for path in paths:
        if not path.exists():
            fail(f"{path} does not exist", code=CANNOT_TELL)
    found = offline.translated(paths)
    hops = audited(found.outcome.snapshots)
    unread = [each for each in findings(found.problems, {}, found.outcome.broken) if each.is_problem]
    if unread:
        print_findings(out(stderr=True), unread)
        if not any(each.is_weak for each in hops):
            fail("not everything could be read, so something may be missing", code=CANNOT_TELL)
    return hops


def served(admin: HostPort) -> tuple[Hop, ...]:
    """Return the hops that a running process serves."""
    written = asyncio.run(ask(admin, "audit", code=CANNOT_TELL))
    try:
        return read_hops(written)
    except msgspec.MsgspecError as error:
        remedy = "use the same version of `legation` for both"
        fail(f"the answer is not what was expected: {error}", remedy, code=CANNOT_TELL)


def show(hops: Sequence[Hop], *, as_json: bool, cleartext: bool) -> None:
    """List hops; say by the exit code whether any is unverified."""
    counted = WEAK | {Grade.CLEARTEXT, Grade.RELAYED} if cleartext else WEAK
    bad = [each for each in hops if each.proof.grade in counted]
    if as_json:
        typer.echo(msgspec.json.format(_written(hops)).decode())
    else:
        _draw(hops, bad)
    if bad:
        raise typer.Exit(FOUND)


def _written(hops: Sequence[Hop]) -> bytes:
    return as_json(tuple(hops))


def _draw(hops: Sequence[Hop], bad: Sequence[Hop]) -> None:
    table = columns("PROOF", "BACKEND", "BY", "POLICY", "WHAT PROVES IT")
    for each in hops:
        colour = "red" if each in bad else COLOURS.get(each.proof.grade, "green")
        grade = Text(each.proof.grade.value, style=colour)
        table.add_row(grade, each.proof.backend, each.gateway, each.proof.policy, Text(each.words))
    out().print(table if hops else "no backend is led to")
    number = f"{len(bad)} of {len(hops)} ways to a backend"
    out().print(
        f"{number} not verified as they should be" if bad else f"{number} unverified",
        style="red" if bad else "green",
    )
