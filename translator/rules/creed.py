"""What each object believes others by at this moment, and when the first root that it refers to ends.

A BackendTLSPolicy and an XBackend believe backends, a Gateway believes clients. What changes of this is told
to people; nothing that Envoys are sent is made of it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import Enum

from msgspec import Struct

from translator.memo import query
from translator.names import Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.x_backend import XBackend
from translator.rules import backend_tls, x_backends
from translator.rules.backend_tls import Anybody, PinsAlone, SystemRoots, TrustBundle, UpstreamTls
from translator.rules.ca_references import CaReference, anchors, held
from translator.rules.certificates import Anchor
from translator.rules.frontend_validation import client_references, settings
from translator.rules.gateways import ours
from translator.rules.wordings import of_policy, of_x_backend
from translator.verdict import Refused
from translator.world import World


class Basis(Enum):
    """What somebody goes by who believes others."""

    ROOTS = "roots"
    SYSTEM = "system"
    PINS = "pins"
    ANYBODY = "anybody"
    NOTHING = "nothing"


class Grounds(Struct, frozen=True):
    """What an object goes by: roots that are good now, each once, or something else."""

    basis: Basis = Basis.NOTHING
    roots: tuple[Anchor, ...] = ()


class Creed(Struct, frozen=True):
    """What an object goes by, on a port where it says so, and when the first root ends, or has ended."""

    grounds: Mapping[int | None, Grounds]
    until: datetime | None


@query
def believers(world: World, _: str) -> frozenset[Ref]:
    """Name all objects that have a creed."""
    named = (
        ("BackendTLSPolicy", world.names(BackendTLSPolicy)),
        ("XBackend", world.names(XBackend)),
        ("Gateway", ours(world)),
    )
    return frozenset(Ref(kind, name) for kind, names in named for name in names)


@query
def creed(world: World, owner: Ref) -> Creed:
    """Return what an object believes others by; one that is refused believes nobody."""
    match owner.kind:
        case "BackendTLSPolicy":
            return _of_policy(world, owner)
        case "XBackend":
            return _of_x_backend(world, owner)
        case _:
            asked = {each.port: client_references(world, each) for each in settings(world, owner.name)}
            return _made(world, asked, Basis.ROOTS)


def _of_policy(world: World, owner: Ref) -> Creed:
    wording = of_policy(world.must(BackendTLSPolicy, owner.name))
    return _made(world, {None: wording.references}, _basis(backend_tls.judge(world, owner.name).value))


def _of_x_backend(world: World, owner: Ref) -> Creed:
    wording = of_x_backend(world.must(XBackend, owner.name))
    own = x_backends.judge(world, owner.name).value
    basis = _basis(own.tls if isinstance(own, x_backends.Own) else own)
    return _made(world, {None: wording.references if wording else ()}, basis)


def _made(world: World, asked: Mapping[int | None, tuple[CaReference, ...]], basis: Basis) -> Creed:
    ends = [root.until for refs in asked.values() for each in refs for root in held(world, each)]
    grounds = {port: _grounds(world, refs, basis) for port, refs in asked.items()}
    return Creed(grounds, min(ends, default=None))


def _grounds(world: World, refs: Iterable[CaReference], basis: Basis) -> Grounds:
    if basis is not Basis.ROOTS:
        return Grounds(basis)
    roots = {each.fingerprint: each for ref in refs for each in anchors(world, ref).usable}
    return Grounds(Basis.ROOTS, tuple(roots.values())) if roots else Grounds()


def _basis(tls: UpstreamTls | Refused | None) -> Basis:
    if not isinstance(tls, UpstreamTls):
        return Basis.NOTHING
    match tls.trust:
        case TrustBundle():
            return Basis.ROOTS
        case SystemRoots():
            return Basis.SYSTEM
        case PinsAlone():
            return Basis.PINS
        case Anybody():
            return Basis.ANYBODY
