"""Who may connect: what proves an Envoy on the xDS port, and a root that proves nobody."""

import re
import ssl
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from cryptography import x509

from legation.channel.authority import SKEW, Lifetime, make_root
from legation.settings import ServerFiles
from xds_server.admission import Node, Peer, Refusal, claimed_group
from xds_server.service import Proof

PROVEN_NAMES = "peer_uri"  # of URIs alone: a name of a host that reads like one proves nothing
SHOWN = "x509_pem_cert"
GATEWAY_URI = re.compile(r"spiffe://legation/ns/(?P<namespace>[^/\s]+)/gateway/(?P<name>[^/\s]+)")


def read_proof(files: ServerFiles) -> Proof:
    """Read what the server proves itself with, as it is on disk now."""
    return Proof(files.certificate.read_bytes(), files.key.read_bytes(), files.client_ca.read_bytes())


def flaw(files: ServerFiles) -> str:
    """Say why no server can prove itself with these; nothing, if one can."""
    trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trial.set_ciphers("ALL:@SECLEVEL=0")  # how good it is, others judge
    try:
        trial.load_cert_chain(files.certificate, files.key, password="")
    except OSError as error:
        return f"{files.certificate} and {files.key} are no certificate with its key: {_why(error)}"
    try:
        trial.load_verify_locations(files.client_ca)
    except OSError as error:
        return f"{files.client_ca} holds no CA: {_why(error)}"
    return ""


def _why(error: OSError) -> str:
    return str(getattr(error, "reason", None) or error.strerror or error)


def proven_group(node: Node, peer: Peer) -> str | Refusal:
    """Believe what a certificate proves; what an Envoy says of itself must be the same."""
    claimed = claimed_group(node, peer)
    proven = {group for name in peer.proofs.get(PROVEN_NAMES, ()) if (group := _group(name))}
    if not proven:
        return Refusal(
            "the certificate names no Gateway: it needs spiffe://legation/ns/NAMESPACE/gateway/NAME"
        )
    if len(proven) > 1:
        return Refusal(f"the certificate names {len(proven)} Gateways: each needs one of its own")
    if isinstance(claimed, str) and claimed not in proven:
        return Refusal(f"the certificate is not for Gateway {claimed}")
    return claimed


def nobodys_root() -> str:
    """Make a root whose key nobody has: who trusts it alone fails every handshake."""
    now = datetime.now(UTC)
    return make_root(Lifetime(now, now + timedelta(days=3650)), "nobody").certificate


def issued_at(peer: Peer) -> datetime | None:
    """Say when the certificate that a peer has shown was issued, by the clock of its issuer."""
    shown = peer.proofs.get(SHOWN)
    return _issued(bytes(shown[0])) if shown else None


@lru_cache(maxsize=4096)
def _issued(pem: bytes) -> datetime:
    return x509.load_pem_x509_certificate(pem).not_valid_before_utc + SKEW


def _group(name: bytes) -> str | None:
    found = GATEWAY_URI.fullmatch(name.decode(errors="replace"))
    return f"{found['namespace']}/{found['name']}" if found else None
