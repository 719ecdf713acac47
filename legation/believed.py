"""The trust in use: certificates and pins, until when they hold, and which Gateways go by them."""

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from legation.landscape import Thing, thing
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.x_backend import XBackend
from translator.rules.gateways import ours, refusal
from translator.rules.trust import Dated, Pinned, Trust, believed, trust
from translator.world import World

MOST = 5_000  # owners that are told of


class Certificate(Struct, frozen=True, rename="camel"):
    """A certificate, without anything that has to be kept secret."""

    subject: str
    fingerprint: str  # SHA-256, in hexadecimal
    since: datetime
    until: datetime
    source: str  # `ConfigMap shop/roots`
    field: str
    is_authority: bool


class Believed(Struct, frozen=True, rename="camel"):
    """What one object has Envoys believe or show."""

    owner: Thing
    purpose: str
    certificates: tuple[Certificate, ...]
    pins: tuple[Pinned, ...]
    system_roots: bool
    port: int | None
    gateways: tuple[str, ...]  # whose Envoys go by it now; none: nobody does


def everything_believed(world: World) -> tuple[Believed, ...]:
    """Return all trust that anybody asks for."""
    gateways = sorted(each for each in ours(world) if refusal(world, each) is None)
    users: dict[Ref, list[str]] = {}
    for gateway in gateways:
        for owner in {*believed(world, gateway), Ref("Gateway", gateway)}:
            users.setdefault(owner, []).append(str(gateway))
    found = [_read(each, users) for owner in _owners(world, gateways) for each in trust(world, owner)]
    return tuple(sorted(found, key=_soonest)[:MOST])


def _owners(world: World, gateways: list[Name]) -> Iterator[Ref]:
    yield from (Ref("Gateway", name) for name in gateways)
    yield from (Ref("BackendTLSPolicy", name) for name in world.names(BackendTLSPolicy))
    yield from (Ref("XBackend", name) for name in world.names(XBackend))


def _read(found: Trust, users: dict[Ref, list[str]]) -> Believed:
    return Believed(
        thing(found.owner),
        found.purpose.value,
        tuple(map(_certificate, found.certificates)),
        found.pins,
        found.system_roots,
        found.port,
        tuple(users.get(found.owner, ())),
    )


def _certificate(dated: Dated) -> Certificate:
    anchor = dated.anchor
    return Certificate(
        anchor.subject,
        anchor.fingerprint,
        anchor.since,
        anchor.until,
        dated.source,
        dated.field,
        anchor.authority,
    )


def _soonest(found: Believed) -> tuple[bool, str, str]:
    """Put first what somebody goes by and what ends first."""
    until = min((each.until.isoformat() for each in found.certificates), default="~")
    return not found.gateways, until, str(found.owner)
