"""What GatewayClasses, Gateways and ListenerSets are told about themselves."""

from msgspec import structs

from translator.memo import query
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.references import GATEWAY_GROUP
from translator.rules import listeners
from translator.rules.addresses import assigned, assignment, binding, unplaced
from translator.rules.attachment import attached
from translator.rules.backend_certificate import shown
from translator.rules.backend_tls_status import crowded_out
from translator.rules.bundles import version_condition
from translator.rules.certificates import server_certificate_warning
from translator.rules.default_gateways import default_condition
from translator.rules.degraded import degraded, told_of
from translator.rules.expiry import expiring
from translator.rules.features import supported
from translator.rules.frontend_validation import insecure
from translator.rules.gateways import Delivery, class_refusal, is_out_of_sight, refusal
from translator.rules.identities import revoked_before
from translator.rules.listener_sets import SETS_BY_GATEWAY, Slot, gateway_of, set_refusal, slots_of
from translator.rules.managed import Upkeep, is_managed
from translator.rules.overlaps import overlapping
from translator.rules.ports import sites
from translator.rules.rejections import told
from translator.rules.route_status import route_refusal
from translator.rules.status import (
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStatus,
    RouteKind,
)
from translator.rules.telemetry import collectors_condition
from translator.verdict import Condition, Refused, fails, holds
from translator.world import World


@query
def gateway_class_status(world: World, name: Name) -> GatewayClassStatus | None:
    """Tell a class of ours whether its Gateways are served, unless only another release can know."""
    if is_out_of_sight(world, name):
        return None
    broken = class_refusal(world, name)
    accepted = fails("Accepted", broken.reason, broken.message) if broken else holds("Accepted")
    return GatewayClassStatus((accepted, *version_condition(world)), supported(world))


@query
def gateway_status(world: World, name: Name) -> GatewayStatus:
    """Tell a Gateway of ours what became of it and of each of its listeners."""
    told = _gateway_status(world, name)
    return structs.replace(told, conditions=(*told.conditions, *_remarks(world, name)))


@query
def _gateway_status(world: World, name: Name) -> GatewayStatus:
    """Judge a Gateway apart from remarks, which every policy of the world could add to."""
    own = slots_of(world, name, Ref("Gateway", name))
    sets = world.names_where(SETS_BY_GATEWAY, name)
    return GatewayStatus(
        conditions=tuple(
            filter(
                None,
                (
                    _accepted(world, name),
                    _programmed(world, name),
                    _resolved(world, name),
                    _placed(world, name),
                    insecure(world, name),
                    default_condition(world, name),
                    collectors_condition(world, name),
                ),
            )
        ),
        listeners=tuple(_listener_status(world, slot) for slot in own),
        addresses=assigned(world, name).addresses if sites(world, name) else (),
        attached_listener_sets=sum(_joins(world, each) for each in sets),
    )


@query
def listener_set_status(world: World, name: Name) -> ListenerSetStatus | None:
    """Tell a ListenerSet what its Gateway made of it, if that Gateway is ours."""
    gateway = gateway_of(world, name)
    if gateway is None:
        return None
    if (broken := set_refusal(world, name)) is not None:
        refused = [fails(type_, broken.reason, broken.message) for type_ in ("Accepted", "Programmed")]
        return ListenerSetStatus(tuple(refused), ())
    own = slots_of(world, gateway, Ref("ListenerSet", name))
    bad = [slot for slot in own if not listeners.judge(world, slot).served]
    message = f"listeners that cannot be served: {', '.join(slot.section for slot in bad)}"
    if len(bad) == len(own):
        invalid = [fails(type_, "ListenersNotValid", message) for type_ in ("Accepted", "Programmed")]
        return ListenerSetStatus(tuple(invalid), tuple(_listener_status(world, slot) for slot in own))
    accepted = holds("Accepted", "ListenersNotValid", message) if bad else holds("Accepted")
    ending = expiring(world, Ref("ListenerSet", name))
    return ListenerSetStatus(
        (accepted, _opened(world, gateway), *ending), tuple(_listener_status(world, slot) for slot in own)
    )


def _joins(world: World, name: Name) -> bool:
    """Say whether a set counts as attached: allowed, and with a listener that is served."""
    gateway = gateway_of(world, name)
    if gateway is None or set_refusal(world, name) is not None:
        return False
    return any(
        listeners.judge(world, slot).served for slot in slots_of(world, gateway, Ref("ListenerSet", name))
    )


def _good(world: World, slot: Slot) -> bool:
    each = listeners.judge(world, slot)
    return each.conflict is None and each.refusal is None


def _accepted(world: World, name: Name) -> Condition:
    if (broken := refusal(world, name)) is not None:
        return fails("Accepted", broken.reason, broken.message)
    own = slots_of(world, name, Ref("Gateway", name))
    bad = [slot.section for slot in own if not _good(world, slot)]
    if not bad:
        return holds("Accepted")
    message = f"listeners that are not accepted: {', '.join(bad)}"
    if len(bad) == len(own):
        return fails("Accepted", "ListenersNotValid", message)
    return holds("Accepted", "ListenersNotValid", message)


