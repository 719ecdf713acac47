"""Asks for an explanation, of manifests or of what runs, and shows it."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer
from msgspec import structs

from legation.answers import Answers
from legation.checks.findings import findings
from legation.cli.asking import asked, understood
from legation.cli.drawing import print_findings
from legation.cli.outline import outline
from legation.cli.terminal import PROBLEMS, fail, out
from legation.cli.whom import Whom
from legation.explain.explanation import (
    Explanation,
    OfObject,
    OfRequest,
    Unknown,
    as_json,
    held_by,
    read_explanation,
)
from legation.explain.question import Question, explained
from legation.offline import translated

NO_IDEA = "`legation explain --help` has examples"


def written(paths: Sequence[Path], question: Question) -> Explanation:
    """Explain by manifests; what could not be read is said beside."""
    found = translated(paths)
    print_findings(out(stderr=True), findings(found.problems, {}, found.outcome.broken))
    return explained(found.world, found.outcome.statuses, question)


def served(whom: Whom, question: Question) -> Explanation:
    """Explain by what runs, with what the Envoys of all replicas hold."""
    return asked(whom, f"explain?{question.query()}", _together)


def show(explanation: Explanation, *, for_machines: bool) -> None:
    """Show it; say by the exit code whether it is served."""
    if for_machines:
        typer.echo(msgspec.json.format(as_json(explanation)).decode())
    match explanation:
        case Unknown(words, similar):
            fail(words, f"did you mean {' or '.join(similar)}?" if similar else NO_IDEA)
        case OfObject() | OfRequest():
            if not for_machines:
                out().print(outline(explanation))
            if not explanation.served:
                raise typer.Exit(PROBLEMS)


def _together(answers: Answers) -> Explanation:
    """Take what the first replica says, and what it and all others say of their Envoys."""
    told = [(each.who, understood(read_explanation, each.body)) for each in answers.told]
    envoys = tuple(
        structs.replace(held, replica=who)
        for who, each in told
        if not isinstance(each, Unknown)
        for held in each.envoys
    )
    first = told[0][1]
    if isinstance(first, Unknown):
        return first
    return held_by(structs.replace(first, envoys=()), envoys)
