"""Which route attaches to which listener, for which hostnames, and why not."""

from typing import NamedTuple

from msgspec import Struct

from translator.memo import keyed, query, steady
from translator.names import Name, Ref
from translator.objects.listener_set import ListenerSet
from translator.objects.references import GATEWAY_GROUP, ParentReference
from translator.objects.tcp_route import TCPRoute
from translator.objects.udp_route import UDPRoute
from translator.rules import listeners
from translator.rules.default_gateways import KINDS, Route, guests, implied
from translator.rules.gateways import ours
from translator.rules.hostnames import EVERY, Held, intersection, strange
from translator.rules.listener_sets import Slot, age, declared, gateway_of, labels, set_refusal, slots_of
from translator.rules.status import ParentRef
from translator.verdict import Refused
from translator.world import Index, World

ROUTES: dict[str, type[Route]] = {kind.__name__: kind for kind in KINDS}


class Hosted(NamedTuple):
    """One hostname of a route at a listener: what both have in common, and what the route had said."""

    hostname: str
    written: str


class Attached(NamedTuple):
    """A listener that took a route."""

    slot: Slot
    hosts: tuple[Hosted, ...]


class Guest(NamedTuple):
    """A route as the listener sees it that took it."""

    name: Name
    hosts: tuple[Hosted, ...]


class Parent(Struct, frozen=True):
    """What became of one parentRef that leads to a Gateway of ours."""

    ref: ParentRef
    gateway: Name
    attached: tuple[Attached, ...]
    refusal: Refused | None


def _targets(route: Route) -> list[Ref]:
    """Return the objects that a route's parentRefs name."""
    return [
        _target(route.metadata.namespace, ref) for ref in route.spec.parent_refs if ref.group == GATEWAY_GROUP
    ]


def _target(namespace: str, ref: ParentReference) -> Ref:
    return Ref(ref.kind, Name(ref.namespace or namespace, ref.name))


ROUTES_BY_PARENT = {kind: Index(struct, _targets) for kind, struct in ROUTES.items()}


@steady(lambda _route: ())
def parents(world: World, route: Ref) -> tuple[Parent, ...]:
    """Return what became of each parentRef; those that lead to nothing of ours are left out."""
    written = world.must(ROUTES[route.kind], route.name)
    found = []
    for ref in (*written.spec.parent_refs, *implied(world, written)):
        target = _target(route.name.namespace, ref)
        gateway = _gateway(world, target) if ref.group == GATEWAY_GROUP else None
        if gateway is not None:
            found.append(_attach(world, route, ref, target, gateway))
    return tuple(found)


@steady(lambda _slot, _kind: ())
def attached(world: World, slot: Slot, kind: str) -> tuple[Guest, ...]:
    """Return the routes of a kind that a listener took, by name."""
    return _taken.at(world, slot, slot.owner, kind) or ()


@keyed(rank=2)
def _taken(world: World, owner: Ref, kind: str) -> dict[Slot, tuple[Guest, ...]]:
    """Return all that the listeners of one object took: asked once, not once a listener."""
    guests: dict[Slot, dict[Name, dict[Hosted, None]]] = {}
    for name in _candidates(world, kind, owner):
        for parent in parents(world, Ref(kind, name)):
            for each in parent.attached:
                if each.slot.owner == owner:
                    hosts = guests.setdefault(each.slot, {}).setdefault(name, {})
                    hosts.update(dict.fromkeys(each.hosts))
    return {
        slot: tuple(Guest(name, tuple(hosts)) for name, hosts in taken.items())
        for slot, taken in guests.items()
    }


@query
def _has_both_kinds(world: World, owner: Ref) -> bool:
    """Say whether HTTPRoutes and GRPCRoutes meet at an object; mostly nobody has to be compared."""
    return all(
        world.any_where(ROUTES_BY_PARENT[kind], owner) or bool(guests(world, kind, owner))
        for kind in listeners.HTTP_KINDS
    )


@steady(lambda _route, _slot: False)
def _loses(world: World, route: Ref, slot: Slot) -> bool:
    return bool(_lost.at(world, route, slot))


@keyed(rank=1)
def _lost(world: World, slot: Slot) -> dict[Ref, bool]:
    """Return the routes that lose their hostnames at a listener to an older route of the other HTTP kind.

    Requests are never spread over rules of both kinds: the older route keeps what the two have in common.
    """
    refs = [Ref(kind, name) for kind in listeners.HTTP_KINDS for name in _candidates(world, kind, slot.owner)]
    held = {kind: Held() for kind in listeners.HTTP_KINDS}
    lost = {}
    for ref in sorted(refs, key=lambda ref: _elder(world, ref)):
        names = [host.hostname for host in admitted(world, ref, slot)]
        others = [held[kind] for kind in held if kind != ref.kind]
        if any(other.meets(name) for other in others for name in names):
            lost[ref] = True
        else:
            for name in names:
                held[ref.kind].add(name)
    return lost


