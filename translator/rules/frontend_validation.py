"""Client certificates: whom the HTTPS listeners of a Gateway believe.  GEP-91, GEP-5075.

What is asked on one port takes the place of what is asked by default. A bad reference does not take the good
ones with it; where none is good nobody could be believed, so nobody is: that port's HTTPS is not served.
"""

from typing import NamedTuple

from msgspec import Struct, structs

from translator.memo import query
from translator.names import Name
from translator.objects.gateway import FrontendTLSValidation, Gateway
from translator.objects.references import GATEWAY_GROUP, ObjectReference
from translator.rules.ca_references import (
    BAD_KIND,
    BAD_REFERENCE,
    Anchors,
    CaReference,
    anchors,
    ca_reference,
)
from translator.rules.grants import Pointee, Pointer, permitted
from translator.verdict import Condition, Refused, holds
from translator.world import World

FALLBACK = "AllowInsecureFallback"


class ClientTrust(NamedTuple):
    """The authorities that one setting of a Gateway names: its default's, or those of a port."""

    gateway: Name
    port: int | None = None

    def __str__(self) -> str:
        """Name it for Envoy: `clients/infra/edge`, `clients/infra/edge:8443`."""
        return f"clients/{self.gateway}{f':{self.port}' if self.port else ''}"


class ClientProof(Struct, frozen=True):
    """What a client shows before it may send a request."""

    trust: ClientTrust
    is_optional: bool = False  # no certificate will do, and so will any


class Clients(Struct, frozen=True):
    """What a Gateway asks of the clients of one port, and what is wrong with the asking."""

    proof: ClientProof | None = None  # None asks for nothing
    refusal: Refused | None = None
    unresolved: tuple[Refused, ...] = ()
    warnings: tuple[str, ...] = ()


NOTHING_ASKED = Clients()


@query
def clients(world: World, gateway: Name, port: int) -> Clients:
    """Return what is asked of the clients of an HTTPS port."""
    trust = _setting(world, gateway, port)
    if trust is None:
        return NOTHING_ASKED
    found = _found(world, trust)
    unresolved = tuple(fault for each in found for fault in each.faults)
    if not any(each.usable for each in found):
        message = "spec.tls.frontend: no reference gives a CA certificate that can be used: see ResolvedRefs"
        return Clients(refusal=Refused("NoValidCACertificate", message), unresolved=unresolved)
    proof = ClientProof(trust, is_optional=_validation(world, trust).mode == FALLBACK)
    return Clients(proof, None, unresolved, tuple(warning for each in found for warning in each.warnings))


@query
def client_roots(world: World, trust: ClientTrust) -> str:
    """Return the PEM certificates that clients are proved by, each once."""
    usable = (anchor for each in _found(world, trust) for anchor in each.usable)
    return "".join(dict.fromkeys(anchor.pem for anchor in usable))


@query
def client_references(world: World, trust: ClientTrust) -> tuple[CaReference, ...]:
    """Name the objects that a setting may take authorities from."""
    followed = (
        (ref, _reference(trust.gateway, ref)) for ref in _validation(world, trust).ca_certificate_refs
    )
    return tuple(each for ref, each in followed if _forbidden(world, trust.gateway, ref, each) is None)


@query
def insecure(world: World, gateway: Name) -> Condition | None:
    """Say that a Gateway serves clients whose certificates prove nothing, if it asks for that."""
    lenient = [trust for trust in settings(world, gateway) if _validation(world, trust).mode == FALLBACK]
    if not lenient:
        return None
    where = " and ".join(f"on port {each.port}" if each.port else "by default" for each in lenient)
    message = f"{FALLBACK} {where}: clients are served with any certificate or none; ask for AllowValidOnly"
    return holds("InsecureFrontendValidationMode", "ConfigurationChanged", message)


def settings(world: World, gateway: Name) -> tuple[ClientTrust, ...]:
    """Name every setting by which a Gateway asks for certificates."""
    tls = world.must(Gateway, gateway).spec.tls
    if tls is None or tls.frontend is None:
        return ()
    ports = [each.port for each in tls.frontend.per_port if each.tls.validation is not None]
    default = [ClientTrust(gateway)] if tls.frontend.default.validation is not None else []
    return (*default, *(ClientTrust(gateway, port) for port in ports))


@query
def _setting(world: World, gateway: Name, port: int) -> ClientTrust | None:
    """Return the setting that holds for a port: its own, though it ask for nothing, before the default."""
    tls = world.must(Gateway, gateway).spec.tls
    if tls is None or tls.frontend is None:
        return None
    own = port in [each.port for each in tls.frontend.per_port]
    trust = ClientTrust(gateway, port if own else None)
    return trust if trust in settings(world, gateway) else None


def _validation(world: World, trust: ClientTrust) -> FrontendTLSValidation:
    tls = world.must(Gateway, trust.gateway).spec.tls
    assert tls is not None, f"{trust.gateway} asks nothing of clients"
    assert tls.frontend is not None, f"{trust.gateway} asks nothing of clients"
    ports = {each.port: each.tls for each in tls.frontend.per_port}
    found = (ports[trust.port] if trust.port else tls.frontend.default).validation
    assert found is not None, f"{trust} names no authorities"
    return found


@query
def _found(world: World, trust: ClientTrust) -> tuple[Anchors, ...]:
    """Return what each reference gives."""
    refs = _validation(world, trust).ca_certificate_refs
    return tuple(_anchors(world, trust.gateway, ref) for ref in refs)


def _anchors(world: World, gateway: Name, ref: ObjectReference) -> Anchors:
    """Follow one reference, in the words that listeners have for what is wrong with it."""
    reference = _reference(gateway, ref)
    if (wrong := _forbidden(world, gateway, ref, reference)) is not None:
        return Anchors((), (wrong,))
    found = anchors(world, reference)
    return structs.replace(found, faults=tuple(_as_of_a_listener(fault) for fault in found.faults))


def _reference(gateway: Name, ref: ObjectReference) -> CaReference:
    return ca_reference(ref.group, ref.kind, Name(ref.namespace or gateway.namespace, ref.name))


def _forbidden(world: World, gateway: Name, ref: ObjectReference, reference: CaReference) -> Refused | None:
    """Say why a reference may not be followed, if so: what has no namespace needs no grant."""
    if not reference.name.namespace:
        remedy = f"{reference}: it lies in no namespace: leave namespace {ref.namespace} out"
        return Refused(BAD_REFERENCE, remedy) if ref.namespace else None
    pointer = Pointer(GATEWAY_GROUP, "Gateway", gateway.namespace)
    if permitted(world, pointer, Pointee(ref.group, ref.kind, reference.name)):
        return None
    return Refused("RefNotPermitted", f"caCertificateRefs: no ReferenceGrant allows {reference}")


def _as_of_a_listener(fault: Refused) -> Refused:
    return Refused("InvalidCACertificateKind", fault.message) if fault.reason == BAD_KIND else fault
