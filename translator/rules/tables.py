"""Route tables: the virtual hosts that are reached through one HTTP port or one HTTPS listener.

A hostname belongs to the most specific listener of its port, and only routes attached there answer for it.
Among those, rules of a route that names the host more precisely come first, but a request that none of them
takes goes on to the rules of the others. A request for a name of another listener than the one whose
certificate began its connection is misdirected: 421 has the client come again on a connection of its own.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from operator import neg
from typing import NamedTuple

from msgspec import Struct

from translator.memo import keyed, query, steady
from translator.names import Name, Ref
from translator.rules import listeners
from translator.rules.attachment import ROUTES, attached
from translator.rules.held_back import stated
from translator.rules.hostnames import EVERY, specificity, strange, wider
from translator.rules.http_routes import Fail, HttpRule, rules
from translator.rules.limits import LARGEST_SPREAD, size
from translator.rules.listener_filters import questions
from translator.rules.listener_sets import Slot, age
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.questions import Question
from translator.world import World


class Table(NamedTuple):
    """A route table's identity: the cleartext port of a Gateway, or the hostname of an HTTPS listener there.

    Whichever listener has the hostname: where another gets it, connections and their requests go on.
    """

    gateway: Name
    port: int
    hostname: str = ""  # `*` is that of a listener for all names

    def __str__(self) -> str:
        """Name it for Envoy: `infra/edge:8080`, `infra/edge:8443/*.shop.example`."""
        return f"{self.gateway}:{self.port}{'/' + self.hostname if self.hostname else ''}"


class Author(NamedTuple):
    """The rule of a route that an entry was read from, rules counted from 0."""

    route: Ref
    number: int

    def __str__(self) -> str:
        """Name it as it is named to Envoy: `HTTPRoute shop/store rule 2`."""
        return f"{self.route} rule {self.number}"


class Entry(Struct, frozen=True):
    """One match of one rule, in its place among all others of a virtual host."""

    match: HttpMatch
    rule: HttpRule
    author: Author | str  # a word where no route wrote it

    @property
    def name(self) -> str:
        """Say who wrote it."""
        return str(self.author)

    @property
    def route(self) -> Ref | None:
        """Return the route that wrote it, if one did."""
        return self.author.route if isinstance(self.author, Author) else None


MISDIRECTED = Entry(
    HttpMatch(PathPrefix("/")), HttpRule(Fail(421, "the name is another listener's")), "misdirected"
)
# Envoy asks nobody about a request that has no route at all: so there is one for whatever no other takes.
UNROUTED = Entry(HttpMatch(PathPrefix("/")), HttpRule(Fail(404, "no route takes it")), "unrouted")


NOBODY: frozenset[Ref] = frozenset()


class Placed(NamedTuple):
    """A route at a hostname, with the name that the route itself had written."""

    route: Ref
    written: str


class Answers(NamedTuple):
    """What a virtual host answers: what is said of its name, what it shares with others, and what is left.

    Many hosts under one wide name share what is repeated in them: none of them has it as its own.
    """

    own: tuple[Entry, ...] = ()
    wide: str | None = None  # the name under which it shares something
    but: frozenset[Ref] = frozenset()  # routes there that speak of its own name, too
    last: tuple[Entry, ...] = ()


def table_of(world: World, slot: Slot) -> Table:
    """Return the table that answers for a listener of HTTP or HTTPS."""
    each = listeners.judge(world, slot)
    return Table(slot.gateway, each.port, each.hostname if each.protocol == "HTTPS" else "")


@query
def own_hostnames(world: World, table: Table) -> tuple[str, ...]:
    """Return the names that a table answers for: exact ones, `*.` suffixes, or `*`; each at most once.

    Its listeners' names are among them even when no route serves them: they keep wider names off. Only the
    name that covers all has nothing to keep off, unless there is somebody to ask.
    """
    claimed = {
        each.hostname
        for slot, each in _own(world, table)
        if each.hostname != EVERY or questions(world, slot).asked
    }
    return tuple(sorted({*_placed(world, table), *claimed}))


@query
def misdirected(world: World, table: Table) -> tuple[str, ...]:
    """Return the names that other listeners have: one thing is said to all who ask for any of them.

    Each HTTPS listener's table has those of all others of its port, so nothing is made for each of them.
    """
    if not table.hostname:
        return ()
    names = _names(world, table.gateway, table.port)
    place = bisect_left(names, table.hostname)
    own = names[place : place + 1] == (table.hostname,)
    return names[:place] + names[place + own :]


def hostnames(world: World, table: Table) -> tuple[str, ...]:
    """Return every name that a table has an answer to, for whoever wants to see all of it."""
    return tuple(sorted((*own_hostnames(world, table), *misdirected(world, table))))


@steady(lambda _table, _hostname: Answers())
def virtual_host(world: World, table: Table, hostname: str) -> Answers:
    """Return what a virtual host answers; an empty one answers 404."""
    slot = owner(world, table.gateway, table.port, hostname)
    if slot is not None and _is_foreign(listeners.judge(world, slot), table):
        return Answers((MISDIRECTED,))
    placed, wide = _placed.at(world, hostname, table) or (), _above(world, table, hostname)
    but = shares(world, table, wide).intersection(each.route for each in placed) if wide else NOBODY
    last = (UNROUTED,) if asked(world, table, hostname) else ()
    return Answers(_in_order(world, placed), wide, but, last)


def answers(world: World, table: Table, hostname: str) -> Iterator[Entry]:
    """Name all that a virtual host answers, the first match first, for whoever wants to see it."""
    found = virtual_host(world, table, hostname)
    yield from found.own
    if found.wide is not None:
        yield from (each for each in repeated(world, table, found.wide) if each.route not in found.but)
    yield from found.last


def asked(world: World, table: Table, hostname: str) -> tuple[Question, ...]:
    """Return what is asked about every request for a host."""
    slot = owner(world, table.gateway, table.port, hostname)
    if slot is None or _is_foreign(each := listeners.judge(world, slot), table) or not each.served:
        return ()
    return questions(world, slot).asked


@query
def members(world: World, table: Table) -> tuple[Slot, ...]:
    """Return the listeners whose requests a table answers."""
    return tuple(slot for slot, each in _own(world, table) if _serves(each, table))


@steady(lambda _gateway, _port, _hostname: None)
def owner(world: World, gateway: Name, port: int, hostname: str) -> Slot | None:
    """Return the listener a hostname belongs to at a port: the most specific one, able to serve or not."""
    by_name = _owners(world, gateway, port)
    return next((by_name[name] for name in wider(hostname) if name in by_name), None)


@query
def _owners(world: World, gateway: Name, port: int) -> dict[str, Slot]:
    return {each.hostname: slot for slot, each in distinct(world, gateway, port)}


@query
def _names(world: World, gateway: Name, port: int) -> tuple[str, ...]:
    return tuple(sorted(_owners(world, gateway, port)))


def distinct(world: World, gateway: Name, port: int) -> Iterator[tuple[Slot, listeners.Listening]]:
    """Name the listeners of a port that are told apart by hostname and do not conflict.

    What is no name of a host is told from nothing: no request has it, and Envoy takes nothing that has it.
    """
    for slot in listeners.slots_at(world, gateway, port):
        each = listeners.judge(world, slot)
        is_here = (each.port, each.transport, each.conflict) == (port, "TCP", None)
        is_name = each.hostname == EVERY or strange("hostname", [each.hostname]) is None
        if is_here and is_name and each.protocol in listeners.KINDS:
            yield slot, each


def _own(world: World, table: Table) -> Iterable[tuple[Slot, listeners.Listening]]:
    """Name the listeners whose names are a table's own: of HTTPS the one that has its hostname."""
    if not table.hostname:
        return distinct(world, table.gateway, table.port)
    found = [slot for slot in [owner(world, *table)] if slot is not None]
    judged = [(slot, listeners.judge(world, slot)) for slot in found]
    return [(slot, each) for slot, each in judged if not _is_foreign(each, table)]


