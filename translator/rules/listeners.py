"""One listener: whether it is distinct, which kinds it takes, which certificates it shows."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from itertools import groupby, takewhile
from typing import NamedTuple

from msgspec import Struct

from translator.memo import query, steady
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.listeners import TLS_MODES, Listener
from translator.objects.references import GATEWAY_GROUP, SecretObjectReference
from translator.objects.secret import Secret
from translator.rules.addresses import binding
from translator.rules.certificates import server_certificate
from translator.rules.frontend_validation import NOTHING_ASKED, ClientProof, clients
from translator.rules.gateways import BINDING, ours, refusal
from translator.rules.grants import Pointee, Pointer, permitted
from translator.rules.hostnames import EVERY, strange
from translator.rules.listener_filters import questions
from translator.rules.listener_sets import Slot, age, declared, slots
from translator.rules.managed import ADMIN_PORT, PROBES_PORT, is_managed
from translator.verdict import Condition, Refused, fails, holds, listed, our_fault
from translator.world import World

LAST_PORT = 65535
HTTP_KINDS = ("HTTPRoute", "GRPCRoute")
KINDS = {
    "HTTP": HTTP_KINDS,
    "HTTPS": HTTP_KINDS,
    "TLS": ("TLSRoute",),
    "TCP": ("TCPRoute",),
    "UDP": ("UDPRoute",),
}
FAMILIES = {"HTTP": "HTTP", "HTTPS": "TLS", "TLS": "TLS", "TCP": "TCP", "UDP": "UDP"}
# Those that a family cannot share a port with, itself where it has no names to tell listeners apart by.
RIVALS = {"HTTP": ("TLS", "TCP"), "TLS": ("HTTP", "TCP"), "TCP": ("HTTP", "TLS", "TCP"), "UDP": ("UDP",)}


class Listening(Struct, frozen=True):
    """One listener as it was judged."""

    port: int
    protocol: str
    hostname: str  # `*` where none was given
    passthrough: bool
    kinds: tuple[str, ...]
    certificates: tuple[Name, ...]
    conflict: Refused | None
    refusal: Refused | None  # why it is not accepted, apart from conflicts
    unresolved: tuple[Refused, ...]
    proof: ClientProof | None = None  # what clients are asked for
    warnings: tuple[str, ...] = ()

    @property
    def transport(self) -> str:
        """What carries it."""
        return transport(self.protocol)

    @property
    def served(self) -> bool:
        """Whether anything is configured for it."""
        lacks_certificate = (
            self.protocol in ("HTTPS", "TLS") and not self.passthrough and not self.certificates
        )
        return self.conflict is None and self.refusal is None and not lacks_certificate


def transport(protocol: str) -> str:
    """Return what carries a protocol: a TCP port and a UDP port of one number are two ports."""
    return "UDP" if protocol == "UDP" else "TCP"


def unread(slot: Slot) -> Listening:
    """Return what stands for a listener that a mistake of ours kept from ever being read."""
    return Listening(0, "", EVERY, False, (), (), None, our_fault(f"listener {slot}"), ())  # noqa: FBT003  # no flag


@steady(unread)
def judge(world: World, slot: Slot) -> Listening:
    """Read one listener once, for what it serves and the status it is given."""
    listener = declared(world, slot)
    kinds, wrong_kinds = _kinds(listener)
    passthrough = listener.tls is not None and listener.tls.mode == "Passthrough"
    certificates, wrong_certificates = ((), ()) if passthrough else _certificates(world, slot, listener)
    is_https = listener.protocol == "HTTPS"
    filtered = questions(world, slot)
    asked = clients(world, slot.gateway, listener.port) if is_https else NOTHING_ASKED
    return Listening(
        port=listener.port,
        protocol=listener.protocol,
        hostname=listener.hostname or EVERY,
        passthrough=passthrough,
        kinds=kinds,
        certificates=certificates,
        conflict=conflicts(world, slot.gateway).get(slot),
        refusal=_refusal(listener)
        or _taken(world, slot, listener)
        or _taken_by_an_elder(world, slot, listener)
        or filtered.refusal
        or asked.refusal,
        unresolved=wrong_kinds + wrong_certificates + filtered.unresolved + asked.unresolved,
        proof=asked.proof,
        warnings=asked.warnings,
    )


@query
def _by_port(world: World, gateway: Name) -> dict[int, tuple[Slot, ...]]:
    found: dict[int, list[Slot]] = {}
    for slot in slots(world, gateway):
        found.setdefault(declared(world, slot).port, []).append(slot)
    return {port: tuple(those) for port, those in found.items()}


@query
def slots_at(world: World, gateway: Name, port: int) -> tuple[Slot, ...]:
    """Return the listeners of a port by precedence."""
    return _by_port(world, gateway).get(port, ())


@query
def conflicts(world: World, gateway: Name) -> dict[Slot, Refused]:
    """Return the listeners that are not distinct: all of them in one object, the later between objects.

    What loses to an earlier object is no rival of its peers any more.
    """
    lost: dict[Slot, Refused] = {}
    standing: _Claims = {}
    for _, group in groupby(slots(world, gateway), key=lambda slot: slot.owner):
        peers = list(group)
        lost |= _indistinct(world, peers, standing)
        left = [slot for slot in peers if slot not in lost]
        among_themselves: _Claims = {}
        _claim(world, left, among_themselves)
        lost |= _indistinct(world, left, among_themselves)
        _claim(world, [slot for slot in left if slot not in lost], standing)
    return lost


def conditions(listening: Listening, warning: str = "") -> tuple[Condition, ...]:
    """Return what a listener's status says of it, save what Envoys made of it."""
    conflict, refusal = listening.conflict, listening.refusal or listening.conflict
    return (
        fails("Accepted", refusal.reason, refusal.message) if refusal else holds("Accepted"),
        holds("Conflicted", conflict.reason, conflict.message)
        if conflict
        else fails("Conflicted", "NoConflicts", ""),
        fails(
            "ResolvedRefs",
            listening.unresolved[0].reason,
            "; ".join(each.message for each in listening.unresolved),
        )
        if listening.unresolved
        else holds("ResolvedRefs", message=warning),
    )


