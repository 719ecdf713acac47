"""What routes are told about themselves, once for each parent of ours."""

from collections.abc import Callable
from types import MappingProxyType

from translator.memo import query, steady
from translator.names import Name, Ref
from translator.rules import listeners
from translator.rules.attachment import ROUTES, Parent, parents
from translator.rules.backends import Backend, Traffic
from translator.rules.external_names import forbidden
from translator.rules.held_back import REASON, held_back, refusal
from translator.rules.hostnames import EVERY
from translator.rules.http_routes import rules
from translator.rules.limits import LARGEST_SPREAD
from translator.rules.status import ParentStatus, RouteStatus
from translator.rules.streams import streams, surplus
from translator.rules.tables import spread, table_of
from translator.verdict import Condition, Refused, fails, holds, our_fault
from translator.world import World


def _status_of(kind: str) -> Callable[[World, Name], RouteStatus]:
    """Make the query of what routes of a kind are told."""

    @query
    def route_status(world: World, name: Name) -> RouteStatus:
        route = Ref(kind, name)
        return RouteStatus(tuple(_parent_status(world, route, parent) for parent in parents(world, route)))

    return route_status


ROUTE_STATUSES = MappingProxyType({kind: _status_of(kind) for kind in ROUTES})


@steady(our_fault)
def route_refusal(world: World, route: Ref) -> Refused | None:
    """Say why nothing of a route is served, if so: each of its rules is refused."""
    refused = _refused_rules(world, route)
    if not refused or len(refused) < len(rules(world, route)):
        return None
    return next(iter(refused.values()))


def _refused_rules(world: World, route: Ref) -> dict[int, Refused]:
    if route.kind not in listeners.HTTP_KINDS:
        return {}
    return {n: read.refusal for n, read in enumerate(rules(world, route)) if read.refusal is not None}


def _unresolved(world: World, route: Ref, parent: Parent) -> tuple[str, str] | None:
    """Return the reason and the message for backendRefs that lead nowhere from a parent, if any do."""
    if route.kind in listeners.HTTP_KINDS:
        found = [(n, target) for n, read in enumerate(rules(world, route)) for target in read.targets]
    else:
        kinds = _traffic(world, route, parent)
        found = [(0, share.target) for each in kinds for share in streams(world, route, each).shares]
    bad = [(n, wrong) for n, target in found if (wrong := _wrong(world, target, parent.gateway)) is not None]
    if not bad:
        return None
    return bad[0][1].reason, "; ".join(dict.fromkeys(f"rules[{n}]: {wrong.message}" for n, wrong in bad))


def _wrong(world: World, target: Backend | Refused, gateway: Name) -> Refused | None:
    if isinstance(target, Refused):
        return target
    return forbidden(world, gateway, target.port.owner) if target.by_name else None


def _parent_status(world: World, route: Ref, parent: Parent) -> ParentStatus:
    unresolved = _unresolved(world, route, parent)
    resolved = fails("ResolvedRefs", *unresolved) if unresolved else holds("ResolvedRefs")
    accepted = _accepted(world, route, parent)
    dropped = _partially_invalid(world, route) if accepted.status else ()
    return ParentStatus(parent.ref, (accepted, resolved, *dropped))


def _traffic(world: World, route: Ref, parent: Parent) -> tuple[Traffic, ...]:
    """Say what a parent's listeners do with the connections of a route: those for TLS may differ in it."""
    if route.kind != "TLSRoute":
        return (Traffic(route.kind),)
    passing = {listeners.judge(world, each.slot).passthrough for each in parent.attached} or {True}
    modes = ((False, Traffic.TERMINATED), (True, Traffic.PASSTHROUGH))
    return tuple(traffic for mode, traffic in modes if mode in passing)


def _accepted(world: World, route: Ref, parent: Parent) -> Condition:
    refusal = parent.refusal or route_refusal(world, route)
    return fails("Accepted", refusal.reason, refusal.message) if refusal else holds("Accepted")


def _partially_invalid(world: World, route: Ref) -> tuple[Condition, ...]:
    """Say which rules are refused while others are served; a refused rule answers that it failed."""
    if route.kind not in listeners.HTTP_KINDS:
        beyond = surplus(world, route)
        return (
            (holds("PartiallyInvalid", beyond.reason, f"Dropped Rule: {beyond.message}"),) if beyond else ()
        )
    dropped = [f"rules[{n}]: {refusal.message}" for n, refusal in _refused_rules(world, route).items()]
    dropped += [_not_repeated(name) for name in sorted(_confined(world, route))]
    said = [f"Dropped Rule: {'; '.join(dropped)}"] if dropped else []
    held = held_back(world, route)
    reason = "UnsupportedValue" if held is None else REASON
    said += [] if held is None else [f"Fall Back: {refusal(held).message}"]
    return (holds("PartiallyInvalid", reason, "; ".join(said)),) if said else ()


def _confined(world: World, route: Ref) -> frozenset[str]:
    """Return the wide names of a route at which it has no room in the hosts that they cover."""
    return frozenset(
        host.hostname
        for parent in parents(world, route)
        for each in parent.attached
        for host in each.hosts
        if host.hostname.startswith(EVERY)
        and route not in spread(world, table_of(world, each.slot), host.hostname)
    )


def _not_repeated(name: str) -> str:
    return (
        f"hostname {name}: names under it that others serve are not answered by it, because "
        f"it and older routes of {name} have over {LARGEST_SPREAD} bytes: give it the hostnames it is for"
    )
