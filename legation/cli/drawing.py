"""How things stand, drawn for a terminal."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.text import Text

from legation.checks.findings import Finding, in_order
from legation.cli.sections import Row, Section, Sections
from legation.standing import Attached, Envoy, Gateway, Overview
from legation.written_status import Condition


def print_overview(console: Console, overview: Overview) -> None:
    """Show Gateways with their Envoys, routes and policies."""
    console.print(drawn(overview, Sections(sections(overview))))


def drawn(overview: Overview, tables: Sections) -> RenderableType:
    """Draw tables below what is out of date, if anything is."""
    stale = (Text(f"out of date: {each}", style="yellow") for each in overview.stale)
    return Group(*stale, tables)


def sections(overview: Overview) -> tuple[Section, ...]:
    """Make a table of each sort of thing, of those that are not there, too."""
    return (
        Section(("GATEWAY", "AT", "LISTENERS", "STATUS"), tuple(map(_gateway, overview.gateways))),
        Section(
            ("ENVOY OF", "NODE", "CONNECTED", "HOLDS", "LAST REJECTION"), tuple(_envoys(overview.gateways))
        ),
        Section(("TLS TO", "BY", "HANDSHAKES", "REFUSED"), tuple(_handshakes(overview.gateways))),
        Section(("ROUTE", "BY", "STATUS"), tuple(_attached(overview.routes))),
        Section(("POLICY", "BY", "STATUS"), tuple(_attached(overview.policies))),
    )


def _gateway(each: Gateway) -> Row:
    listeners = ", ".join(f"{one.name} ({one.attached_routes})" for one in each.listeners)
    status = _conditions(each.conditions)
    cells = (Text(each.name), Text("\n".join(each.bound)), Text(listeners), status)
    return Row(each.name, cells, _signed(cells))


def _envoys(gateways: tuple[Gateway, ...]) -> Iterator[Row]:
    for gateway in gateways:
        for each in gateway.envoys:
            node = f"{each.node} at {each.replica}" if each.replica else each.node
            holds, nack = Text(_holds(each), style="" if each.current else "yellow"), _nack(each)
            age = Text(f"{each.connected_seconds:.0f} s")
            cells = (Text(gateway.name), Text(node), age, holds, Text(nack, style="red"))
            yield Row(f"{gateway.name} {node}", cells, _signed((holds, Text(nack))))
        if (process := gateway.process) is not None and not gateway.envoys:
            runs = f"process {process.pid}" if process.pid is not None else "no process"
            said = (gateway.name, runs, "no", "", process.last_exit)
            yield Row(f"{gateway.name} process", tuple(map(Text, said)), "\n".join(said))


def _handshakes(gateways: tuple[Gateway, ...]) -> Iterator[Row]:
    for gateway in gateways:
        for each in gateway.handshakes:
            refused = Text(", ".join(f"{number} {why}" for why, number in each.failed.items()), style="red")
            cells = (Text(each.backend), Text(gateway.name), Text(str(each.done)), refused)
            yield Row(f"{gateway.name} {each.backend}", cells, refused.plain)


def _holds(envoy: Envoy) -> str:
    number = sum(len(versions) for versions in envoy.versions.values())
    return f"{number} resources, {'the newest' if envoy.current else 'not all the newest'}"


def _nack(envoy: Envoy) -> str:
    nack = envoy.last_nack
    return f"{', '.join(nack.resources)}: {nack.error}" if nack else ""


def _attached(attached: tuple[Attached, ...]) -> Iterator[Row]:
    """Write one row for each parent or ancestor, the name before the first; there may be none."""
    for each in attached:
        name = f"{each.kind} {each.name}"
        if not each.by:
            yield Row(name, (Text(name), Text("nobody"), Text()), "")
        for number, about in enumerate(each.by):
            cells = (Text("" if number else name), Text(about.reference), _conditions(about.conditions))
            yield Row(f"{name} {about.reference}", cells, _signed(cells))


def _signed(cells: Iterable[Text]) -> str:
    return "\n".join(cell.plain for cell in cells)


def _conditions(conditions: tuple[Condition, ...]) -> Text:
    """Name the conditions that hold; say more, in a line each, of those that somebody should look at."""
    usual = [each for each in conditions if not (each.is_bad or each.is_warning or each.is_waiting)]
    lines = [Text(" ").join(Text(each.type, style=_colour(each)) for each in usual)] if usual else []
    for each in conditions:
        if each not in usual:
            words = f"{each.type}={each.status} {each.reason}: {each.message}"
            lines.append(Text(words, style=_colour(each)))
    return Text("\n").join(lines)


def _colour(condition: Condition) -> str:
    if condition.is_bad or condition.is_alarm:
        return "red"
    return "yellow" if condition.is_warning or condition.is_waiting else "green"


def print_findings(console: Console, found: Iterable[Finding]) -> None:
    """List what somebody should look at, by group."""
    for group, members in groupby(in_order(found), key=lambda each: each.group):
        console.print(Text(group, style="bold"))
        for each in members:
            console.print(Text(f"  {_headed(each)}"))
            console.print(Text(f"    {each.message}"))
            if each.remedy:
                console.print(Text(f"    -> {each.remedy}", style="cyan"))


def _headed(each: Finding) -> str:
    """Name the object and where in it; of what is no object yet, the place alone."""
    field = "" if each.where.endswith(each.field) else each.field  # who found it in a file says both in one
    where = ", ".join(part for part in (each.where, field) if part and part not in each.object)
    return f"{each.object} ({where})" if each.object and where else each.object or where