def _programmed(world: World, name: Name) -> Condition:
    if refusal(world, name) is not None:
        return fails("Programmed", "Invalid", "the Gateway is not accepted")
    troubled = _upheld(world, name) or unplaced(world, name)
    own = slots_of(world, name, Ref("Gateway", name))
    if troubled is None and not any(listeners.judge(world, slot).served for slot in own):
        return fails("Programmed", "Invalid", "no listener can be served: see each listener's conditions")
    return troubled or _delivered(world, name)


def _resolved(world: World, name: Name) -> Condition:
    """Say whether every reference leads somewhere: the Gateway's own, and those of its listeners."""
    own = shown(world, name)
    if isinstance(own, Refused):
        return fails("ResolvedRefs", own.reason, f"{own.message}; TLS to backends fails meanwhile")
    its = slots_of(world, name, Ref("Gateway", name))
    bad = [slot.section for slot in its if listeners.judge(world, slot).unresolved]
    if bad:
        return fails(
            "ResolvedRefs", "ListenersNotResolved", f"listeners with unresolved references: {', '.join(bad)}"
        )
    return holds("ResolvedRefs", message=server_certificate_warning(world, own) if own else "")


def _placed(world: World, name: Name) -> Condition | None:
    """Say which addresses were granted, unless nothing would be served there anyway."""
    if refusal(world, name) is not None or (binding(world, name) and not sites(world, name)):
        return None
    return assignment(world, name)


def _upheld(world: World, name: Name) -> Condition | None:
    """Say what keeps a Gateway's own proxies from being there, if anything."""
    if not is_managed(world, name):
        return None
    upkeep = world.get(Upkeep, name)
    if upkeep is not None and upkeep.trouble:
        return fails("Programmed", "NoResources", upkeep.trouble)
    return None


def _delivered(world: World, name: Name) -> Condition:
    """Say whether the Gateway's Envoys took what they were sent."""
    delivery = world.get(Delivery, name)
    if delivery is None:
        return holds("Programmed", message="translated; no Envoy was asked")
    if delivery.rejections:
        rejected = "; ".join(told(world, name, each) for each in delivery.rejections)
        return fails("Programmed", "Invalid", f"Envoy rejected {rejected}")
    if not delivery.acknowledged:
        return fails("Programmed", "Pending", "waiting for Envoy to take the newest configuration")
    return holds("Programmed")


def _remarks(world: World, name: Name) -> tuple[Condition, ...]:
    """Say what has no room elsewhere."""
    return (
        *_crowded_out(world, name),
        *_revoked(world, name),
        *told_of(degraded(world, name)),
        *expiring(world, Ref("Gateway", name)),
    )


def _crowded_out(world: World, name: Name) -> tuple[Condition, ...]:
    full = crowded_out(world, name)
    if not full:
        return ()
    message = f"enforced, without room to say so: {', '.join(str(policy) for policy in full)}"
    return (holds("legation.dev/PolicyStatusFull", "TooManyAncestors", message),)


def _revoked(world: World, name: Name) -> tuple[Condition, ...]:
    match revoked_before(world.must(Gateway, name)):
        case None:
            return ()
        case Refused(reason=reason, message=message):
            return (fails("legation.dev/IdentitiesRevoked", reason, message),)
        case moment:
            message = f"identities issued before {moment.isoformat()} are refused"
            return (holds("legation.dev/IdentitiesRevoked", "Revoked", message),)


def _listener_status(world: World, slot: Slot) -> ListenerStatus:
    each = listeners.judge(world, slot)
    guests = [Ref(kind, guest.name) for kind in each.kinds for guest in attached(world, slot, kind)]
    return ListenerStatus(
        name=slot.section,
        supported_kinds=tuple(RouteKind(GATEWAY_GROUP, kind) for kind in each.kinds),
        attached_routes=sum(route_refusal(world, route) is None for route in guests),
        conditions=(
            *listeners.conditions(each, _warnings(world, each)),
            _listener_programmed(world, slot, each),
            *overlapping(world, slot),
        ),
    )


def _warnings(world: World, each: listeners.Listening) -> str:
    """Say which shown certificates clients will refuse: the clock decides, so no plan may ask for it."""
    found = (server_certificate_warning(world, name) for name in each.certificates)
    return "; ".join(warning for warning in (*found, *each.warnings) if warning)


def _listener_programmed(world: World, slot: Slot, each: listeners.Listening) -> Condition:
    broken = each.conflict or each.refusal or refusal(world, slot.gateway)
    if broken is not None:
        return fails("Programmed", broken.reason, broken.message)
    if not each.served:
        return fails("Programmed", "Invalid", "no certificate can be shown: see ResolvedRefs")
    return _opened(world, slot.gateway)


def _opened(world: World, gateway: Name) -> Condition:
    """Say what became of listeners that can be served: without an address to bind, none is open."""
    nowhere = None if binding(world, gateway) else unplaced(world, gateway)
    return fails("Programmed", "Invalid", nowhere.message) if nowhere else _delivered(world, gateway)
