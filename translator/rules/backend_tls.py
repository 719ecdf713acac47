"""BackendTLSPolicy: who wins a port, and what the handshake with the backend must prove.  GEP-1897, GEP-4274."""

from msgspec import Struct

from translator.memo import query
from translator.names import Name, ServicePort
from translator.verdict import Refused, Verdict
from translator.world import World


class TrustBundle(Struct, frozen=True):
    """Roots from the policy's references, under the name by which they are served to Envoy."""

    name: str


class SystemRoots(Struct, frozen=True):
    """Roots of the machine that Envoy runs on."""


class DnsName(Struct, frozen=True):
    """A DNS name that a certificate may prove; a leading `*.` stands for itself or for exactly one label."""

    name: str


class UriName(Struct, frozen=True):
    """A URI that a certificate may prove, character by character."""

    uri: str


class UpstreamTls(Struct, frozen=True):
    """What Envoy must send, and see proved, when it opens TLS to a backend."""

    sni: str
    trust: TrustBundle | SystemRoots
    names: tuple[DnsName | UriName, ...]  # one of them must be in the certificate
    min_version: str = "1.2"
    max_version: str = "1.3"
    cipher_suites: tuple[str, ...] = ()  # none: Envoy's own choice; TLS 1.2 only, as in OpenSSL's names
    curves: tuple[str, ...] = ()
    alpn: tuple[str, ...] = ()  # none: what the protocol asks for


@query
def winner(world: World, port: ServicePort) -> Name | None:
    """Return the policy that governs a Service port, whether or not it can be honoured."""
    raise NotImplementedError


@query
def judge(world: World, policy: Name) -> Verdict[UpstreamTls | Refused]:
    """Read one policy once, for the clusters it shapes and the status it is given."""
    raise NotImplementedError


@query
def trust_bundle(world: World, policy: Name) -> str:
    """Return the PEM certificates a policy trusts: its good references' ones, each once, in their order."""
    raise NotImplementedError