def _indistinct(world: World, some: list[Slot], claims: "_Claims") -> dict[Slot, Refused]:
    """Return those that cannot be told apart from another one, each with the first such rival."""
    found = ((slot, _clash(world, slot, claims)) for slot in some)
    return {slot: clash for slot, clash in found if clash is not None}


def _claim(world: World, some: list[Slot], claims: "_Claims") -> None:
    """Note what listeners have, beside what others have already."""
    for slot in some:
        for claim in _claims(declared(world, slot)):
            claims.setdefault(claim, []).append(slot)


class _Claim(NamedTuple):
    """What a listener has at its port: a family of protocols, and in the end a hostname."""

    port: int
    family: str
    hostname: str = ""


_Claims = dict[_Claim, list[Slot]]  # by whom each claim is made, the first one first


def _claims(one: Listener) -> tuple[_Claim, ...]:
    family = FAMILIES.get(one.protocol)
    if family is None:
        return ()
    return (_Claim(one.port, family), _Claim(one.port, family, one.hostname or EVERY))


def _clash(world: World, slot: Slot, claims: Mapping[_Claim, list[Slot]]) -> Refused | None:
    """Say from which listener one cannot be told apart: by its family, or within it by its name."""
    one = declared(world, slot)
    family = FAMILIES.get(one.protocol, "")
    others = (_Claim(one.port, each) for each in RIVALS.get(family, ()))
    if (rival := _other(slot, (each for claim in others for each in claims.get(claim, ())[:2]))) is not None:
        return _claimed("ProtocolConflict", f"port {one.port}", rival)
    name = one.hostname or EVERY
    if (rival := _other(slot, claims.get(_Claim(one.port, family, name), ())[:2])) is not None:
        return _claimed("HostnameConflict", f"hostname {name} on port {one.port}", rival)
    return None


def _other(slot: Slot, found: Iterable[Slot]) -> Slot | None:
    return next((each for each in found if each != slot), None)


def _claimed(reason: str, what: str, rival: Slot) -> Refused:
    return Refused(reason, f"{what} is also claimed by listener {rival} of {rival.owner}")


def _refusal(listener: Listener) -> Refused | None:
    if listener.protocol not in KINDS:
        return Refused("UnsupportedProtocol", f"protocol {listener.protocol} is none of {', '.join(KINDS)}")
    if not 0 < listener.port <= LAST_PORT:
        return Refused("PortUnavailable", f"port {listener.port} is none: it must be from 1 to {LAST_PORT}")
    if listener.protocol not in ("HTTP", "HTTPS") and listener.filters is not None:
        return Refused("UnsupportedValue", f"filters: they are for HTTP and HTTPS, not {listener.protocol}")
    if listener.tls is not None and listener.tls.mode not in TLS_MODES:
        return Refused("UnsupportedValue", f"tls.mode: {listed([listener.tls.mode])} is not known")
    for key in listener.tls.options if listener.tls else ():
        if "/" not in key or key.startswith("legation.dev/"):
            return Refused("UnsupportedValue", f"tls.options: {key} is not known")
    return strange("hostname", [listener.hostname] if listener.hostname else [])


