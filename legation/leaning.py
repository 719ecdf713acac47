"""What objects lean on: what must be told with them, and what must not go before they have turned away.

Watches of different kinds tell in any order. Where a route is led to a new port, the Service may be told last
though it was written first; where a Service is deleted, that nobody leads to it any more may come last.
"""

from collections.abc import Iterable, Iterator
from types import MappingProxyType

from msgspec.structs import replace

from legation.kinds import PICKED
from legation.wanted import Key, references
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.kinds import Object, name_of
from translator.objects.listener_set import ListenerSet
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.references import GATEWAY_GROUP
from translator.objects.service import Service
from translator.objects.service_import import ServiceImport
from translator.objects.x_backend import XBackend
from translator.rules.default_gateways import Route
from translator.rules.endpoints import owners, ready_addresses
from translator.rules.parameters import referred
from translator.rules.reach import sent_to, targets

Above = Gateway | GatewayClass | ListenerSet | BackendTLSPolicy | XBackend
Asking = (
    Route
    | Service
    | ServiceImport
    | Gateway
    | GatewayClass
    | GatewayParameters
    | ListenerSet
    | ReferenceGrant
    | BackendTLSPolicy
    | XBackend
)
Keys = frozenset[Key]

LED_TO = MappingProxyType({kind.__name__: kind for kind in (Service, ServiceImport, XBackend)})
PARENTS = MappingProxyType({kind.__name__: kind for kind in (Gateway, ListenerSet)})
NONE: Keys = frozenset()
NOWHERE: frozenset[tuple[Ref, int | None, bool]] = frozenset()


def leans_on(thing: object) -> Keys:
    """Name what an object does not work without; grants count as one for each namespace."""
    if isinstance(thing, Route):
        led = led_to(thing)
        return frozenset((*led, *_parents(thing), *_grants(thing, led)))
    if isinstance(thing, Above):
        pointed_at = [each.key for each in references(thing)]
        return frozenset((*pointed_at, *_grants(thing, pointed_at), *_above(thing)))
    return NONE


def is_alike(before: Object | None, thing: Object | None) -> bool:
    """Say whether an object asks for the same as before; others write into its status and its metadata."""
    return isinstance(before, Asking) and isinstance(thing, Asking) and before.spec == thing.spec


def led_to(route: Route) -> list[Key]:
    """Name the backends of a route, be they there or not."""
    return [(LED_TO[kind], name) for kind, name in targets(route)]


def taken_away(before: Object | None, thing: Object | None) -> Keys:
    """Name what others may lean on in vain from here on; a policy that goes takes away what it proved."""
    if isinstance(before, EndpointSlice):
        return frozenset(_owners(before)) if has_pods(before) and not has_pods(thing) else NONE
    if isinstance(before, BackendTLSPolicy):
        return frozenset(_proved(before)) if thing is None else NONE
    if isinstance(before, ReferenceGrant):
        return NONE if is_alike(before, thing) else frozenset({_granted(before.metadata.namespace)})
    if before is None or (thing is not None and _parts(before) <= _parts(thing)):
        return NONE
    return frozenset({(type(before), name_of(before))})


def has_pods(thing: Object | None) -> bool:
    """Say whether endpoints have any that take traffic."""
    return isinstance(thing, EndpointSlice) and any(ready_addresses(thing))


def doors(route: Route) -> object:
    """Return by which ways requests come to a route, whatever becomes of them there."""
    return replace(route.spec, rules=())


