"""Whatever an API server takes of a tenant: what is refused of it, is said in a status."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import pytest
from envoy.config.route.v3 import route_components_pb2
from msgspec import Struct
from msgspec.structs import replace

from legation.written_status import PENDING
from tests.messages import read, within
from tests.poison.hostile import admitted, some_of_each_kind, the_same
from tests.poison.tenants import all_told, world_of
from tests.translator.test_statuses_any_world import lists
from translator.envoy.clusters import REFUSED
from translator.envoy.resource import LISTENER, ROUTES
from translator.memo import Cell
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object
from translator.objects.listener_set import ListenerSet
from translator.rules.held_back import HTTP_ROUTES
from translator.rules.listener_sets import gateway_of
from translator.rules.status import GatewayStatus, ListenerSetStatus, ListenerStatus
from translator.translate import Translation, Translator
from translator.verdict import Condition, Refused, legible
from translator.world import World

OF_EACH_KIND = 4
AS_TENANTS_WRITE = 50  # mostly routes
BESIDE = 6  # of them in one world, when they are not alone
FAILED = 500  # the least status of an answer that says so
AUTHOR = re.compile(r"(\w+Route) ([^/ ]+)/([^/ ]+) rule (\d+)")
BAD_IF_TRUE = frozenset({"Conflicted", "OverlappingTLSConfig", "PartiallyInvalid"})


class Seen(Struct, frozen=True):
    """A world, and what was made of it."""

    world: World
    made: Translation

    def said_to(self, ref: Ref) -> list[Condition]:
        """Return all that an object says about itself."""
        status = self.made.statuses.get(ref)
        return [each for some in lists(status) for each in some] if status is not None else []

    def refusals(self) -> Iterator[tuple[Refused, frozenset[Ref]]]:
        """Yield every refusal that anything was made of, with the objects that it is about."""
        for cell in chain.from_iterable(each.values() for each in self.world.memory._asked.values()):
            yield from ((each, subjects(cell)) for each in refused_in(cell.value))

    def knows(self, refs: frozenset[Ref]) -> bool:
        """Say whether one of these objects is told that all of it is refused, or none is ours."""
        told = [each for ref in refs for each in self.said_to(ref)]
        return any(is_bad(each) for each in told if each.type == "Accepted") or not told


def seen(things: Sequence[Object]) -> Seen:
    world = world_of(things)
    made = Translator(world).translate()
    assert not made.broken
    return Seen(world, made)


def refused_in(value: object) -> Iterator[Refused]:
    """Yield every refusal in a result, however deep."""
    match value:
        case Refused():
            yield value
        case tuple() | list() | frozenset():
            for each in value:
                yield from refused_in(each)
        case dict():
            yield from refused_in((*value, *value.values()))
        case Struct():
            yield from refused_in(tuple(getattr(value, field) for field in value.__struct_fields__))
        case _:
            pass  # there is nothing in it


def is_bad(said: Condition) -> bool:
    return said.status == (said.type in BAD_IF_TRUE) and said.reason != PENDING


def subjects(cell: Cell) -> frozenset[Ref]:
    """Return the objects that a question is about, or else those about which it was asked."""
    return frozenset(about(cell.names)) or frozenset().union(*(subjects(each) for each in cell.readers))


def about(names: object) -> Iterator[Ref]:
    """Yield the objects that are named."""
    match names:
        case Ref():
            yield names
        case tuple():
            for each in names:
                yield from about(each)
        case Struct():
            yield from about(tuple(getattr(names, field) for field in names.__struct_fields__))
        case _:
            pass  # it names no object


def unsaid(found: Seen) -> list[Refused]:
    """Return the refusals that nobody is told of; where all of an object is refused, for one reason."""
    told = all_told(found.made)
    return [
        refusal
        for refusal, refs in found.refusals()
        if legible(refusal.message) not in told and not found.knows(refs)
    ]


@pytest.fixture(scope="module")
def all_seen() -> tuple[Seen, ...]:
    """Return worlds with one drawn object, and worlds with several."""
    drawn = (*some_of_each_kind(OF_EACH_KIND), *the_same(AS_TENANTS_WRITE, admitted()))
    apart = len(drawn) // BESIDE
    alone = ([each] for each in drawn)
    mixed = (drawn[first::apart] for first in range(apart))
    return tuple(seen(each) for some in (alone, mixed, together(drawn)) for each in some)


def together(drawn: Sequence[Object]) -> Iterator[list[HTTPRoute]]:
    """Write rules of several routes in one, so that good ones stand beside bad ones."""
    routes = [each for each in drawn if isinstance(each, HTTPRoute) and each.spec.rules]
    for one in routes:
        rules = (one.spec.rules[0], *(each.spec.rules[0] for each in routes[: BESIDE - 1]))
        yield [replace(one, spec=replace(one.spec, rules=tuple(replace(each, name=None) for each in rules)))]


def test_what_is_refused_is_said_in_a_status(all_seen: tuple[Seen, ...]) -> None:
    for found in all_seen:
        assert unsaid(found) == []


def test_a_listener_that_no_envoy_opens_says_why(all_seen: tuple[Seen, ...]) -> None:
    for found in all_seen:
        for gateway, port, said in listeners(found):
            opened = found.made.gateways.get(gateway, {}).get(LISTENER, {})
            if not {f"{gateway}:{port}", f"{gateway}:{port}/udp"} & opened.keys():
                assert any(is_bad(each) and each.message for each in said.conditions), said


def listeners(found: Seen) -> Iterator[tuple[Name, int, ListenerStatus]]:
    """Yield every listener that is told something: the Gateway that should serve it, its port, its status."""
    for ref, status in found.made.statuses.items():
        match status:
            case GatewayStatus():
                written: Gateway | ListenerSet = found.world.must(Gateway, ref.name)
                gateway: Name | None = ref.name
            case ListenerSetStatus():
                written = found.world.must(ListenerSet, ref.name)
                gateway = gateway_of(found.world, ref.name)
            case _:
                continue
        ports = {each.name: each.port for each in written.spec.listeners}
        assert gateway is not None
        yield from ((gateway, ports[each.name], each) for each in status.listeners)


def test_a_route_whose_requests_an_envoy_would_fail_is_told(all_seen: tuple[Seen, ...]) -> None:
    for found in all_seen:
        for route in failing(found):
            assert any(is_bad(each) for each in found.said_to(route)), found.made.statuses[route]


def failing(found: Seen) -> set[Ref]:
    """Return the routes for which Envoys answer by an error where their authors named backends."""
    served = found.made.gateways.values()
    tables = (each for some in served for each in some.get(ROUTES, {}).values())
    parts = (part for each in tables for part in within(read(ROUTES, each.body)))
    entries = (part for part in parts if isinstance(part, route_components_pb2.Route))
    authors = (author(entry) for entry in entries if fails(entry))
    return {route for route, rule in filter(None, authors) if names_backends(found.world, route, rule)}


def author(entry: route_components_pb2.Route) -> tuple[Ref, int] | None:
    said = AUTHOR.match(entry.name)
    return (Ref(said[1], Name(said[2], said[3])), int(said[4])) if said else None


def names_backends(world: World, route: Ref, rule: int) -> bool:
    rules = world.must(HTTP_ROUTES[route.kind], route.name).spec.rules
    return any(each.weight for written in rules[rule : rule + 1] for each in written.backend_refs)


def fails(entry: route_components_pb2.Route) -> bool:
    shares = entry.route.weighted_clusters.clusters
    return entry.direct_response.status >= FAILED or REFUSED in {each.name for each in shares}


def test_what_is_looked_for_is_there(all_seen: tuple[Seen, ...]) -> None:
    assert len({refusal.reason for found in all_seen for refusal, _ in found.refusals()}) > 10
    assert sum(len(failing(found)) for found in all_seen) > 5
    assert sum("Dropped Rule" in all_told(found.made) for found in all_seen) > 5
