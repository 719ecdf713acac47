"""Route tables: each virtual host is serialized once, and a table is joined from those bytes."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.type.v3 import percent_pb2

from translator.envoy.asking import ask, enable, whom
from translator.envoy.encode import element, encode
from translator.envoy.forwards import forwarded, legs
from translator.envoy.headers import change_response
from translator.envoy.matches import route_match
from translator.envoy.redirects import redirects
from translator.envoy.resource import Resource
from translator.envoy.splits import joined, portions
from translator.memo import query, steady
from translator.names import Ref
from translator.rules import tables
from translator.rules.filters import Redirect
from translator.rules.gateways import BINDING
from translator.rules.http_routes import Fail, Forward, HttpRule, Split
from translator.rules.mirrors import ALL
from translator.rules.questions import Question
from translator.rules.tables import MISDIRECTED, Entry, Table
from translator.world import World

VIRTUAL_HOSTS = route_pb2.RouteConfiguration.VIRTUAL_HOSTS_FIELD_NUMBER

# What follows the virtual hosts in every table.  A client may write the port behind the name: matching
# ignores it, and the header reaches the backend as it was written.  Clusters arrive before routes to them.
TAIL = encode(
    route_pb2.RouteConfiguration(validate_clusters={"value": False}, ignore_port_in_host_matching=True)
)
ELSEWHERE = "legation/elsewhere"  # no hostname has a slash


class Seen(NamedTuple):
    """Where clients come from to a route: what they have written already."""

    table: Table
    hostname: str

    @property
    def is_tls(self) -> bool:
        """Whether they come by TLS."""
        return bool(self.table.hostname)


class Part(NamedTuple):
    """A virtual host as an element of its table, and the clusters that it sends requests to."""

    body: bytes
    targets: tuple[str, ...]


class Built(NamedTuple):
    """Some routes as elements of their virtual host, and the clusters that they send requests to."""

    body: bytes
    targets: frozenset[str]


class Shared(NamedTuple):
    """What all hosts under a wide name share: by entry, where they have the same, and whole if all do."""

    pieces: tuple[tuple[Entry, Built | None], ...]
    whole: Built | None


@query
def route_table(world: World, table: Table) -> Resource:
    """Join a route table from its virtual hosts; requests for any other name are answered 404."""
    parts = [virtual_host(world, table, hostname) for hostname in tables.own_hostnames(world, table)]
    others = tables.misdirected(world, table)
    return join(table, [*parts, elsewhere(table, others)] if others else parts)


def join(table: Table, parts: Sequence[Part]) -> Resource:
    """Join a table from serialized virtual hosts: the bytes are those of the whole message."""
    head = encode(route_pb2.RouteConfiguration(name=str(table)))
    targets = set().union(*[part.targets for part in parts])
    return Resource(b"".join([head, *[part.body for part in parts], TAIL]), targets=tuple(sorted(targets)))


def elsewhere(table: Table, hostnames: Sequence[str]) -> Part:
    """Build the one virtual host for all names of other listeners: no request for them is answered here."""
    host, entry = route_components_pb2.VirtualHost(name=ELSEWHERE, domains=hostnames), MISDIRECTED
    route = route_components_pb2.Route(name=entry.name, match=route_match(entry.match))
    host.routes.extend(_acting(route, entry.rule, Seen(table, ELSEWHERE)))
    return Part(element(VIRTUAL_HOSTS, encode(host)), ())


@steady(lambda table, hostname: build(table, hostname, ()))
def virtual_host(world: World, table: Table, hostname: str) -> Part:
    """Build one virtual host, its routes in the order in which requests try them."""
    seen, found = Seen(_by_clients(world, table), hostname), tables.virtual_host(world, table, hostname)
    shared = () if found.wide is None else _placed(seen, _shared(world, table, found.wide), found.but)
    if not found.last:  # nobody is asked
        return _joined(hostname, [_built(seen, found.own), *shared], ())
    built = [_built(seen, found.own), *shared, _built(seen, found.last)]
    return _joined(hostname, built, tables.asked(world, table, hostname))


def build(table: Table, hostname: str, entries: Sequence[Entry], asked: Sequence[Question] = ()) -> Part:
    """Build a virtual host from what it answers, and what is asked before."""
    return _joined(hostname, [_built(Seen(table, hostname), entries)], asked)


@query
def _shared(world: World, table: Table, wide: str) -> Shared:
    """Build once what all hosts under a wide name share."""
    seen, entries = Seen(_by_clients(world, table), wide), tables.repeated(world, table, wide)
    pieces = [(each, _built(seen, [each]) if _is_alike(each.rule) else None) for each in entries]
    built = [piece for _, piece in pieces if piece is not None]
    return Shared(tuple(pieces), _together(built) if len(built) == len(pieces) else None)


def _placed(seen: Seen, shared: Shared, but: frozenset[Ref]) -> Iterable[Built]:
    """Return what one host has of that: without some routes, and with what names the host."""
    if shared.whole is not None and not but:
        return [shared.whole]
    return [built or _built(seen, [entry]) for entry, built in shared.pieces if entry.route not in but]


def _is_alike(rule: HttpRule) -> bool:
    """Tell whether a rule is the same in all hosts: a redirect to the host of a request names that."""
    match rule.action:
        case Redirect(hostname=hostname):
            return hostname is not None
        case Split(parts):
            return all(_is_alike(part.rule) for part in parts)
        case Forward() | Fail():
            return True


def _by_clients(world: World, table: Table) -> Table:
    """Return a table with its port as clients, and so redirects, know it."""
    return table._replace(port=table.port + world.fact(BINDING).port_offset)


def _built(seen: Seen, entries: Sequence[Entry]) -> Built:
    """Build what some entries become in a virtual host."""
    host, known = route_components_pb2.VirtualHost(), None
    targets: set[str] = set()
    for entry in entries:
        route = route_components_pb2.Route(name=entry.name, match=route_match(entry.match))
        routes = [*_acting(route, entry.rule, seen)]
        host.routes.extend(routes)
        if entry.rule != known:  # of one rule there are often many matches
            known = entry.rule
            targets.update(name for each in routes for name in _targets(each.route))
            targets.update(whom(_asked(known)))
    return Built(encode(host), frozenset(targets))


def _together(built: Sequence[Built]) -> Built:
    targets = frozenset[str]().union(*[each.targets for each in built])
    return Built(b"".join([each.body for each in built]), targets)


def _joined(hostname: str, built: Sequence[Built], asked: Sequence[Question]) -> Part:
    """Join a virtual host from its routes, which stand between its name and what is asked."""
    head = route_components_pb2.VirtualHost(name=hostname, domains=[hostname])
    tail = route_components_pb2.VirtualHost()
    enable(tail, asked)
    body, targets = _together(built)
    return Part(element(VIRTUAL_HOSTS, encode(head) + body + encode(tail)), tuple(sorted(targets)))


def _acting(
    route: route_components_pb2.Route, rule: HttpRule, seen: Seen
) -> Iterable[route_components_pb2.Route]:
    """Build what one match of one rule becomes: one route, or more for some new paths and some splits."""
    match rule.action:
        case Forward() as forward if forward.is_answered:
            yield from forwarded(route, rule, forward, legs(forward), is_tls=seen.is_tls)
        case Forward(failure=status) | Fail(status=status):
            route.direct_response.status = status
            yield route
        case Redirect() as redirect:
            ask(route, rule.asks)
            change_response(route, rule.response_headers)
            yield from redirects(route, redirect, seen.table, seen.hostname)
        case Split() as split:
            yield from _split(route, split, seen)


def _split(
    route: route_components_pb2.Route, split: Split, seen: Seen
) -> Iterable[route_components_pb2.Route]:
    """Build what shares of a match become: one route where clusters tell them apart, else one for each."""
    if (one := joined(split)) is not None:
        yield from forwarded(route, one.rule, one.forward, one.legs, is_tls=seen.is_tls)
        return
    for rule, below in portions(split):
        own = route_components_pb2.Route()
        own.CopyFrom(route)
        if below < ALL:
            own.match.runtime_fraction.default_value.numerator = below
            own.match.runtime_fraction.default_value.denominator = percent_pb2.FractionalPercent.MILLION
        yield from _acting(own, rule, seen)


def _asked(rule: HttpRule) -> Iterable[Question]:
    """Return what is asked about requests of a rule, or of a share of them."""
    yield from rule.asks
    if isinstance(rule.action, Split):
        for part in rule.action.parts:
            yield from _asked(part.rule)


def _targets(action: route_components_pb2.RouteAction) -> Iterable[str]:
    """Name the clusters that requests or their copies are sent to."""
    if action.cluster:
        yield action.cluster
    yield from (each.name for each in action.weighted_clusters.clusters)
    yield from (each.cluster for each in action.request_mirror_policies)
