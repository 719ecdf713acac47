"""Shows how things stand: once, of one process or of all replicas together."""

import msgspec
import typer
from msgspec import structs

from legation.answers import Answers
from legation.cli.asking import asked, understood
from legation.cli.drawing import print_findings, print_overview
from legation.cli.terminal import PROBLEMS, out
from legation.cli.whom import Whom
from legation.standing import Envoy, Overview, as_json, read_overview

QUESTION = "status"


def show(whom: Whom, *, as_json: bool) -> None:
    """Show the answer once; say by the exit code whether anything is refused."""
    overview = overview_of(whom)
    if as_json:
        typer.echo(in_json(overview))
    else:
        print_overview(out(), overview)
        print_findings(out(), overview.findings)
    if any(each.is_problem for each in overview.findings):
        raise typer.Exit(PROBLEMS)


def overview_of(whom: Whom) -> Overview:
    """Ask how things stand; exit where nobody says it."""
    return asked(whom, QUESTION, together)


def in_json(overview: Overview) -> str:
    """Write it for machines that people look over the shoulder of."""
    return msgspec.json.format(as_json(overview)).decode()


def together(answers: Answers) -> Overview:
    """Read what replicas say as one: they judge alike, and each knows its own Envoys."""
    told = [(each.who, understood(read_overview, each.body)) for each in answers.told]
    newest = next((overview for _, overview in told if overview.ready), told[0][1])
    envoys: dict[str, list[Envoy]] = {}
    for who, overview in told:
        for gateway in overview.gateways:
            known = envoys.setdefault(gateway.name, [])
            known.extend(structs.replace(each, replica=who) for each in gateway.envoys)
    gateways = (structs.replace(each, envoys=tuple(envoys[each.name])) for each in newest.gateways)
    return structs.replace(newest, gateways=tuple(gateways))
