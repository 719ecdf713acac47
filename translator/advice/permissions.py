"""ReferenceGrants that nothing uses, as a whole or in part."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import fields

from translator.advice.checks import WITHOUT_EFFECT, Advice, Check
from translator.names import Name, Ref
from translator.objects.admission.shape import ListShape, RecordShape, shape_of
from translator.objects.gateway import Gateway
from translator.objects.gateway_parameters import CollectorParameters, GatewayParameters
from translator.objects.grpc_route import GRPCBackendRef, GRPCRoute
from translator.objects.http_route import HTTPBackendRef, HTTPRoute
from translator.objects.kinds import Object, kind_of
from translator.objects.listener_set import ListenerSet
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.references import (
    BackendObjectReference,
    BackendRef,
    ObjectReference,
    SecretObjectReference,
)
from translator.objects.tcp_route import TCPRoute
from translator.objects.tls_route import TLSRoute
from translator.objects.udp_route import UDPRoute
from translator.objects.x_backend import XBackend
from translator.rules.grants import Given, Pointee, Pointer, gifts
from translator.world import World

GRANT_UNUSED = Check(
    "grant-unused",
    WITHOUT_EFFECT,
    "a ReferenceGrant, or an entry of one, that no reference needs",
    "remove it: it permits what nobody does",
)
CHECKS = (GRANT_UNUSED,)

POINTING: tuple[type[Object], ...] = (
    Gateway,
    ListenerSet,
    GatewayParameters,
    XBackend,
    HTTPRoute,
    GRPCRoute,
    TLSRoute,
    TCPRoute,
    UDPRoute,
)
REFERENCES = (
    BackendRef,
    HTTPBackendRef,
    GRPCBackendRef,
    BackendObjectReference,
    ObjectReference,
    SecretObjectReference,
)


class Crossing(NamedTuple):
    """What a reference from one namespace into another needs to be given there, be it or not."""

    pointer: Pointer
    namespace: str
    given: Given


def grants(world: World) -> Iterator[Advice]:
    """Tell of grants that no reference of any object needs, whoever's Gateway it belongs to."""
    given = sorted(world.names(ReferenceGrant))
    needed = _needed(world) if given else frozenset[Crossing]()
    for name in given:
        about, spec = Ref("ReferenceGrant", name), world.must(ReferenceGrant, name).spec
        used = [
            (source, to)
            for source in spec.from_
            for to in spec.to
            if Crossing(
                Pointer(source.group, source.kind, source.namespace),
                name.namespace,
                (to.group, to.kind, to.name),
            )
            in needed
        ]
        if not used:
            yield Advice(GRANT_UNUSED, about, "", "no reference needs it")
            continue
        vain = [
            f"spec.from[{n}]" for n, each in enumerate(spec.from_) if each not in [one for one, _ in used]
        ]
        vain += [f"spec.to[{n}]" for n, each in enumerate(spec.to) if each not in [to for _, to in used]]
        yield from (Advice(GRANT_UNUSED, about, field, "no reference needs this entry") for field in vain)


def _needed(world: World) -> frozenset[Crossing]:
    return frozenset(
        crossing
        for kind in POINTING
        for name in world.names(kind)
        for crossing in _from(world.must(kind, name), name)
    )


def _from(thing: Object, name: Name) -> Iterator[Crossing]:
    info = kind_of(thing)
    pointer = Pointer(info.group, info.kind, name.namespace)
    for pointee in _pointed(thing, name.namespace):
        if pointee.name.namespace != name.namespace:
            yield from (Crossing(pointer, pointee.name.namespace, each) for each in gifts(pointee))


def _pointed(part: object, namespace: str) -> Iterator[Pointee]:
    """Name whatever is referred to in a part of an object, however deep."""
    if isinstance(part, tuple):
        for each in part:
            yield from _pointed(each, namespace)
    elif isinstance(part, Struct):
        if isinstance(part, CollectorParameters):
            yield Pointee("", "Service", Name(part.namespace or namespace, part.name))
        elif isinstance(part, REFERENCES):
            yield Pointee(part.group, part.kind, Name(part.namespace or namespace, part.name))
        for name in _deep(type(part)):
            yield from _pointed(getattr(part, name), namespace)


@cache
def _deep(kind: type[Struct]) -> tuple[str, ...]:
    """Name the fields of a struct that may hold others: most words of most objects need no look."""
    shape = shape_of(kind)
    assert isinstance(shape, RecordShape)
    return tuple(
        each.name
        for each in fields(kind)
        if each.encode_name in shape.fields
        and isinstance(shape.fields[each.encode_name].shape, RecordShape | ListShape)
    )
