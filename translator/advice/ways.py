"""Where routes lead, field by field: each reference to a backend, and what became of it."""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from translator.names import Ref
from translator.rules import listeners
from translator.rules.attachment import ROUTES, parents
from translator.rules.backends import Backend, Traffic
from translator.rules.http_routes import rules
from translator.rules.streams import streams
from translator.world import World


class Way(NamedTuple):
    """One reference of an attached route that leads to a backend."""

    route: Ref
    field: str
    traffic: Traffic
    backend: Backend


def ways(world: World) -> Iterator[Way]:
    """Yield each way to a backend that something may be sent on."""
    for kind, struct in ROUTES.items():
        for name in sorted(world.names(struct)):
            route = Ref(kind, name)
            if any(parent.attached for parent in parents(world, route)):
                yield from _requests(world, route) if kind in listeners.HTTP_KINDS else _streams(world, route)


def _requests(world: World, route: Ref) -> Iterator[Way]:
    for number, read in enumerate(rules(world, route)):
        place = f"spec.rules[{number}]"
        answering = (
            (f"{place}.backendRefs[{n}]", each.target) for n, each in enumerate(read.backends) if each.weight
        )
        copied = ((f"{place}.filters", each.target) for each in read.mirrors)
        asked = ((f"{place}.filters", each.whom) for each in read.asks)
        for field, target in chain(answering, copied, asked):
            if isinstance(target, Backend):
                yield Way(route, field, Traffic(route.kind), target)


def _streams(world: World, route: Ref) -> Iterator[Way]:
    for traffic in sorted(_traffics(world, route), key=lambda each: each.value):
        for number, share in enumerate(streams(world, route, traffic).shares):
            if share.weight and isinstance(share.target, Backend):
                yield Way(route, f"spec.rules[0].backendRefs[{number}]", traffic, share.target)


def _traffics(world: World, route: Ref) -> set[Traffic]:
    """Say what becomes of a route's connections at the listeners that it is attached to."""
    if route.kind != "TLSRoute":
        return {Traffic(route.kind)}
    slots = (each.slot for parent in parents(world, route) for each in parent.attached)
    passing = {listeners.judge(world, slot).passthrough for slot in slots}
    return {Traffic.PASSTHROUGH if each else Traffic.TERMINATED for each in passing}
