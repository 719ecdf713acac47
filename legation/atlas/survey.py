"""Walks what a Gateway serves: its ports, names and rules, down to each backend.

It goes in pieces, because a Gateway may have thousands of names: `survey` returns its ports, `hosts` sums up
the names of one route table, and `entries` says what becomes of the requests for one name.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import structs

from legation.atlas.destinations import destination
from legation.atlas.landscape import (
    Action,
    Answers,
    Forwards,
    Host,
    Landscape,
    Lane,
    Leads,
    Part,
    Port,
    Redirects,
    Shares,
    Way,
    thing,
)
from legation.in_words import matched
from translator.envoy.proofs import WORST_FIRST, Grade
from translator.names import Name, Ref
from translator.rules import http_routes
from translator.rules.addresses import binding
from translator.rules.backend_certificate import shown
from translator.rules.backends import Backend, Share
from translator.rules.filters import Redirect
from translator.rules.gateways import refusal
from translator.rules.hostnames import EVERY
from translator.rules.http_routes import Fail, Forward, HttpRule, Split
from translator.rules.listener_sets import slots
from translator.rules.listeners import judge
from translator.rules.mirrors import ALL, Mirror
from translator.rules.needs import chains
from translator.rules.ports import Bound, Chain, HttpPort, QuicPort, TcpPort, TlsPort, UdpPort, site, sites
from translator.rules.streams import Streams
from translator.rules.tables import Author, Entry, Table, answers, hostnames, owner
from translator.rules.telemetry import telemetry
from translator.verdict import Refused
from translator.world import World

CLOSES = "closes the connection"


def survey(world: World, gateway: Name) -> Landscape:
    """Return what stands at each port of a Gateway of ours."""
    own = shown(world, gateway)
    told = telemetry(world, gateway).collectors
    return Landscape(
        thing(Ref("Gateway", gateway)),
        () if refusal(world, gateway) else binding(world, gateway),
        tuple(_port(world, bound) for bound in sites(world, gateway)),
        tuple(_way(world, gateway, each) for each in told),
        thing(Ref("Secret", own)) if isinstance(own, Name) else None,
        own if isinstance(own, Refused) else None,
    )


def tables(world: World, gateway: Name) -> dict[str, Table]:
    """Return the route tables of a Gateway by the names that lanes give them."""
    found = (chain.then for bound in sites(world, gateway) for chain in chains(world, bound))
    return {str(table): table for table in found if isinstance(table, Table)}


def hosts(world: World, table: Table) -> Iterator[Host]:
    """Sum up each name that a route table answers for."""
    for hostname in hostnames(world, table):
        found = [*answers(world, table, hostname)]
        slot = owner(world, table.gateway, table.port, hostname)
        yield Host(
            hostname,
            str(slot or ""),
            tuple(dict.fromkeys(str(each.author.route) for each in found if isinstance(each.author, Author))),
            len(found),
            counted(grade for each in found for grade in _grades(world, table.gateway, each)),
        )


def entries(world: World, table: Table, hostname: str) -> Iterator[Leads]:
    """Say what becomes of each request for a name, the first match first."""
    for each in answers(world, table, hostname):
        yield _leads(world, table.gateway, each)


def counted(grades: Iterable[Grade]) -> dict[str, int]:
    """Count how many there are of each grade, the worst first."""
    found = Counter(grades)
    return {grade.value: found[grade] for grade in WORST_FIRST if grade in found}


def _port(world: World, bound: Bound) -> Port:
    stands = site(world, bound)
    lanes = tuple(_lane(world, bound, chain) for chain in chains(world, bound))
    return Port(str(bound), stands.port, _speaks(stands.plan), lanes)


def _speaks(plan: HttpPort | TlsPort | QuicPort | TcpPort | UdpPort) -> str:
    match plan:
        case HttpPort():
            return "HTTP"
        case TlsPort():
            return "TLS"
        case QuicPort():
            return "HTTP/3"
        case TcpPort():
            return "TCP"
        case UdpPort():
            return "UDP"


def _lane(world: World, bound: Bound, chain: Chain) -> Lane:
    begun = Lane(
        chain.hostname or "",
        _listener(world, bound, chain),
        _client_tls(world, bound, chain),
        asks=tuple(_way(world, bound.gateway, each.whom) for each in chain.asked),
    )
    match chain.then:
        case Table() as table:
            return structs.replace(begun, table=str(table))
        case Streams(shares, route):
            forwards = Forwards(_ways(world, bound.gateway, shares), CLOSES)
            return structs.replace(begun, route=thing(route) if route else None, action=forwards)


def _client_tls(world: World, bound: Bound, chain: Chain) -> str:
    match site(world, bound).plan:
        case TlsPort() | QuicPort():
            return "ended" if chain.tls else "passed"
        case HttpPort() | TcpPort() | UdpPort():
            return "none"


def _listener(world: World, bound: Bound, chain: Chain) -> str:
    """Name the listener that a chain belongs to; cleartext HTTP tells them apart by name, later."""
    if isinstance(chain.then, Table) and not chain.then.hostname:
        return ""
    if (slot := owner(world, bound.gateway, bound.port, chain.hostname or EVERY)) is not None:
        return str(slot)
    judged = ((slot, judge(world, slot)) for slot in slots(world, bound.gateway))
    here = (slot for slot, each in judged if each.served and (each.port, each.transport) == bound[1:])
    return str(next(here, ""))


def _leads(world: World, gateway: Name, entry: Entry) -> Leads:
    author = entry.author if isinstance(entry.author, Author) else None
    return Leads(
        matched(entry.match),
        thing(author.route) if author else None,
        author.number if author else None,
        entry.name,
        _action(world, gateway, entry.rule),
        _asked(world, gateway, entry.rule),
    )


def _action(world: World, gateway: Name, rule: HttpRule) -> Action:
    match rule.action:
        case Forward() as forward:
            copies = tuple(_copy(world, gateway, each) for each in forward.mirrors)
            return Forwards(_ways(world, gateway, forward.shares), f"answers {forward.failure}", copies)
        case Split(parts):
            total = sum(part.weight for part in parts)
            return Shares(tuple(_part(world, gateway, each, total) for each in parts))
        case Redirect(status):
            return Redirects(status)
        case Fail(status, message):
            return Answers(status, message)


def _part(world: World, gateway: Name, part: http_routes.Part, total: int) -> Part:
    rule = part.rule
    return Part(100 * part.weight / total, _action(world, gateway, rule), _asked(world, gateway, rule))


def _asked(world: World, gateway: Name, rule: HttpRule) -> tuple[Way, ...]:
    return tuple(_way(world, gateway, each.whom) for each in rule.asks)


def _ways(world: World, gateway: Name, shares: tuple[Share, ...]) -> tuple[Way, ...]:
    total = sum(share.weight for share in shares) or 1
    return tuple(_way(world, gateway, each.target, 100 * each.weight / total) for each in shares)


def _copy(world: World, gateway: Name, mirror: Mirror) -> Way:
    return _way(world, gateway, mirror.target, 100 * mirror.millionths / ALL)


def _way(world: World, gateway: Name, target: Backend | Refused, percent: float = 100.0) -> Way:
    if isinstance(target, Refused):
        return Way(percent, None, target)
    return Way(percent, destination(world, gateway, target))


def _grades(world: World, gateway: Name, entry: Entry) -> Iterator[Grade]:
    """Name the grade of each backend that an entry leads to, and of each refusal."""
    for backend in entry.rule.backends:
        yield destination(world, gateway, backend).proving.grade
    yield from [Grade.REFUSED] * (_refusals(entry.rule) if isinstance(entry.author, Author) else 0)


def _refusals(rule: HttpRule) -> int:
    match rule.action:
        case Forward(shares):
            return sum(isinstance(each.target, Refused) for each in shares)
        case Split(parts):
            return sum(_refusals(part.rule) for part in parts)
        case Redirect():
            return 0
        case Fail():
            return 1
