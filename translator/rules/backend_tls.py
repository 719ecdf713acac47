"""BackendTLSPolicy: who wins a port, and what the handshake must prove.  GEP-1897, GEP-4152, GEP-4274.

A policy that names a port goes before those that target its whole Service. Of several with the same target
the oldest wins, then the first by name; one without a creation time, as in files, is the youngest.
A policy that wins and cannot be honoured keeps its port: connections there fail.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from translator.memo import query
from translator.names import Name, Ref, ServicePort
from translator.objects.backend_tls_policy import (
    BackendTLSPolicy,
    BackendTLSPolicyValidation,
    SubjectAltName,
)
from translator.objects.kinds import name_of
from translator.objects.references import PolicyTargetReference
from translator.objects.scalars import is_address
from translator.rules.ca_references import Anchors, anchors, worst
from translator.rules.insecure_verification import SKIP, Weakness
from translator.rules.listener_sets import age
from translator.rules.open_ports import GROUPS, SERVICE, entries
from translator.rules.pins import CERTIFICATE, PUBLIC_KEY, SINGLE, Pins
from translator.rules.tls_options import MODE, PREFIX, TlsOptions, read_options
from translator.rules.wordings import Wording, of_policy
from translator.verdict import Condition, Refused, Verdict, fails, holds
from translator.world import Fact, Index, World

SYSTEM = "System"
PINNED = f"{PREFIX}pinned"
UNREADABLE = "legation.dev/unreadable"  # trust of a policy that stands in for one nobody could read
SYSTEM_ROOTS = Fact("whether the machine that Envoy runs on has roots", otherwise=True)


class TrustBundle(Struct, frozen=True):
    """Roots from the policy's references, under the name by which they are served to Envoy."""

    name: str


class SystemRoots(Struct, frozen=True):
    """Roots of the machine that Envoy runs on."""


class PinsAlone(Struct, frozen=True):
    """No roots: pins prove the backend, and nothing else could."""


class Anybody(Struct, frozen=True):
    """No roots: whoever answers is believed, if it shows one of the pins where there are any."""


class DnsName(Struct, frozen=True):
    """A DNS name that a certificate may prove; a leading `*.` stands for itself or for exactly one label."""

    name: str


class UriName(Struct, frozen=True):
    """A URI that a certificate may prove, character by character."""

    uri: str


class UpstreamTls(Struct, frozen=True):
    """What Envoy must send, and see proved, when it opens TLS to a backend."""

    sni: str
    trust: TrustBundle | SystemRoots | PinsAlone | Anybody
    names: tuple[DnsName | UriName, ...]  # one of them must be in the certificate; none: any name will do
    min_version: str = "1.2"
    max_version: str = "1.3"
    cipher_suites: tuple[str, ...] = ()  # none: Envoy's own choice; TLS 1.2 only, as in OpenSSL's names
    curves: tuple[str, ...] = ()
    alpn: tuple[str, ...] = ()  # none: what the protocol asks for
    pins: Pins = Pins()  # where there are any, one of them must be shown besides

    @property
    def weakness(self) -> Weakness | None:
        """Say what is left out of the proof, if anything is."""
        match self.trust:
            case Anybody():
                return Weakness.UNVERIFIED
            case PinsAlone():
                return None
            case TrustBundle() | SystemRoots():
                return None if self.names else Weakness.ANY_NAME


class Target(NamedTuple):
    """What policies compete for: a Service or a ServiceImport, or one of its ports by name."""

    service: Name
    section: str = ""
    kind: str = SERVICE

    def __str__(self) -> str:
        """As people write it: `Service shop/pay`, `port https of Service shop/pay`."""
        return f"{f'port {self.section} of ' if self.section else ''}{self.owner}"

    @property
    def owner(self) -> Ref:
        """The object, be it meant as a whole or not."""
        return Ref(self.kind, self.service)


