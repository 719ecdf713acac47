"""Matches, rules and routes that another one goes before, for every request that they could take.

A match is shadowed where an earlier one of the same host asks for nothing more than it does. It is told of
only if that is so for all hosts, at all ports, at which the route is served.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from translator.advice.checks import WITHOUT_EFFECT, Advice, Check
from translator.names import Ref
from translator.rules import listeners
from translator.rules.attachment import attached
from translator.rules.gateways import ours
from translator.rules.hostnames import EVERY
from translator.rules.http_routes import ReadRule, rules
from translator.rules.listener_sets import Slot, slots
from translator.rules.matches import HttpMatch, PathExact, PathPattern, PathPrefix
from translator.rules.needs import needs
from translator.rules.ports import Bound, HttpPort, QuicPort, TcpPort, TlsPort, UdpPort, plan, sites
from translator.rules.streams import Streams
from translator.rules.tables import Author, Entry, answers, hostnames
from translator.world import World

SHADOWED = Check(
    "shadowed",
    WITHOUT_EFFECT,
    "a match or a rule that another one goes before, for every request that it could take",
    "remove one of the two, or have this one ask for something that the other does not",
)
OUTLIVED = Check(
    "route-outlived",
    WITHOUT_EFFECT,
    "a route of connections or datagrams that an older one goes before, wherever it is attached",
    "give each route a listener or a server name of its own, or remove one of the two",
)
CHECKS = (SHADOWED, OUTLIVED)
MOST_COMPARED = 32  # matches of one path that have their rarest demand in common
STREAMS = ("TLSRoute", "TCPRoute", "UDPRoute")
Path = PathExact | PathPrefix | PathPattern


class Written(NamedTuple):
    """A match, and the rule that has it."""

    author: Author
    match: HttpMatch


def shadowed(world: World) -> Iterator[Advice]:
    """Tell of matches that no request ever reaches, and of a rule as a whole that has only such."""
    fates = _fates(world)
    for author in sorted({one.author for one in fates}):
        read = rules(world, author.route)[author.number]
        by = dict(_hiders(author, read, fates))
        whole = len(by) == len(read.matches)
        for place, each in by.items() if read.refusal is None else ():
            if not whole or place == 0:
                field = f"spec.rules[{author.number}]{'' if whole else f'.matches[{place}]'}"
                yield Advice(SHADOWED, author.route, field, f"{each} takes every such request first")


def outlived(world: World) -> Iterator[Advice]:
    """Tell of routes that wait in vain behind older ones for connections or datagrams."""
    served: set[Ref] = set()
    rivals: dict[Ref, Ref] = {}
    for gateway in sorted(ours(world)):
        heard = {bound: _heard(world, bound) for bound in sites(world, gateway)}
        served.update(route for each in heard.values() for route in each.values())
        for slot in slots(world, gateway):
            listening = listeners.judge(world, slot)
            here = heard.get(Bound(gateway, listening.port, listening.transport), {})
            rivals |= dict(_waiting(world, slot, here))
    for route, by in sorted(rivals.items()):
        if route not in served:
            field = "spec.hostnames" if route.kind == "TLSRoute" else "spec.parentRefs"
            yield Advice(OUTLIVED, route, field, f"{by} is attached to the same listener, and came first")


def _hiders(
    author: Author, read: ReadRule, fates: dict[Written, Author | None]
) -> Iterator[tuple[int, Author]]:
    """Say which matches of a rule are hidden, and by which rule: its own where one is there twice."""
    matches = [ranked.match for ranked in read.matches]
    for place, match in enumerate(matches):
        if (by := fates.get(Written(author, match))) is not None:
            yield place, by
        elif match in matches[:place]:
            yield place, author


def _fates(world: World) -> dict[Written, Author | None]:
    """Return every match that is served, with a rule that hides it where one does wherever it is served."""
    fates: dict[Written, Author | None] = {}
    for gateway in sorted(ours(world)):
        for table in sorted(needs(world, gateway).tables):
            for host in hostnames(world, table):
                for one, by in _in_order(answers(world, table, host)):
                    if by is None:
                        fates[one] = None
                    else:
                        fates.setdefault(one, by)
    return fates


def _in_order(entries: Iterable[Entry]) -> Iterator[tuple[Written, Author | None]]:
    """Yield each match of a host with the rule before it that takes all its requests, if there is any."""
    before: dict[tuple[Path, object], list[Written]] = {}  # by path, and by what few others there ask for
    for entry in entries:
        if isinstance(entry.author, Author):
            one, parts = Written(entry.author, entry.match), _parts(entry.match)
            alike = (
                before.get((path, part), ()) for path in _wider(one.match.path) for part in (None, *parts)
            )
            wider = (each for some in alike for each in some[:MOST_COMPARED])
            yield one, next((each.author for each in wider if _asks_no_more(each.match, one.match)), None)
            places = [(one.match.path, part) for part in parts or [None]]
            rarest = min(places, key=lambda place: len(before.get(place, ())))
            before.setdefault(rarest, []).append(one)


def _parts(match: HttpMatch) -> list[object]:
    """Name what a match asks for beside its path: what is wider asks for some of that, or for nothing."""
    return [*match.headers, *match.query, *filter(None, (match.method, match.grpc))]


def _wider(path: Path) -> Iterator[Path]:
    """Name what takes every path that this one takes; of patterns only the same and what takes all."""
    yield path
    match path:
        case PathExact(text):
            yield from (PathPrefix(each) for each in _above(text))
        case PathPrefix(text):
            yield from (PathPrefix(each) for each in _above(text) if each != text)
        case PathPattern():
            yield PathPrefix("/")


def _above(path: str) -> Iterator[str]:
    """Name a path and all above it."""
    while path not in ("", "/"):
        yield path
        path = path.rpartition("/")[0]
    yield "/"


def _asks_no_more(one: HttpMatch, other: HttpMatch) -> bool:
    """Say whether all that one match asks of a request beside its path, the other asks as well."""
    return (
        set(one.headers) <= set(other.headers)
        and set(one.query) <= set(other.query)
        and one.method in (None, other.method)
        and one.grpc <= other.grpc
    )


def _heard(world: World, bound: Bound) -> dict[str, Ref]:
    """Return the routes that answer at a port, by server name where that tells them apart."""
    match plan(world, bound):
        case TcpPort(streams) | UdpPort(streams):
            return {EVERY: streams.route} if streams.route else {}
        case TlsPort(chains):
            led = ((chain.hostname or EVERY, chain.then) for chain in chains)
            return {name: then.route for name, then in led if isinstance(then, Streams) and then.route}
        case HttpPort() | QuicPort():
            return {}


def _waiting(world: World, slot: Slot, heard: dict[str, Ref]) -> Iterator[tuple[Ref, Ref]]:
    """Yield the routes of a listener that another one answers for, with that one."""
    for kind in STREAMS:
        for guest in attached(world, slot, kind):
            route = Ref(kind, guest.name)
            names = [host.hostname for host in guest.hosts] if kind == "TLSRoute" else [EVERY]
            yield from ((route, heard[name]) for name in names if heard.get(name, route) != route)