def _taken(world: World, slot: Slot, listener: Listener) -> Refused | None:
    """Refuse ports that there are not once all are moved, and those that proxies of ours need."""
    if (moved := listener.port + (offset := world.fact(BINDING).port_offset)) > LAST_PORT:
        message = (
            f"port {listener.port} becomes {moved} by the offset of {offset}, and the last is {LAST_PORT}"
        )
        return Refused("PortUnavailable", message)
    own = {ADMIN_PORT: "administration", PROBES_PORT: "probes"}
    if listener.protocol == "UDP" or listener.port not in own or not is_managed(world, slot.gateway):
        return None
    message = f"port {listener.port} is taken: it is the proxies' own, for {own[listener.port]}; use another"
    return Refused("PortUnavailable", message)


def _taken_by_an_elder(world: World, slot: Slot, listener: Listener) -> Refused | None:
    """Refuse a port that an older Gateway has on the machine where the Envoys of all of them run."""
    for elder in takewhile(lambda each: each != slot.gateway, _meeting(world, slot.gateway, listener.port)):
        if _has(world, elder, listener.port, transport(listener.protocol)):
            message = f"port {listener.port} is taken by Gateway {elder}, which is older or first by name"
            return Refused("PortUnavailable", f"{message}: use another port, or another of spec.addresses")
    return None


def is_for_datagrams(world: World, gateway: Name, port: int) -> bool:
    """Say whether a listener of any Gateway takes the datagrams that come to a port of this one."""
    return any(_has(world, each, port, "UDP") for each in _meeting(world, gateway, port) or (gateway,))


def _meeting(world: World, gateway: Name, port: int) -> tuple[Name, ...]:
    """Return by precedence all Gateways that would listen at one port of one machine, where this one does."""
    if not world.fact(BINDING).has_all or not (here := binding(world, gateway)):
        return ()
    return tuple(
        each for each in _gateways_at(world, port) if each == gateway or _overlap(here, binding(world, each))
    )


@query
def _gateways_at(world: World, port: int) -> tuple[Name, ...]:
    """Return the Gateways that have listeners at a port, by precedence."""
    found = (name for name in ours(world) if refusal(world, name) is None and slots_at(world, name, port))
    return tuple(sorted(found, key=lambda name: age(world.must(Gateway, name))))


def _overlap(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Say whether addresses have one in common: those that mean all of a machine's have one with any."""
    parsed = [{ip_address(each) for each in addresses} for addresses in (some, others)]
    return bool(parsed[0] & parsed[1]) or any(each.is_unspecified for each in parsed[0] | parsed[1])


def _has(world: World, gateway: Name, port: int, by: str) -> bool:
    """Say whether a listener of a Gateway serves a port by a transport."""
    there = (judge(world, slot) for slot in slots_at(world, gateway, port))
    return any(each.served and each.port == port and each.transport == by for each in there)


def _kinds(listener: Listener) -> tuple[tuple[str, ...], tuple[Refused, ...]]:
    """Return the kinds of routes that may attach, and a refusal for each that may not."""
    natural = KINDS.get(listener.protocol, ())
    asked = listener.allowed_routes.kinds
    good = tuple(
        dict.fromkeys(each.kind for each in asked if each.group == GATEWAY_GROUP and each.kind in natural)
    )
    bad = tuple(
        Refused(
            "InvalidRouteKinds",
            f"allowedRoutes.kinds: {listener.protocol} takes no {each.kind} of {each.group}",
        )
        for each in asked
        if (each.group, each.kind) not in [(GATEWAY_GROUP, kind) for kind in natural]
    )
    return (good if asked else natural, bad)


def _certificates(
    world: World, slot: Slot, listener: Listener
) -> tuple[tuple[Name, ...], tuple[Refused, ...]]:
    """Return the Secrets whose certificates can be shown, and a refusal for each other reference."""
    if FAMILIES.get(listener.protocol) != "TLS":
        return (), ()
    refs = listener.tls.certificate_refs if listener.tls else ()
    if not refs:
        return (), (Refused("InvalidCertificateRef", "tls.certificateRefs: at least one Secret is needed"),)
    found = [_certificate(world, slot, ref) for ref in refs]
    good = tuple(dict.fromkeys(each for each in found if isinstance(each, Name)))
    return good, tuple(each for each in found if isinstance(each, Refused))


def _certificate(world: World, slot: Slot, ref: SecretObjectReference) -> Name | Refused:
    name = Name(ref.namespace or slot.owner.name.namespace, ref.name)
    if (ref.group, ref.kind) != ("", "Secret"):
        return Refused("InvalidCertificateRef", f"tls.certificateRefs: {ref.kind} {name} is no Secret")
    pointer = Pointer(GATEWAY_GROUP, slot.owner.kind, slot.owner.name.namespace)
    if not permitted(world, pointer, Pointee("", "Secret", name)):
        return Refused(
            "RefNotPermitted",
            f"tls.certificateRefs: no ReferenceGrant allows Secret {name}",
        )
    if world.get(Secret, name) is None:
        return Refused("InvalidCertificateRef", f"tls.certificateRefs: Secret {name} does not exist")
    pair = server_certificate(world, name)
    return pair if isinstance(pair, Refused) else name