def _is_foreign(each: listeners.Listening, table: Table) -> bool:
    """Tell whether a listener's names are not this table's to answer; cleartext tells them by name alone."""
    return table.hostname not in ("", each.hostname)


def _serves(each: listeners.Listening, table: Table) -> bool:
    protocol = "HTTPS" if table.hostname else "HTTP"
    return each.served and (each.port, each.protocol) == (table.port, protocol)


@keyed(rank=3)
def _placed(world: World, table: Table) -> dict[str, tuple[Placed, ...]]:
    """Return the routes of a table by the hostnames that their listeners own."""
    found: dict[str, list[Placed]] = {}
    for slot in members(world, table):
        for kind in listeners.HTTP_KINDS:
            for guest in attached(world, slot, kind):
                for host in guest.hosts:
                    if owner(world, table.gateway, table.port, host.hostname) == slot:
                        found.setdefault(host.hostname, []).append(
                            Placed(Ref(kind, guest.name), host.written)
                        )
    return {hostname: tuple(placed) for hostname, placed in found.items()}


def guests(world: World, table: Table, hostname: str) -> frozenset[Ref]:
    """Return the routes that answer for a hostname: placed there, or at wider names of the same listener."""
    shared = shares(world, table, _above(world, table, hostname))
    return shared.union(each.route for each in _placed.at(world, hostname, table) or ())


