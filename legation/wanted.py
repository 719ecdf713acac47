"""Which Secrets and ConfigMaps an object refers to: all others stay in the API server."""

from collections import Counter
from collections.abc import Iterable, Iterator
from types import MappingProxyType

import msgspec

from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway, GatewayTLSConfig
from translator.objects.kinds import Object
from translator.objects.listener_set import ListenerSet
from translator.objects.listeners import Listener
from translator.objects.references import ObjectReference, SecretObjectReference
from translator.objects.secret import Secret

Key = tuple[type, Name]

WANTING = frozenset({Gateway, ListenerSet, BackendTLSPolicy})

_TYPES = MappingProxyType({("", "Secret"): Secret, ("", "ConfigMap"): ConfigMap})
_READ = frozenset({"ca.crt", "tls.crt", "tls.key"})  # what certificates and trust are kept under


def wanted_by(thing: Object | None) -> frozenset[Key]:
    """Name what has to be read for an object to be understood; an object that is gone wants nothing."""
    if isinstance(thing, Gateway):
        return frozenset((*_certificates(thing.spec.listeners, thing.metadata.namespace), *_tls(thing)))
    if isinstance(thing, ListenerSet):
        return frozenset(_certificates(thing.spec.listeners, thing.metadata.namespace))
    if isinstance(thing, BackendTLSPolicy):
        return frozenset(_authorities(thing))
    return frozenset()


def _certificates(listeners: Iterable[Listener], namespace: str) -> Iterator[Key]:
    for listener in listeners:
        for ref in listener.tls.certificate_refs if listener.tls else ():
            if (kind := _TYPES.get((ref.group, ref.kind))) is not None:
                yield kind, Name(ref.namespace or namespace, ref.name)


def _tls(gateway: Gateway) -> Iterator[Key]:
    for ref in _named(gateway.spec.tls or GatewayTLSConfig()):
        if (kind := _TYPES.get((ref.group, ref.kind))) is not None:
            yield kind, Name(ref.namespace or gateway.metadata.namespace, ref.name)


def _named(tls: GatewayTLSConfig) -> Iterator[ObjectReference | SecretObjectReference]:
    """Name what proves clients, and what is shown to backends."""
    front = tls.frontend
    for asked in (front.default, *(each.tls for each in front.per_port)) if front else ():
        yield from asked.validation.ca_certificate_refs if asked.validation else ()
    if tls.backend is not None and tls.backend.client_certificate_ref is not None:
        yield tls.backend.client_certificate_ref


def _authorities(policy: BackendTLSPolicy) -> Iterator[Key]:
    for ref in policy.spec.validation.ca_certificate_refs:
        if (kind := _TYPES.get((ref.group, ref.kind))) is not None:
            yield kind, Name(policy.metadata.namespace, ref.name)


def trimmed(thing: Object) -> Object:
    """Leave out of a Secret or a ConfigMap what nobody reads."""
    if isinstance(thing, Secret):
        return msgspec.structs.replace(thing, data=_only_read(thing.data))
    if isinstance(thing, ConfigMap):
        texts, binary = _only_read(thing.data), _only_read(thing.binary_data)
        return msgspec.structs.replace(thing, data=texts, binary_data=binary)
    return thing


def _only_read(values: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in values.items() if key in _READ}


class Wishes:
    """Everything that is wanted by all objects together."""

    def __init__(self) -> None:
        """Begin with nothing wanted."""
        self._by_object: dict[Key, frozenset[Key]] = {}
        self._times: Counter[Key] = Counter()

    def __contains__(self, key: Key) -> bool:
        """Say whether anybody wants it."""
        return key in self._times

    def note(self, key: Key, thing: Object | None) -> frozenset[Key]:
        """Take in an object as it is now; return what is wanted since then and was not before."""
        before, after = self._by_object.pop(key, frozenset()), wanted_by(thing)
        if after:
            self._by_object[key] = after
        new = frozenset(each for each in after - before if each not in self._times)
        self._times.update(after - before)
        for each in before - after:
            self._times[each] -= 1
            if not self._times[each]:
                del self._times[each]
        return new

    def of(self, kind: type) -> frozenset[Name]:
        """Name what is wanted of one kind."""
        return frozenset(name for each, name in self._times if each is kind)
