"""Hops: how a Gateway's Envoys reach a backend, with the TLS that is due there and what is shown.

A policy says what a Service is owed, and the Gateway what is shown to it; an XBackend says both itself.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from translator.memo import steady
from translator.names import Name
from translator.objects.x_backend import XBackend
from translator.rules import insecure_verification, x_backends
from translator.rules.backend_certificate import Hop, shown
from translator.rules.backend_tls import UpstreamTls, judge
from translator.rules.backends import Backend, Protocol
from translator.rules.external_names import forbidden
from translator.verdict import Refused, our_fault
from translator.world import World


class Opening(NamedTuple):
    """TLS that is opened to a backend: how, and with which certificate to show."""

    backend: Backend
    tls: UpstreamTls
    own: Name | None


def hop(world: World, gateway: Name, backend: Backend) -> Hop:
    """Return how a backend is reached by a Gateway."""
    barred = forbidden(world, gateway, backend.port.owner) if backend.by_name else None
    if backend.weakness is not None:
        barred = barred or insecure_verification.forbidden(world, gateway, backend.port.service.namespace)
    if backend.own_tls:
        own = x_backends.judge(world, backend.port.service).value
        return Hop(backend, own.shown if isinstance(own, x_backends.Own) else None, barred)
    return Hop(backend, shown(world, gateway) if backend.policy else None, barred)


@steady(our_fault)
def due(world: World, backend: Backend) -> UpstreamTls | Refused | None:
    """Return the TLS that is due to a backend, why it cannot be opened, or nothing where there is none."""
    if backend.policy is not None:
        return judge(world, backend.policy).value
    return _own(world, backend) if backend.own_tls else None


def openings(world: World, hops: Iterable[Hop]) -> Iterator[Opening]:
    """Name the hops where TLS is opened, which whatever is refused keeps from happening."""
    for backend, own, barred in hops:
        tls = due(world, backend)
        if isinstance(tls, UpstreamTls) and not isinstance(own, Refused) and barred is None:
            yield Opening(backend, tls, own)


def _own(world: World, backend: Backend) -> UpstreamTls | Refused:
    """Return the TLS that an XBackend asks for, with both versions of HTTP where it leaves them open."""
    asked = x_backends.judge(world, backend.port.service).value
    assert asked is not None, f"{backend} asks for TLS"
    match asked:
        case x_backends.Own(tls=tls):
            said = world.must(XBackend, backend.port.service).spec.protocol
            is_open = said in ("HTTP", "MCP") and backend.protocol is Protocol.HTTP and not tls.alpn
            return msgspec.structs.replace(tls, alpn=x_backends.NEGOTIATED) if is_open else tls
        case Refused() as refused:
            return refused