@query
def _elder(world: World, route: Ref) -> tuple[float, str, str]:
    """Return what orders routes by age: it stays the same however else a route changes."""
    return age(world.must(ROUTES[route.kind], route.name))


@steady(lambda _route, _slot: ())
def admitted(world: World, route: Ref, slot: Slot) -> tuple[Hosted, ...]:
    """Return what a route would serve at a listener if no route of another kind were in its way."""
    written = world.must(ROUTES[route.kind], route.name)
    for ref in (*written.spec.parent_refs, *implied(world, written)):
        if ref.group == GATEWAY_GROUP and _target(route.name.namespace, ref) == slot.owner:
            listener = declared(world, slot)
            named = ref.section_name in (None, listener.name) and ref.port in (None, listener.port)
            if named and _allows(world, slot, route):
                return _hosts(world, route, slot)
    return ()


def _candidates(world: World, kind: str, owner: Ref) -> tuple[Name, ...]:
    """Return the routes of a kind that name an object as their parent, or imply it, by name."""
    named, implying = world.names_where(ROUTES_BY_PARENT[kind], owner), guests(world, kind, owner)
    return tuple(sorted({*named, *implying})) if implying else named


def _gateway(world: World, target: Ref) -> Name | None:
    """Return the Gateway of ours that a parent stands for."""
    if target.kind == "Gateway":
        return target.name if target.name in ours(world) else None
    if target.kind == "ListenerSet" and world.get(ListenerSet, target.name) is not None:
        return gateway_of(world, target.name)
    return None


def _attach(world: World, route: Ref, ref: ParentReference, target: Ref, gateway: Name) -> Parent:
    """Try every listener that a parentRef could mean; the refusal that came furthest is told."""
    named = [
        slot
        for slot in slots_of(world, gateway, target)
        if ref.section_name in (None, slot.section) and ref.port in (None, declared(world, slot).port)
    ]
    allowed = [slot for slot in named if _allows(world, slot, route)]
    hosted = [Attached(slot, found) for slot in allowed if (found := _hosts(world, route, slot))]
    is_rivalled = route.kind in listeners.HTTP_KINDS and _has_both_kinds(world, target)
    winning = [each for each in hosted if not (is_rivalled and _loses(world, route, each.slot))]
    return Parent(
        ref=_written(ref),
        gateway=gateway,
        attached=tuple(winning),
        refusal=None if winning else _refusal(world, target, route, (len(named), len(allowed), len(hosted))),
    )


def _refusal(world: World, target: Ref, route: Ref, passed: tuple[int, int, int]) -> Refused:
    """Tell the hurdle that stopped a route; `passed` counts the listeners that were left after each."""
    named, allowed, hosted = passed
    if not named:
        broken = set_refusal(world, target.name) if target.kind == "ListenerSet" else None
        why = (
            f"{target} is not accepted: {broken.message}"
            if broken
            else f"{target} has no listener of that name and port"
        )
        return Refused("NoMatchingParent", why)
    if not allowed:
        return Refused(
            "NotAllowedByListeners",
            f"no listener of {target} takes {route.kind}s from {route.name.namespace}",
        )
    if not hosted and (wrong := strange("hostnames", written_hostnames(world, route))) is not None:
        return wrong
    if not hosted:
        return Refused(
            "NoMatchingListenerHostname", f"no listener of {target} has a hostname in common with the route"
        )
    return Refused("HostnameConflict", f"an older route of another kind holds these hostnames at {target}")


def _allows(world: World, slot: Slot, route: Ref) -> bool:
    """Say whether a listener takes routes of this kind from this namespace."""
    if route.kind not in listeners.judge(world, slot).kinds:
        return False
    namespaces = declared(world, slot).allowed_routes.namespaces
    match namespaces.from_:
        case "All":
            return True
        case "Selector":
            selector = namespaces.selector
            return selector is not None and selector.matches(labels(world, route.name.namespace))
        case "Same":
            return route.name.namespace == slot.owner.name.namespace
        case _:
            return False


def _hosts(world: World, route: Ref, slot: Slot) -> tuple[Hosted, ...]:
    """Return the hostnames that a route and a listener have in common."""
    names = written_hostnames(world, route)
    if strange("hostnames", names) is not None:
        return ()
    listening = listeners.judge(world, slot).hostname
    pairs = [(intersection(listening, name), name) for name in names or (EVERY,)]
    return tuple(Hosted(common, name) for common, name in pairs if common is not None)


def written_hostnames(world: World, route: Ref) -> tuple[str, ...]:
    """Return the hostnames that a route names; those of plain connections name none."""
    written = world.must(ROUTES[route.kind], route.name)
    return () if isinstance(written, TCPRoute | UDPRoute) else written.spec.hostnames


def _written(ref: ParentReference) -> ParentRef:
    return ParentRef(ref.group, ref.kind, ref.name, ref.namespace, ref.section_name, ref.port)
