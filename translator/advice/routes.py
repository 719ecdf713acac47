"""Routes that nobody serves, or not as they seem to ask: parents, hostnames, weights."""

from collections.abc import Iterator

from translator.advice.checks import REMARK, WITHOUT_EFFECT, Advice, Check
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.grpc_route import GRPCRouteRule
from translator.objects.http_route import HTTPRouteRule
from translator.objects.listener_set import ListenerSet
from translator.objects.references import GATEWAY_GROUP, ParentReference
from translator.objects.tcp_route import TCPRoute, TCPRouteRule
from translator.objects.tls_route import TLSRouteRule
from translator.objects.udp_route import UDPRoute, UDPRouteRule
from translator.rules import listeners
from translator.rules.attachment import ROUTES, Hosted, parents
from translator.rules.default_gateways import implied
from translator.rules.http_routes import Fail, rules
from translator.rules.listener_sets import Slot
from translator.rules.tables import owner
from translator.world import World

PARENT_MISSING = Check(
    "parent-missing",
    WITHOUT_EFFECT,
    "a route or a ListenerSet that refers to a Gateway or a ListenerSet that is not there",
    "create it, or correct name and namespace; without a namespace it is the route's own",
)
NO_PARENT = Check(
    "route-without-parent",
    WITHOUT_EFFECT,
    "a route that names no parent, and that no default Gateway takes",
    "name a Gateway in spec.parentRefs",
)
CLASS_MISSING = Check(
    "class-missing",
    WITHOUT_EFFECT,
    "a Gateway whose class is not there",
    "create the GatewayClass, or correct the name",
)
HOST_UNMATCHED = Check(
    "hostname-unmatched",
    WITHOUT_EFFECT,
    "a hostname of a route that no listener has, while others of it are served",
    "give a listener that hostname or one that covers it, or remove it from the route",
)
HOST_ELSEWHERE = Check(
    "hostname-elsewhere",
    WITHOUT_EFFECT,
    "a hostname of a route that belongs to another, more precise listener of the same port",
    "attach the route to that listener",
)
WEIGHTLESS = Check(
    "weights-zero",
    REMARK,
    "a rule whose backends all have weight 0, so that each request or connection fails",
    "give one of them a weight, or remove the rule",
)
NO_BACKEND = Check(
    "rule-without-backend",
    REMARK,
    "a rule without backends and without a redirect, so that each request fails",
    "add backendRefs, or a redirect",
)
CHECKS = (PARENT_MISSING, NO_PARENT, CLASS_MISSING, HOST_UNMATCHED, HOST_ELSEWHERE, WEIGHTLESS, NO_BACKEND)
Rule = HTTPRouteRule | GRPCRouteRule | TLSRouteRule | TCPRouteRule | UDPRouteRule


def strays(world: World) -> Iterator[Advice]:
    """Tell of what names, as its parent or its class, something that is not there."""
    for route in _routes(world):
        written = world.must(ROUTES[route.kind], route.name)
        for number, ref in enumerate(written.spec.parent_refs):
            yield from _missing(world, route, f"spec.parentRefs[{number}]", ref)
        if not written.spec.parent_refs and not implied(world, written):
            yield Advice(
                NO_PARENT, route, "spec.parentRefs", "no parent is named, and no default Gateway is there"
            )
    for name in sorted(world.names(ListenerSet)):
        parent = world.must(ListenerSet, name).spec.parent_ref
        ref = ParentReference(parent.name, parent.group, parent.kind, parent.namespace)
        yield from _missing(world, Ref("ListenerSet", name), "spec.parentRef", ref)
    for name in sorted(world.names(Gateway)):
        class_name = world.must(Gateway, name).spec.gateway_class_name
        if world.get(GatewayClass, Name("", class_name)) is None:
            message = f"GatewayClass {class_name} does not exist"
            yield Advice(CLASS_MISSING, Ref("Gateway", name), "spec.gatewayClassName", message)


def hosts(world: World) -> Iterator[Advice]:
    """Tell of hostnames for which a route that is attached is never asked."""
    for route in _routes(world):
        written = world.must(ROUTES[route.kind], route.name)
        if not isinstance(written, TCPRoute | UDPRoute):
            yield from _unheard(world, route, written.spec.hostnames)


def weights(world: World) -> Iterator[Advice]:
    """Tell of rules that fail by what they say themselves, and not by what they refer to."""
    for route in _routes(world):
        written = world.must(ROUTES[route.kind], route.name)
        written_rules: tuple[Rule, ...] = written.spec.rules
        for number, rule in enumerate(written_rules):
            if rule.backend_refs and not any(ref.weight for ref in rule.backend_refs):
                field = f"spec.rules[{number}].backendRefs"
                yield Advice(WEIGHTLESS, route, field, "all weights are 0")
        if route.kind in listeners.HTTP_KINDS:
            for number, read in enumerate(rules(world, route)):
                if not read.backends and read.refusal is None and isinstance(read.rule.action, Fail):
                    message = f"there is none, so requests are answered {read.rule.action.status}"
                    yield Advice(NO_BACKEND, route, f"spec.rules[{number}].backendRefs", message)


def _routes(world: World) -> Iterator[Ref]:
    for kind, struct in ROUTES.items():
        yield from (Ref(kind, name) for name in sorted(world.names(struct)))


def _missing(world: World, about: Ref, field: str, ref: ParentReference) -> Iterator[Advice]:
    """Tell that a parent is not there; kinds that others serve are theirs to judge."""
    kinds: dict[str, type[Gateway | ListenerSet]] = {"Gateway": Gateway, "ListenerSet": ListenerSet}
    name = Name(ref.namespace or about.name.namespace, ref.name)
    if ref.group == GATEWAY_GROUP and ref.kind in kinds and world.get(kinds[ref.kind], name) is None:
        yield Advice(PARENT_MISSING, about, field, f"{ref.kind} {name} does not exist")


def _unheard(world: World, route: Ref, hostnames: tuple[str, ...]) -> Iterator[Advice]:
    found = [
        (each.slot, host)
        for parent in parents(world, route)
        for each in parent.attached
        for host in each.hosts
    ]
    for number, hostname in enumerate(hostnames):
        field = f"spec.hostnames[{number}]"
        matched = [(slot, host) for slot, host in found if host.written == hostname]
        if found and not matched:
            yield Advice(HOST_UNMATCHED, route, field, f"no listener that takes the route has {hostname}")
        elsewhere = [by for slot, host in matched if (by := _other(world, slot, host)) is not None]
        if matched and len(elsewhere) == len(matched):
            listener = f"listener {elsewhere[0]} of {elsewhere[0].owner}"
            yield Advice(HOST_ELSEWHERE, route, field, f"{hostname} belongs to {listener}")


def _other(world: World, slot: Slot, host: Hosted) -> Slot | None:
    """Return the listener that keeps a hostname from another one of its port, if one does."""
    port = listeners.judge(world, slot).port
    found = owner(world, slot.gateway, port, host.hostname)
    return found if found != slot else None
