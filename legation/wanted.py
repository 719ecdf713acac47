"""Which values of which Secrets and ConfigMaps are read: those that some object may refer to, and does.

A reference into another namespace counts once a ReferenceGrant permits it, so that nobody learns anything of
what is not theirs. A Secret that certificates are proved by is kept without its key; all others are not kept.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway, GatewayTLSConfig
from translator.objects.kinds import Object
from translator.objects.listener_set import ListenerSet
from translator.objects.listeners import Listener
from translator.objects.provenance import TracedMeta
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.references import GATEWAY_GROUP, ObjectReference, SecretObjectReference
from translator.objects.secret import Secret
from translator.objects.x_backend import X_GROUP, XBackend
from translator.rules.grants import GRANTS_BY_SOURCE, Given, Pointee, Pointer, gifts, given
from translator.rules.wordings import Wording, of_policy, of_x_backend

Key = tuple[type, Name]

WANTING = frozenset({Gateway, ListenerSet, BackendTLSPolicy, XBackend, ReferenceGrant})

CERTIFICATE = frozenset({"tls.crt", "tls.key"})
TRUST = frozenset({"ca.crt"})
NOTHING: AbstractSet[str] = frozenset()

_SHOWN = MappingProxyType[tuple[str, str], type]({("", "Secret"): Secret})
_TRUSTED = MappingProxyType[tuple[str, str], type]({("", "Secret"): Secret, ("", "ConfigMap"): ConfigMap})


class Reference(NamedTuple):
    """Who refers to what, and which of its values are read."""

    by: Pointer
    kind: type
    name: Name
    values: frozenset[str]

    @property
    def key(self) -> Key:
        """The object that is referred to."""
        return self.kind, self.name

    @property
    def pointee(self) -> Pointee:
        """The same as a grant names it."""
        return Pointee("", self.kind.__name__, self.name)


def references(thing: Object | None) -> frozenset[Reference]:
    """Say what an object refers to, be it permitted or not; an object that is gone refers to nothing."""
    if isinstance(thing, Gateway | ListenerSet):
        return frozenset(_of_listeners(thing))
    if isinstance(thing, BackendTLSPolicy):
        return frozenset(_trusted(thing, of_policy(thing)))
    if isinstance(thing, XBackend):
        return frozenset(_of_x_backend(thing))
    return frozenset()


def _of_x_backend(thing: XBackend) -> Iterator[Reference]:
    yield from _trusted(thing, of_x_backend(thing))
    if (shown := thing.spec.tls.client_certificate_ref) is not None:
        yield from _pointed(thing, (shown,), _SHOWN, CERTIFICATE)


def _trusted(thing: BackendTLSPolicy | XBackend, wording: Wording | None) -> Iterator[Reference]:
    for group, kind, name in wording.references if wording else ():
        if (known := _TRUSTED.get((group, kind))) is not None:
            yield Reference(_pointer(thing), known, name, TRUST)


def _of_listeners(thing: Gateway | ListenerSet) -> Iterator[Reference]:
    yield from _pointed(thing, _certificates(thing.spec.listeners), _SHOWN, CERTIFICATE)
    if isinstance(thing, Gateway) and thing.spec.tls is not None:
        yield from _pointed(thing, _client_certificate(thing.spec.tls), _SHOWN, CERTIFICATE)
        yield from _pointed(thing, _client_authorities(thing.spec.tls), _TRUSTED, TRUST)


Refs = Iterable[ObjectReference | SecretObjectReference]


def _pointed(
    thing: Gateway | ListenerSet | XBackend,
    refs: Refs,
    kinds: Mapping[tuple[str, str], type],
    values: frozenset[str],
) -> Iterator[Reference]:
    for ref in refs:
        if (kind := kinds.get((ref.group, ref.kind))) is not None:
            name = Name(ref.namespace or thing.metadata.namespace, ref.name)
            yield Reference(_pointer(thing), kind, name, values)


def _pointer(thing: Gateway | ListenerSet | BackendTLSPolicy | XBackend) -> Pointer:
    group = X_GROUP if isinstance(thing, XBackend) else GATEWAY_GROUP
    return Pointer(group, type(thing).__name__, thing.metadata.namespace)


def _certificates(listeners: Iterable[Listener]) -> Iterator[SecretObjectReference]:
    for listener in listeners:
        yield from listener.tls.certificate_refs if listener.tls else ()


def _client_certificate(tls: GatewayTLSConfig) -> Iterator[SecretObjectReference]:
    if tls.backend is not None and tls.backend.client_certificate_ref is not None:
        yield tls.backend.client_certificate_ref


def _client_authorities(tls: GatewayTLSConfig) -> Iterator[ObjectReference]:
    front = tls.frontend
    for asked in (front.default, *(each.tls for each in front.per_port)) if front else ():
        yield from asked.validation.ca_certificate_refs if asked.validation else ()


def trimmed(thing: Object, values: AbstractSet[str]) -> Object | None:
    """Leave out of a Secret or a ConfigMap what nobody reads; None if nothing of it is read.

    Annotations go, too: `kubectl apply` leaves a copy of the whole Secret in one.
    """
    if not isinstance(thing, Secret | ConfigMap):
        return thing
    if not values:
        return None
    known = thing.metadata
    metadata = TracedMeta(
        known.name,
        known.namespace,
        known.uid,
        known.generation,
        resource_version=known.resource_version,
        managed_fields=known.managed_fields,
    )
    if isinstance(thing, Secret):
        return Secret(metadata, thing.type, _only(values, thing.data))
    texts, binary = _only(values, thing.data), _only(values, thing.binary_data)
    return msgspec.structs.replace(thing, metadata=metadata, data=texts, binary_data=binary)


def _only(names: AbstractSet[str], values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name in names}


class Shift(NamedTuple):
    """What differs in what is wanted: of which more is than before, and what not at all any more."""

    more: frozenset[Key]
    gone: frozenset[Key]


class Wishes:
    """Everything that is wanted by all objects together, as far as it is permitted."""

    def __init__(self) -> None:
        """Begin with nothing wanted."""
        self._by_object: dict[Key, frozenset[Reference]] = {}
        self._into: dict[str, dict[Key, Counter[Reference]]] = {}  # by namespace
        self._grants: dict[str, dict[Name, ReferenceGrant]] = {}
        self._values: dict[Key, frozenset[str]] = {}
        self._altered: set[Key] = set()

    def values(self, key: Key) -> AbstractSet[str]:
        """Say which values of an object somebody reads."""
        return self._values.get(key, NOTHING)

    def of(self, kind: type) -> frozenset[Name]:
        """Name what is wanted of one kind."""
        return frozenset(name for each, name in self._values if each is kind)

    def altered(self, kind: type) -> frozenset[Name]:
        """Name of which other values are wanted than at the last time that this was asked."""
        altered = {key for key in self._altered if key[0] is kind}
        self._altered -= altered
        return frozenset(name for _, name in altered)

    def note(self, key: Key, thing: Object | None) -> Shift:
        """Take in an object as it is now; return what it alters."""
        if key[0] is ReferenceGrant:
            return self._judge(self._regrant(key[1], thing))
        before, after = self._by_object.pop(key, frozenset()), references(thing)
        if after:
            self._by_object[key] = after
        for each in after - before:
            self._into.setdefault(each.name.namespace, {}).setdefault(each.key, Counter())[each] += 1
        for each in before - after:
            self._let_go(each)
        return self._judge({each.key for each in before ^ after})

    def _let_go(self, reference: Reference) -> None:
        into = self._into[reference.name.namespace]
        into[reference.key] -= Counter([reference])  # which drops what is zero
        if not into[reference.key]:
            del into[reference.key]
        if not into:
            del self._into[reference.name.namespace]

    def _regrant(self, name: Name, thing: Object | None) -> set[Key]:
        """Take in a grant, and return what it may be about."""
        grants = self._grants.setdefault(name.namespace, {})
        if isinstance(thing, ReferenceGrant):
            grants[name] = thing
        else:
            grants.pop(name, None)
        if not grants:
            del self._grants[name.namespace]
        return set(self._into.get(name.namespace, ()))

    def _judge(self, keys: Iterable[Key]) -> Shift:
        allowed = cache(self._given)  # grants are looked through once, not once for each reference
        found = [(key, self._values.pop(key, NOTHING), self._permitted(key, allowed)) for key in keys]
        self._values |= {key: now for key, _, now in found if now}
        self._altered |= {key for key, before, now in found if now != before}
        return Shift(
            frozenset(key for key, before, now in found if now - before),
            frozenset(key for key, before, now in found if before and not now),
        )

    def _permitted(self, key: Key, allowed: Callable[[str, Pointer], frozenset[Given]]) -> frozenset[str]:
        home = key[1].namespace
        found = self._into.get(home, {}).get(key, ())
        followed = (
            each
            for each in found
            if each.by.namespace == home or not allowed(home, each.by).isdisjoint(gifts(each.pointee))
        )
        return frozenset().union(*(each.values for each in followed))

    def _given(self, namespace: str, by: Pointer) -> frozenset[Given]:
        grants = self._grants.get(namespace, {}).values()
        return frozenset(given(each for each in grants if (namespace, by) in GRANTS_BY_SOURCE.keys(each)))