def bundle_name(policy: Name) -> str:
    """Return the name under which a policy's own roots are served: it stays the same when they change."""
    return f"trust/{policy}"


def target_of(namespace: str, ref: PolicyTargetReference) -> Target | None:
    """Read one of a policy's targetRefs; None where it is of a kind that cannot be targeted."""
    if GROUPS.get(ref.kind) != ref.group:
        return None
    return Target(Name(namespace, ref.name), ref.section_name or "", ref.kind)


def _targets(policy: BackendTLSPolicy) -> list[Target]:
    found = [target_of(policy.metadata.namespace, ref) for ref in policy.spec.target_refs]
    return [target for target in found if target is not None]


POLICIES_BY_TARGET = Index(BackendTLSPolicy, _targets)


def holder(world: World, target: Target) -> Name | None:
    """Return the policy that goes before all others with exactly this target."""
    rivals = world.names_where(POLICIES_BY_TARGET, target)
    if len(rivals) > 1:
        return _eldest(world, target)
    return rivals[0] if rivals else None


@query
def _eldest(world: World, target: Target) -> Name:
    """Return the one of several policies that came first: found once for all of them."""
    return name_of(min(world.where(POLICIES_BY_TARGET, target), key=age))


@query
def winner(world: World, port: ServicePort) -> Name | None:
    """Return the policy that governs a Service port, whether or not it can be honoured."""
    if port.transport != "TCP":
        return None
    for section in (*[each.name for each in entries(world, port)], ""):
        policy = holder(world, Target(port.service, section, port.kind))
        if policy is not None:
            return policy
    return None


@query
def judge(world: World, policy: Name) -> Verdict[UpstreamTls | Refused]:
    """Read one policy once, for the clusters it shapes and the status it is given."""
    return read(world, of_policy(world.must(BackendTLSPolicy, policy)), bundle_name(policy))


def read(world: World, wording: Wording, bundle: str) -> Verdict[UpstreamTls | Refused]:
    """Read what somebody wrote about TLS to a backend, whose roots are served under this name."""
    roots = [anchors(world, each) for each in wording.references]
    resolved = _resolved(roots)
    asked = _asked(world, wording, bundle)
    if isinstance(asked, UpstreamTls) and roots and not any(each.usable for each in roots):
        message = (
            "no reference gives a CA certificate that can be used, so connections fail: see ResolvedRefs"
        )
        asked = Refused("NoValidCACertificate", message)
    if isinstance(asked, Refused):
        return Verdict(asked, (fails("Accepted", asked.reason, asked.message), resolved))
    single = [SINGLE] if len(asked.pins) == 1 else []
    warnings = "; ".join([*(warning for each in roots for warning in each.warnings), *single])
    return Verdict(asked, (holds("Accepted", message=warnings), resolved))


def trust_bundle(world: World, policy: Name) -> str:
    """Return the PEM certificates a policy trusts."""
    return trusted(world, of_policy(world.must(BackendTLSPolicy, policy)))


def trusted(world: World, wording: Wording) -> str:
    """Return the PEM certificates of good references, each once, in their order."""
    usable = (each for ref in wording.references for each in anchors(world, ref).usable)
    return "".join(dict.fromkeys(anchor.pem for anchor in usable))


def _asked(world: World, wording: Wording, bundle: str) -> UpstreamTls | Refused:
    """Read what is asked of the handshake, whatever the references give; name every mistake."""
    _, validation, written = wording
    if validation.well_known_ca_certificates == UNREADABLE:
        return Refused("Invalid", "the policy cannot be read as written, so connections fail: repair it")
    hostname = validation.hostname
    proofs = [_proof(each) for each in validation.subject_alt_names]
    options = read_options(written)
    mistakes = [
        *_wrong_hostname(hostname),
        *(proof for proof in proofs if isinstance(proof, str)),
        *_wrong_trust(world, validation),
        *([options.message] if isinstance(options, Refused) else _at_odds(validation, options)),
    ]
    if mistakes or isinstance(options, Refused):
        return Refused("Invalid", "; ".join(mistakes))
    trust = _trust(validation, bundle)
    names = tuple(proof for proof in proofs if not isinstance(proof, str))
    any_name = options.any_name or isinstance(trust, PinsAlone | Anybody)
    return UpstreamTls(
        sni=hostname,
        trust=trust,
        names=() if any_name else names or (DnsName(hostname),),
        min_version=options.min_version,
        max_version=options.max_version,
        cipher_suites=options.cipher_suites,
        curves=options.curves,
        alpn=options.alpn,
        pins=options.pins,
    )


