"""How things stand, drawn for a terminal."""

from collections.abc import Iterable
from itertools import groupby

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from legation.findings import Finding, in_order
from legation.standing import Attached, Envoy, Gateway, Overview
from legation.written_status import Condition


def print_overview(console: Console, overview: Overview) -> None:
    """Show Gateways with their Envoys, routes and policies."""
    console.print(drawn(overview))


def drawn(overview: Overview) -> RenderableType:
    """Draw tables for what there is."""
    parts: list[RenderableType] = [Text(f"out of date: {each}", style="yellow") for each in overview.stale]
    parts.append(_gateways(overview.gateways))
    if any(gateway.envoys or gateway.process for gateway in overview.gateways):
        parts.append(_envoys(overview.gateways))
    if any(gateway.handshakes for gateway in overview.gateways):
        parts.append(_handshakes(overview.gateways))
    for title, attached in (("route", overview.routes), ("policy", overview.policies)):
        if attached:
            parts.append(_attached(title, attached))
    return Group(*parts)


def columns(*titles: str) -> Table:
    """Begin a table as all commands draw them."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def _gateways(gateways: tuple[Gateway, ...]) -> Table:
    table = columns("GATEWAY", "AT", "LISTENERS", "STATUS")
    for each in gateways:
        listeners = ", ".join(f"{one.name} ({one.attached_routes})" for one in each.listeners)
        table.add_row(each.name, "\n".join(each.bound), listeners, _conditions(each.conditions))
    return table


def _envoys(gateways: tuple[Gateway, ...]) -> Table:
    table = columns("ENVOY OF", "NODE", "CONNECTED", "HOLDS", "LAST REJECTION")
    for gateway in gateways:
        for each in gateway.envoys:
            table.add_row(
                gateway.name, each.node, f"{each.connected_seconds:.0f} s", _holds(each), _nack(each)
            )
        if gateway.process is not None and not gateway.envoys:
            table.add_row(gateway.name, f"process {gateway.process.pid}", "no", "", gateway.process.last_exit)
    return table


def _handshakes(gateways: tuple[Gateway, ...]) -> Table:
    table = columns("TLS TO", "BY", "HANDSHAKES", "REFUSED")
    for gateway in gateways:
        for each in gateway.handshakes:
            refused = ", ".join(f"{number} {why}" for why, number in each.failed.items())
            table.add_row(each.backend, gateway.name, str(each.done), Text(refused, style="red"))
    return table


def _holds(envoy: Envoy) -> str:
    number = sum(len(versions) for versions in envoy.versions.values())
    return f"{number} resources, {'the newest' if envoy.current else 'not all the newest'}"


def _nack(envoy: Envoy) -> str:
    nack = envoy.last_nack
    return f"{', '.join(nack.resources)}: {nack.error}" if nack else ""


def _attached(title: str, attached: tuple[Attached, ...]) -> Table:
    table = columns(title.upper(), "BY", "STATUS")
    for each in attached:
        table.add_row(f"{each.kind} {each.name}", "" if each.by else "nobody", "")
        for about in each.by:
            table.add_row("", about.reference, _conditions(about.conditions))
    return table


def _conditions(conditions: tuple[Condition, ...]) -> Text:
    """Name the conditions; say more of those that somebody should look at."""
    lines = Text()
    for each in conditions:
        colour = "red" if each.is_bad or each.is_alarm else "yellow" if each.is_warning else "green"
        notable = each.is_bad or each.is_warning
        words = f"{each.type}={each.status} {each.reason}: {each.message}" if notable else each.type
        lines.append(("\n" if notable and lines.plain else " " if lines.plain else "") + words, style=colour)
    return lines


def print_findings(console: Console, found: Iterable[Finding]) -> None:
    """List what somebody should look at, by group."""
    for group, members in groupby(in_order(found), key=lambda each: each.group):
        console.print(Text(group, style="bold"))
        for each in members:
            where = ", ".join(part for part in (each.where, each.field) if part and part not in each.object)
            console.print(
                Text("  " + " ".join(part for part in (each.object, where and f"({where})") if part))
            )
            console.print(Text(f"    {each.message}"))
            if each.remedy:
                console.print(Text(f"    -> {each.remedy}", style="cyan"))
