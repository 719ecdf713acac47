"""ListenerSet: which sets a Gateway takes listeners from, in which order (GEP-1713)."""

from math import inf
from typing import NamedTuple

from translator.memo import query, steady
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.kinds import Object, name_of
from translator.objects.listener_set import ListenerSet
from translator.objects.listeners import Listener
from translator.objects.namespace import Namespace
from translator.rules.gateways import GATEWAY, ours, refusal
from translator.rules.limits import MOST_LISTENERS
from translator.verdict import Refused, our_fault
from translator.world import Index, World


class Slot(NamedTuple):
    """One listener's identity: the Gateway it serves, the object that declares it, its name there."""

    gateway: Name
    owner: Ref
    section: str

    def __str__(self) -> str:
        """Name it within its Gateway: by itself, or behind the ListenerSet that declares it."""
        return self.section if self.owner.kind == "Gateway" else f"{self.owner.name}/{self.section}"


def _parent(one: ListenerSet) -> list[Name]:
    parent = one.spec.parent_ref
    if (parent.group, parent.kind) != GATEWAY:
        return []
    return [Name(parent.namespace or one.metadata.namespace, parent.name)]


SETS_BY_GATEWAY = Index(ListenerSet, _parent)


def age(thing: Object) -> tuple[float, str, str]:
    """Order objects by age, then by name; one without a date, as in files, is the youngest."""
    born = thing.metadata.creation_timestamp
    return (born.timestamp() if born else inf, thing.metadata.namespace, thing.metadata.name)


@steady(lambda _set: None)
def gateway_of(world: World, name: Name) -> Name | None:
    """Return the Gateway of ours that a set wants to join."""
    parents = _parent(world.must(ListenerSet, name))
    return parents[0] if parents and parents[0] in ours(world) else None


@steady(lambda name: our_fault(f"ListenerSet {name}"))
def set_refusal(world: World, name: Name) -> Refused | None:
    """Say why a set that wants to join a Gateway of ours does not, if so."""
    if (refused := barred(world, name)) is not None:
        return refused
    gateway = gateway_of(world, name)
    if gateway is not None and name not in _joined(world, gateway):
        message = (
            f"Gateway {gateway} has {MOST_LISTENERS} listeners at the most: older ListenerSets have them"
        )
        return Refused("TooManyListeners", message)
    return None


@steady(lambda name: our_fault(f"ListenerSet {name}"))
def barred(world: World, name: Name) -> Refused | None:
    """Say why a set may not join the Gateway of ours that it wants to join, if so."""
    gateway = gateway_of(world, name)
    assert gateway is not None, f"ListenerSet {name} joins no Gateway of ours"
    allowed = world.must(Gateway, gateway).spec.allowed_listeners
    source = allowed.namespaces.from_ if allowed else "None"
    selector = allowed.namespaces.selector if allowed else None
    if not (
        source == "All"
        or (source == "Same" and name.namespace == gateway.namespace)
        or (source == "Selector" and selector is not None and selector.matches(labels(world, name.namespace)))
    ):
        return Refused("NotAllowed", f"Gateway {gateway} does not allow it: see its spec.allowedListeners")
    if (broken := refusal(world, gateway)) is not None:
        return Refused("ParentNotAccepted", f"Gateway {gateway} is not accepted: {broken.message}")
    return None


@query
def labels(world: World, namespace: str) -> dict[str, str]:
    """Return what a namespace is selected by; one that nobody declared has just its name."""
    found = world.get(Namespace, Name("", namespace))
    return {"kubernetes.io/metadata.name": namespace} | (found.metadata.labels if found else {})


@query
def slots(world: World, gateway: Name) -> tuple[Slot, ...]:
    """Return the listeners of a Gateway by precedence: its own first, then each set's, the oldest first."""
    owners = [Ref("Gateway", gateway), *(Ref("ListenerSet", name) for name in joining(world, gateway))]
    return tuple(slot for owner in owners for slot in slots_of(world, gateway, owner))


@steady(lambda _gateway, _owner: ())
def slots_of(world: World, gateway: Name, owner: Ref) -> tuple[Slot, ...]:
    """Return those that the Gateway itself or one set declares; a set that does not join has none there."""
    if owner.kind == "Gateway":
        names = [each.name for each in world.must(Gateway, gateway).spec.listeners]
    elif owner.name in _joined(world, gateway):
        names = [each.name for each in world.must(ListenerSet, owner.name).spec.listeners]
    else:
        names = []
    return tuple(Slot(gateway, owner, name) for name in names)


@query
def _joined(world: World, gateway: Name) -> frozenset[Name]:
    return frozenset(joining(world, gateway))


@query
def joining(world: World, gateway: Name) -> tuple[Name, ...]:
    """Return the sets that a Gateway takes listeners from: those allowed that there is room for, by age."""
    room = MOST_LISTENERS - len(world.must(Gateway, gateway).spec.listeners)
    found = []
    for one in sorted(world.where(SETS_BY_GATEWAY, gateway), key=age):
        name = name_of(one)
        if len(one.spec.listeners) <= room and barred(world, name) is None:
            room -= len(one.spec.listeners)
            found.append(name)
    return tuple(found)


@steady(lambda slot: Listener(slot.section, 0, ""))
def declared(world: World, slot: Slot) -> Listener:
    """Return a listener as it was written."""
    kind: type[Gateway | ListenerSet] = Gateway if slot.owner.kind == "Gateway" else ListenerSet
    return next(
        each for each in world.must(kind, slot.owner.name).spec.listeners if each.name == slot.section
    )
