"""What leads where, drawn for a terminal: Gateway, port, host, match, backend, and what TLS proves there."""

from collections.abc import Iterable, Mapping

from rich.text import Text
from rich.tree import Tree

from legation.atlas.landscape import (
    Action,
    Answers,
    Destination,
    Forwards,
    Landscape,
    Lane,
    Leads,
    Port,
    Redirects,
    Shares,
    Way,
)
from legation.atlas.survey import entries, survey, tables
from legation.proofs.hops import BARE, WEAK
from translator.rules.gateways import ours
from translator.rules.tables import Table, hostnames
from translator.world import World


def trees(world: World) -> Iterable[Tree]:
    """Draw one tree for each Gateway of ours."""
    for name in sorted(ours(world)):
        found = survey(world, name)
        where = f"on {', '.join(found.addresses)}" if found.addresses else "nowhere: its status says why"
        tree = Tree(Text(f"{found.gateway}  {where}", style="bold"))
        _add_own(tree, found)
        its_tables = tables(world, name)
        for port in found.ports:
            _add_port(tree, world, port, its_tables)
        yield tree


def _add_own(tree: Tree, found: Landscape) -> None:
    if (refusal := found.refusal) is not None:
        tree.add(Text(f"TLS to every backend fails: {refusal.reason}: {refusal.message}", style="red"))
    if found.shows is not None:
        tree.add(Text(f"shows backends the certificate of {found.shows}"))


def _add_port(tree: Tree, world: World, port: Port, its_tables: Mapping[str, Table]) -> None:
    title = f":{port.number} {port.speaks}"
    if port.speaks == "HTTP/3":
        names = ", ".join(lane.server_name or "any name" for lane in port.lanes)
        tree.add(Text(f"{title} for {names}, as over TLS"))
        return
    added = tree.add(Text(title))
    for lane in port.lanes:
        _add_lane(added, world, lane, its_tables)


def _add_lane(tree: Tree, world: World, lane: Lane, its_tables: Mapping[str, Table]) -> None:
    if lane.tls != "none":
        how = "ends here" if lane.tls == "ended" else "passes through"
        tree = tree.add(Text(f"{lane.server_name or 'any name'}, {how}"))
    if lane.action is not None:
        _add_ways(tree, lane.action.ways, lane.action.failure)
    if (table := its_tables.get(lane.table)) is not None:
        for hostname in hostnames(world, table):
            host = tree.add(Text(hostname))
            for each in entries(world, table, hostname):
                _add_leads(host, each)


def _add_leads(tree: Tree, leads: Leads) -> None:
    line = Text(leads.match).append(f"  ({leads.author})", style="dim")
    _add_action(tree, line, leads.action, leads.asks)


def _add_action(tree: Tree, line: Text, action: Action, asks: Iterable[Way]) -> None:
    for each in asks:
        if each.to is not None:
            line.append("  asks ").append_text(_destination(each.to))
    match action:
        case Forwards(ways, failure, copies):
            leads = tree.add(line)
            _add_ways(leads, ways, failure)
            _add_copies(leads, copies)
        case Shares(parts):
            leads = tree.add(line)
            for part in parts:
                _add_action(leads, Text(f"{part.percent:.0f} %"), part.action, part.asks)
        case Redirects(status):
            tree.add(line.append(f"  redirects with {status}"))
        case Answers(status, message):
            tree.add(line.append(f"  answers {status}: {message}", style="red"))


def _add_copies(tree: Tree, copies: Iterable[Way]) -> None:
    """Draw who gets copies; a mirror that is refused gets none, and its route says why."""
    for each in copies:
        if each.to is not None:
            part = "copies" if each.percent == 100 else f"{each.percent:.2f}% copied"  # noqa: PLR2004  # all
            tree.add(Text(f"{part} to ").append_text(_destination(each.to)))


def _add_ways(tree: Tree, ways: tuple[Way, ...], failure: str) -> None:
    for each in ways:
        part = f"{each.percent:.0f} % " if len(ways) > 1 else ""
        if each.refusal is not None:
            why = f"{each.refusal.reason}: {each.refusal.message}"
            tree.add(Text(f"{part}{failure}: {why}", style="red"))
        if each.to is not None:
            tree.add(Text(part).append_text(_destination(each.to)))


def _destination(to: Destination) -> Text:
    number = to.endpoints
    where = f"at {to.dns_name}" if number is None else f"{number} endpoint{'' if number == 1 else 's'}"
    return Text(f"{to.port} {to.protocol}, {where}, ").append_text(_proving(to))


def _proving(to: Destination) -> Text:
    """Say what the handshake must prove, or why it never will."""
    found, who = to.proving, (to.proving.decided_by or to.service).ref.name
    if found.refusal is not None:
        return Text(f"always fails: {who}: {found.refusal.reason}: {found.refusal.message}", style="red")
    if found.grade in BARE:
        return Text("plaintext")
    weak = found.grade in WEAK
    permitted = ", where it is permitted" if weak else ""
    return Text(f"{found.words} ({who}{permitted})", style="red" if weak else "green")
