"""Trust in use: the certificates that each object has Envoys believe or show, and the pins beside them.

`trust(world, owner)` answers for a BackendTLSPolicy, an XBackend, a Gateway or a ListenerSet;
`believed(world, gateway)` says whose words a Gateway's Envoys go by when they open TLS. Nothing that Envoys
are sent is made of this.
"""

from collections.abc import Iterable, Iterator
from enum import Enum

from msgspec import Struct

from translator.memo import query
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.x_backend import XBackend
from translator.rules import listeners, x_backends
from translator.rules.backend_certificate import shown
from translator.rules.backend_tls import SYSTEM
from translator.rules.ca_references import CaReference, held
from translator.rules.certificates import Anchor, chain
from translator.rules.frontend_validation import client_references, settings
from translator.rules.hops import openings
from translator.rules.listener_sets import gateway_of, slots_of
from translator.rules.needs import needs
from translator.rules.pins import Pins
from translator.rules.tls_options import TlsOptions, read_options
from translator.rules.wordings import Wording, of_policy, of_x_backend
from translator.world import World

_SHOWN_OF_A_PIN = 8  # characters: enough to tell pins apart


class Purpose(Enum):
    """What certificates are for."""

    PROVES_BACKENDS = "proves backends"
    PROVES_CLIENTS = "proves clients"
    SHOWN_TO_BACKENDS = "shown to backends"
    SHOWN_TO_CLIENTS = "shown to clients"


class Dated(Struct, frozen=True):
    """A certificate, and the object and field that it is found in."""

    anchor: Anchor
    source: str  # `ConfigMap shop/roots`
    field: str  # `ca.crt`


class Pinned(Struct, frozen=True, rename="camel"):
    """A pin, shortened."""

    form: str  # `public key` or `certificate`
    value: str


class Trust(Struct, frozen=True):
    """What one object has Envoys believe or show, for one purpose."""

    owner: Ref
    purpose: Purpose
    certificates: tuple[Dated, ...] = ()
    pins: tuple[Pinned, ...] = ()
    system_roots: bool = False
    port: int | None = None  # of a Gateway that asks clients of one port for something else


@query
def trust(world: World, owner: Ref) -> tuple[Trust, ...]:
    """Return all trust that an object asks for, whether or not anybody uses it."""
    match owner.kind:
        case "BackendTLSPolicy":
            return (_proving(world, owner, of_policy(world.must(BackendTLSPolicy, owner.name))),)
        case "XBackend":
            return tuple(_of_x_backend(world, owner))
        case "ListenerSet":
            gateway = gateway_of(world, owner.name)
            return tuple(_of_listeners(world, owner, gateway)) if gateway else ()
        case _:
            return tuple(_of_gateway(world, owner))


@query
def believed(world: World, gateway: Name) -> frozenset[Ref]:
    """Name the policies and XBackends by whose words a Gateway's Envoys open TLS to backends."""
    opened = openings(world, needs(world, gateway).hops)
    return frozenset(owner for each in opened if (owner := each.backend.decided_by))


def _proving(world: World, owner: Ref, wording: Wording) -> Trust:
    options = read_options(wording.options)
    return Trust(
        owner,
        Purpose.PROVES_BACKENDS,
        _held(world, wording.references),
        _pinned(options.pins) if isinstance(options, TlsOptions) else (),
        system_roots=wording.validation.well_known_ca_certificates == SYSTEM,
    )


def _of_x_backend(world: World, owner: Ref) -> Iterator[Trust]:
    wording = of_x_backend(world.must(XBackend, owner.name))
    if wording is not None:
        yield _proving(world, owner, wording)
    own = x_backends.judge(world, owner.name).value
    if isinstance(own, x_backends.Own) and own.shown:
        yield Trust(owner, Purpose.SHOWN_TO_BACKENDS, _shown(world, [own.shown]))


def _of_gateway(world: World, owner: Ref) -> Iterator[Trust]:
    for each in settings(world, owner.name):
        roots = _held(world, client_references(world, each))
        yield Trust(owner, Purpose.PROVES_CLIENTS, roots, port=each.port)
    own = shown(world, owner.name)
    if isinstance(own, Name):
        yield Trust(owner, Purpose.SHOWN_TO_BACKENDS, _shown(world, [own]))
    yield from _of_listeners(world, owner, owner.name)


def _of_listeners(world: World, owner: Ref, gateway: Name) -> Iterator[Trust]:
    """Tell each of its own: certificates of a set are renewed by whoever wrote the set."""
    judged = [listeners.judge(world, slot) for slot in slots_of(world, gateway, owner)]
    served = dict.fromkeys(name for each in judged if each.served for name in each.certificates)
    if served:
        yield Trust(owner, Purpose.SHOWN_TO_CLIENTS, _shown(world, served))


def _held(world: World, sources: Iterable[CaReference]) -> tuple[Dated, ...]:
    return tuple(Dated(each, str(source), source.field) for source in sources for each in held(world, source))


def _shown(world: World, secrets: Iterable[Name]) -> tuple[Dated, ...]:
    return tuple(
        Dated(each, f"Secret {secret}", "tls.crt") for secret in secrets for each in chain(world, secret)
    )


def _pinned(pins: Pins) -> tuple[Pinned, ...]:
    return (
        *(Pinned("public key", _short(each)) for each in pins.public_keys),
        *(Pinned("certificate", _short(each)) for each in pins.certificates),
    )


def _short(pin: str) -> str:
    return f"{pin[:_SHOWN_OF_A_PIN]}..."
