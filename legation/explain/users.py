"""Who refers to an object that serves nothing by itself: classes, parameters, certificates, roots."""

from collections.abc import Iterator

from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParameters
from translator.objects.x_backend import XBackend
from translator.rules import x_backends
from translator.rules.backend_certificate import shown
from translator.rules.gateways import GATEWAYS_BY_CLASS, ours
from translator.rules.listener_sets import slots
from translator.rules.listeners import judge
from translator.rules.wordings import Wording, of_policy, of_x_backend
from translator.world import World


def users(world: World, ref: Ref) -> tuple[Ref, ...]:
    """Return who refers to it, each once."""
    return tuple(dict.fromkeys(_users(world, ref)))


def _users(world: World, ref: Ref) -> Iterator[Ref]:
    match ref.kind:
        case "GatewayClass":
            yield from (Ref("Gateway", name) for name in world.names_where(GATEWAYS_BY_CLASS, ref.name.name))
        case "GatewayParameters":
            yield from _of_parameters(world, ref.name)
        case "Secret":
            yield from _of_certificate(world, ref.name)
            yield from _of_roots(world, ref)
        case "ConfigMap" | "ClusterTrustBundle":
            yield from _of_roots(world, ref)
        case _:
            pass


def _of_parameters(world: World, name: Name) -> Iterator[Ref]:
    for each in sorted(world.names(GatewayClass)):
        its = world.must(GatewayClass, each).spec.parameters_ref
        if its and (its.kind, its.namespace, its.name) == (GatewayParameters.__name__, *name):
            yield Ref("GatewayClass", each)
    for each in sorted(ours(world)):
        around = world.must(Gateway, each).spec.infrastructure
        own = around.parameters_ref if around else None
        if own and (own.kind, each.namespace, own.name) == (GatewayParameters.__name__, *name):
            yield Ref("Gateway", each)


def _of_certificate(world: World, name: Name) -> Iterator[Ref]:
    for gateway in sorted(ours(world)):
        if shown(world, gateway) == name:
            yield Ref("Gateway", gateway)
        yield from (slot.owner for slot in slots(world, gateway) if name in judge(world, slot).certificates)
    for each in sorted(world.names(XBackend)):
        own = x_backends.judge(world, each).value
        if isinstance(own, x_backends.Own) and own.shown == name:
            yield Ref("XBackend", each)


def _of_roots(world: World, ref: Ref) -> Iterator[Ref]:
    for name in sorted(world.names(BackendTLSPolicy)):
        if _names(of_policy(world.must(BackendTLSPolicy, name)), ref):
            yield Ref("BackendTLSPolicy", name)
    for name in sorted(world.names(XBackend)):
        if _names(of_x_backend(world.must(XBackend, name)), ref):
            yield Ref("XBackend", name)


def _names(wording: Wording | None, ref: Ref) -> bool:
    return wording is not None and ref in [Ref(each.kind, each.name) for each in wording.references]
