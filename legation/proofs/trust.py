"""All trust in use, for people and machines: `await engine.ask(trusted)`, `as_json(...)`.

One entry for each BackendTLSPolicy and XBackend, and for each purpose of a Gateway's own certificates.
Subjects, fingerprints and dates only: what is secret is never part of it.
"""

from datetime import datetime

import msgspec
from msgspec import Struct

from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.x_backend import XBackend
from translator.rules.certificates import lapse
from translator.rules.gateways import ours
from translator.rules.listener_sets import joining
from translator.rules.trust import Dated, Pinned, Purpose, Trust, believed, trust
from translator.world import World


class Certificate(Struct, frozen=True, rename="camel"):
    """A certificate that is believed or shown."""

    subject: str
    fingerprint: str  # SHA-256, in hexadecimal
    not_before: datetime
    not_after: datetime
    source: str  # `ConfigMap shop/roots`
    field: str  # `ca.crt`
    lapse: str = ""  # how it is not valid now, in words


class Trusted(Struct, frozen=True, rename="camel"):
    """What one object has Envoys believe or show, and in which Gateways it does."""

    kind: str
    name: str
    purpose: Purpose
    gateways: tuple[str, ...]  # none: nobody uses it
    certificates: tuple[Certificate, ...]
    pins: tuple[Pinned, ...] = ()
    has_backup_pin: bool = False
    system_roots: bool = False
    port: int | None = None

    @property
    def soonest(self) -> datetime | None:
        """When the first of its certificates ends or has ended, if it has any."""
        return min((each.not_after for each in self.certificates), default=None)


def trusted(world: World) -> tuple[Trusted, ...]:
    """Return all of it, by object."""
    users = _users(world)
    owners = [
        *(Ref("BackendTLSPolicy", name) for name in world.names(BackendTLSPolicy)),
        *(Ref("XBackend", name) for name in world.names(XBackend)),
        *(Ref("Gateway", name) for name in ours(world)),
        *(Ref("ListenerSet", name) for gateway in ours(world) for name in joining(world, gateway)),
    ]
    return tuple(
        _told(world, each, users.get(owner, ())) for owner in sorted(owners) for each in trust(world, owner)
    )


def as_json(found: tuple[Trusted, ...]) -> bytes:
    """Write it for machines."""
    return msgspec.json.encode(found)


def _users(world: World) -> dict[Ref, tuple[Name, ...]]:
    """Name the Gateways that use each object's trust; a Gateway uses its own, and its ListenerSets'."""
    users: dict[Ref, tuple[Name, ...]] = {}
    for gateway in sorted(ours(world)):
        sets = (Ref("ListenerSet", name) for name in joining(world, gateway))
        for owner in (*believed(world, gateway), Ref("Gateway", gateway), *sets):
            users[owner] = (*users.get(owner, ()), gateway)
    return users


def _told(world: World, found: Trust, users: tuple[Name, ...]) -> Trusted:
    return Trusted(
        found.owner.kind,
        str(found.owner.name),
        found.purpose,
        tuple(map(str, users)),
        tuple(_certificate(world, each) for each in found.certificates),
        found.pins,
        has_backup_pin=len(found.pins) > 1,
        system_roots=found.system_roots,
        port=found.port,
    )


def _certificate(world: World, found: Dated) -> Certificate:
    anchor = found.anchor
    return Certificate(
        anchor.subject,
        anchor.fingerprint,
        anchor.since,
        anchor.until,
        found.source,
        found.field,
        lapse(world, anchor.since, anchor.until),
    )