def _trust(
    validation: BackendTLSPolicyValidation, bundle: str
) -> TrustBundle | SystemRoots | PinsAlone | Anybody:
    named: dict[str, SystemRoots | PinsAlone | Anybody] = {
        SYSTEM: SystemRoots(),
        PINNED: PinsAlone(),
        SKIP: Anybody(),
    }
    return named.get(validation.well_known_ca_certificates or "") or TrustBundle(bundle)


def _at_odds(validation: BackendTLSPolicyValidation, options: TlsOptions) -> list[str]:
    """Say what is asked of a certificate that nothing else here lets it prove."""
    known, mode = validation.well_known_ca_certificates, f"option {PREFIX}{MODE}"
    rootless = f"wellKnownCACertificates: {known} trusts no CA" if known in (PINNED, SKIP) else ""
    mistakes = []
    if known == PINNED and not options.pins:
        pins = f"option {PREFIX}{PUBLIC_KEY} or {PREFIX}{CERTIFICATE}"
        mistakes.append(f"wellKnownCACertificates: {PINNED} needs pins: give {pins}")
    if rootless and options.any_name:
        mistakes.append(f"{mode}: {rootless}, so no name is proved anyway: remove it")
    if validation.subject_alt_names and (rootless or options.any_name):
        why = rootless or f"{mode} leaves out the name"
        mistakes.append(f"subjectAltNames: {why}, so they cannot be proved: remove them")
    return mistakes


def _resolved(roots: Sequence[Anchors]) -> Condition:
    faults = [fault for each in roots for fault in each.faults]
    if not faults:
        return holds("ResolvedRefs")
    return fails("ResolvedRefs", worst(faults), "; ".join(fault.message for fault in faults))


def _wrong_hostname(hostname: str) -> list[str]:
    remedy = "give the DNS name that the backend's certificate is for"
    return [f"hostname {hostname} is an IP address: {remedy}"] if is_address(hostname) else []


def _wrong_trust(world: World, validation: BackendTLSPolicyValidation) -> list[str]:
    """Say why trust cannot come from where it should: unknown roots are Invalid, and so are absent ones."""
    known = validation.well_known_ca_certificates or ""
    field = f"wellKnownCACertificates: {known}"
    if bool(known) == bool(validation.ca_certificate_refs):
        return ["exactly one of caCertificateRefs and wellKnownCACertificates must be given"]
    if known and known not in (SYSTEM, PINNED, SKIP):
        return [f"{field} is not known: use {SYSTEM}, {PINNED}, or caCertificateRefs"]
    if known == SYSTEM and not world.fact(SYSTEM_ROOTS):
        return [f"{field} is not possible where Envoy runs, as it has no roots there: use caCertificateRefs"]
    return []


def _proof(wanted: SubjectAltName) -> DnsName | UriName | str:
    """Return a name that the certificate may prove, or what is wrong with it."""
    if wanted.type == "Hostname" and wanted.hostname and not is_address(wanted.hostname):
        return DnsName(wanted.hostname)
    if wanted.type == "URI" and wanted.uri:
        return UriName(wanted.uri)
    value = wanted.hostname or wanted.uri or "without a value"
    return f"subjectAltNames: {wanted.type} {value} cannot be proved: use a Hostname (a DNS name) or a URI"
