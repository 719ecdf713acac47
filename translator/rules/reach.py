"""Which Gateways lead to a backend: by an attached route whose connections the Gateway itself opens."""

from collections.abc import Iterable, Iterator

from translator.memo import keyed, query
from translator.names import Name, Ref, ServicePort
from translator.objects.grpc_route import GRPCBackendRef, GRPCRouteRule
from translator.objects.http_route import HTTPBackendRef, HTTPRouteRule
from translator.objects.listener_set import ListenerSet
from translator.objects.references import BackendObjectReference, BackendRef
from translator.objects.x_backend import X_GROUP
from translator.rules import listeners, mirrors, questions
from translator.rules.attachment import ROUTES, parents
from translator.rules.backends import Backend, Traffic
from translator.rules.default_gateways import Route
from translator.rules.gateways import ours
from translator.rules.http_routes import rules
from translator.rules.listener_filters import GATEWAYS_BY_SERVICE, SETS_BY_SERVICE, asked_ports
from translator.rules.listener_sets import Slot, gateway_of, slots
from translator.rules.open_ports import GROUPS
from translator.rules.streams import streams
from translator.rules.telemetry import telling
from translator.world import Index, World

Reference = BackendObjectReference | BackendRef | HTTPBackendRef | GRPCBackendRef

KINDS = frozenset({*((group, kind) for kind, group in GROUPS.items()), (X_GROUP, "XBackend")})


def targets(route: Route) -> list[Ref]:
    """Name the objects that a route refers to, as backends or besides."""
    rules = route.spec.rules
    refs = (ref for rule in rules for ref in (*rule.backend_refs, *_besides(rule)))
    return [target for target, _ in _target_ports(route, refs)]


def sent_to(route: Route) -> frozenset[tuple[Ref, int | None, bool]]:
    """Name the ports to which a route sends something, and say whether that is requests themselves.

    Whoever got none of those yet, or copies only, may lack what requests need, and nobody would notice.
    """
    rules = route.spec.rules
    requests = (ref for rule in rules for ref in rule.backend_refs if ref.weight)
    besides = (ref for rule in rules for ref in _besides(rule))
    return frozenset(
        (target, port, is_requests)
        for refs, is_requests in ((requests, True), (besides, False))
        for target, port in _target_ports(route, refs)
    )


def _target_ports(route: Route, refs: Iterable[Reference]) -> list[tuple[Ref, int | None]]:
    """Name what is referred to, once with each port that is asked for."""
    home = route.metadata.namespace
    named = {
        (ref.kind, ref.namespace or home, ref.name, ref.port): None
        for ref in refs
        if (ref.group, ref.kind) in KINDS
    }
    return [(Ref(kind, Name(namespace, name)), port) for kind, namespace, name, port in named]


def _besides(rule: object) -> list[BackendObjectReference]:
    """Return where the filters of a rule lead; routes of connections have none."""
    if not isinstance(rule, HTTPRouteRule | GRPCRouteRule):
        return []
    copied = [each.backend_ref for each in mirrors.asked(rule)]
    return [*copied, *[each.backend_ref for each in questions.asked(rule)]]


NOBODY: frozenset[Name] = frozenset()
ROUTES_BY_TARGET = {kind: Index(struct, targets) for kind, struct in ROUTES.items() if kind != "UDPRoute"}


def gateways_to(world: World, port: ServicePort) -> tuple[Name, ...]:
    """Return the Gateways of ours whose attached routes originate connections to a port, by name."""
    return tuple(sorted((_led_to.at(world, port, port.owner) or NOBODY) | telling(world, port)))


@keyed(rank=2)
def _led_to(world: World, owner: Ref) -> dict[ServicePort, frozenset[Name]]:
    """Return the Gateways that lead to each port of an object: found once, not once for each of its ports."""
    found: dict[ServicePort, set[Name]] = {}
    for route in _routes(world, owner):
        ports = [port for port in opened(world, route) if port.owner == owner]
        gateways = frozenset(_openers(world, route)) if ports else NOBODY
        for port in ports:
            found.setdefault(port, set()).update(gateways)
    for slot, port in _asking(world, owner):
        found.setdefault(port, set()).add(slot.gateway)
    return {port: frozenset(gateways) for port, gateways in found.items()}


@query
def gateways_naming(world: World, port: ServicePort) -> tuple[Name, ...]:
    """Return the Gateways of ours that are to lead to a backend, be it refused or not, by name."""
    attached = (parent for route in _routes(world, port.owner) for parent in parents(world, route))
    found = {parent.gateway for parent in attached if parent.attached}
    return tuple(
        sorted(found | {slot.gateway for slot, asked in _asking(world, port.owner) if asked == port})
    )


def routes_to(world: World, port: ServicePort, gateway: Name) -> Iterator[Ref]:
    """Name the routes by which a Gateway leads to a port."""
    leading = (route for route in _routes(world, port.owner) if port in opened(world, route))
    return (route for route in leading if gateway in _openers(world, route))


def _routes(world: World, target: Ref) -> Iterator[Ref]:
    for kind, index in ROUTES_BY_TARGET.items():
        if world.has_seen(index.kind):
            yield from (Ref(kind, name) for name in world.names_where(index, target))


@query
def opened(world: World, route: Ref) -> frozenset[ServicePort]:
    """Return the ports that a route sends connections of the Gateway's own to."""
    if route.kind in listeners.HTTP_KINDS:
        found = [target for read in rules(world, route) for target in read.targets]
    else:
        traffic = Traffic.TERMINATED if route.kind == "TLSRoute" else Traffic.TCP
        found = [share.target for share in streams(world, route, traffic).shares]
    return frozenset(target.port for target in found if isinstance(target, Backend))


def _asking(world: World, owner: Ref) -> Iterator[tuple[Slot, ServicePort]]:
    """Name the listeners that ask a Service before any route is chosen, each with the ports that it asks."""
    sets = world.names_where(SETS_BY_SERVICE, owner.name) if world.has_seen(ListenerSet) else ()
    joined = (gateway_of(world, name) for name in sets)
    for gateway in {*world.names_where(GATEWAYS_BY_SERVICE, owner.name), *joined}:
        if gateway is not None and gateway in ours(world):
            yield from (
                (each, port) for each in slots(world, gateway) for port in asked_ports(world, each, owner)
            )


def _openers(world: World, route: Ref) -> Iterator[Name]:
    """Name the Gateways that open connections for a route; TLS passed through is the client's."""
    for parent in parents(world, route):
        if any(not listeners.judge(world, each.slot).passthrough for each in parent.attached):
            yield parent.gateway