class Known:
    """All objects as they were told, handed on or not."""

    def __init__(self) -> None:
        """Begin with none."""
        self.objects: dict[Key, Object] = {}
        self._peopled: dict[Key, set[Key]] = {}  # endpoints that have pods, by whose they are

    def note(self, key: Key, thing: Object | None) -> Object | None:
        """Take in an object as it is now; return what it was."""
        before = self.objects.pop(key, None)
        if thing is not None:
            self.objects[key] = thing
        if isinstance(before, EndpointSlice) and has_pods(before):
            for owner in _owners(before):
                self._peopled[owner].discard(key)
                if not self._peopled[owner]:
                    del self._peopled[owner]
        if isinstance(thing, EndpointSlice) and has_pods(thing):
            for owner in _owners(thing):
                self._peopled.setdefault(owner, set()).add(key)
        return before

    def needed(self, before: Object | None, thing: Object) -> Keys:
        """Name what a change counts on and may not have been told yet."""
        if is_alike(before, thing):
            return NONE
        lacking = {key for key in leans_on(thing) - leans_on(before) if self._lacks(key)}
        if isinstance(thing, Route):
            old = before if isinstance(before, Route) else None
            led = sent_to(thing) - (sent_to(old) if old else NOWHERE)
            lacking.update(self._lacking_of((target, port) for target, port, _ in led))
            if old is None or doors(old) != doors(thing):
                lacking.update(_parents(thing))
        return frozenset(lacking)

    def _lacks(self, key: Key) -> bool:
        return key not in self.objects and key[0] not in PICKED

    def _lacking_of(self, led: Iterable[tuple[Ref, int | None]]) -> Iterator[Key]:
        """Name what a route begins to lead to, if it is not known to have that port, or any pods."""
        for (kind, name), port in led:
            service = self.objects.get(key := (LED_TO[kind], name))
            if isinstance(service, Service) and port not in {each.port for each in service.spec.ports}:
                yield key
            if key[0] is not XBackend and key not in self._peopled:
                yield EndpointSlice, Name(name.namespace, "")


class Leaners:
    """Who leans on what, by what was handed on."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self._leaning: dict[Key, Keys] = {}
        self._on: dict[Key, set[Key]] = {}

    def note(self, key: Key, thing: object) -> None:
        """Take in an object as it was handed on."""
        before, now = self._leaning.pop(key, NONE), leans_on(thing)
        if now:
            self._leaning[key] = now
        for each in before - now:
            self._on[each].discard(key)
            if not self._on[each]:
                del self._on[each]
        for each in now - before:
            self._on.setdefault(each, set()).add(key)

    def of(self, keys: Iterable[Key]) -> Keys:
        """Name those who lean on some objects."""
        return NONE.union(*(self._on.get(key, ()) for key in keys))


def _parents(route: Route) -> Iterator[Key]:
    for ref in route.spec.parent_refs:
        if ref.group == GATEWAY_GROUP and (kind := PARENTS.get(ref.kind)) is not None:
            yield kind, Name(ref.namespace or route.metadata.namespace, ref.name)


def _above(thing: Above) -> Iterator[Key]:
    """Name what decides about an object."""
    match thing:
        case Gateway() | GatewayClass():
            yield from ((GatewayParameters, name) for name in referred(thing))
        case ListenerSet():
            parent = thing.spec.parent_ref
            yield Gateway, Name(parent.namespace or thing.metadata.namespace, parent.name)
        case BackendTLSPolicy() | XBackend():
            return


def _grants(thing: Object, keys: Iterable[Key]) -> Iterator[Key]:
    for _, (namespace, _) in keys:
        if namespace not in ("", thing.metadata.namespace):
            yield _granted(namespace)


def _granted(namespace: str) -> Key:
    return ReferenceGrant, Name(namespace, "")


def _proved(policy: BackendTLSPolicy) -> Iterator[Key]:
    for ref in policy.spec.target_refs:
        if (kind := LED_TO.get(ref.kind)) is not None:
            yield kind, Name(policy.metadata.namespace, ref.name)


def _owners(endpoints: EndpointSlice) -> Iterator[Key]:
    return ((LED_TO[kind], name) for kind, name in owners(endpoints))


def _parts(thing: Object) -> frozenset[object]:
    """Return what others may lean on one by one."""
    if isinstance(thing, Service):
        return frozenset((each.port, each.name) for each in thing.spec.ports)
    if isinstance(thing, Gateway | ListenerSet):
        listeners = thing.spec.listeners
        return frozenset((each.name, each.port, each.protocol, each.hostname) for each in listeners)
    return frozenset()