@steady(lambda _table, _wide: ())
def repeated(world: World, table: Table, wide: str) -> tuple[Entry, ...]:
    """Return what all hosts under a wide name answer after their own, the first match first.

    A route that comes by several names counts once, by the most precise of them. Names that are wider are
    less precise, so what is said of them comes after all that is said of this one.
    """
    room = spread(world, table, wide)
    here = [each for each in _placed.at(world, wide, table) or () if each.route in room]
    above = _above(world, table, wide)
    beyond = () if above is None else repeated(world, table, above)
    return (*_in_order(world, here), *(each for each in beyond if each.route not in room))


@query
def shares(world: World, table: Table, wide: str | None) -> frozenset[Ref]:
    """Return the routes whose answers all hosts under a wide name share; where there is none, none do."""
    if wide is None:
        return NOBODY
    return spread(world, table, wide) | shares(world, table, _above(world, table, wide))


def _above(world: World, table: Table, hostname: str) -> str | None:
    """Return the next wider name of the same listener at which there are routes."""
    names = [name for name in islice(wider(hostname), 1, None) if _placed.at(world, name, table)]
    if not names:  # almost always
        return None
    gateway, port, _ = table
    slot = owner(world, gateway, port, hostname)
    return next((name for name in names if owner(world, gateway, port, name) == slot), None)


def _in_order(world: World, here: Iterable[Placed]) -> tuple[Entry, ...]:
    """Return what routes say of one name, the first match first; each speaks by the most precise it wrote."""
    best: dict[Ref, tuple[int, int]] = {}
    for each in here:
        best[each.route] = max(best.get(each.route, (0, 0)), specificity(each.written))
    found = []
    for route, precise in best.items():
        precision = tuple(map(neg, precise))
        elder = age(world.must(ROUTES[route.kind], route.name))
        for number, read in enumerate(rules(world, route)):
            for place, ranked in enumerate(read.matches):
                order = (precision, tuple(map(neg, ranked.rank)), elder, number, place)
                found.append((order, Entry(ranked.match, read.rule, Author(route, number))))
    return tuple(entry for _, entry in sorted(found, key=lambda pair: pair[0]))


@query
def spread(world: World, table: Table, wide: str) -> frozenset[Ref]:
    """Return the routes of a wide name that answer for narrower ones: those there is room for, by age."""
    refs = {each.route for each in _placed.at(world, wide, table) or ()}
    room, found = LARGEST_SPREAD, set()
    for ref in sorted(refs, key=lambda ref: age(stated(world, ref))):
        if (taken := size(stated(world, ref))) <= room:
            room -= taken
            found.add(ref)
    return frozenset(found)
