"""Who is who in a cluster: an authority, the API server's certificate, and tokens, all made anew by `up`."""

import json
import secrets
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from types import MappingProxyType

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from e2e.cluster.network import API_SERVER, API_SERVICE_ADDRESS, NODE_ADDRESS

VALID = timedelta(days=30)
NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
ADDRESSES = ("127.0.0.1", NODE_ADDRESS, API_SERVICE_ADDRESS)
USERS = MappingProxyType(
    {"admin": ("system:masters",), "system:kube-proxy": ()}
)  # by name, with their groups


def make(keys: Path) -> None:
    """Make every key, certificate and token."""
    keys.mkdir(parents=True, mode=0o700)
    authority = ec.generate_private_key(ec.SECP256R1())
    name = _name("cluster-authority")
    root = _begin(name, name, authority).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    _save(keys / "ca", authority, root.sign(authority, hashes.SHA256()))
    server = ec.generate_private_key(ec.SECP256R1())
    proofs = [*map(x509.DNSName, NAMES), *(x509.IPAddress(IPv4Address(address)) for address in ADDRESSES)]
    leaf = _begin(_name("kube-apiserver"), name, server)
    leaf = leaf.add_extension(x509.SubjectAlternativeName(proofs), critical=False)
    _save(keys / "server", server, leaf.sign(authority, hashes.SHA256()))
    _save(keys / "accounts", ec.generate_private_key(ec.SECP256R1()))
    tokens = {user: secrets.token_hex(16) for user in USERS}
    lines = [",".join((tokens[user], user, user, *groups)) + "\n" for user, groups in USERS.items()]
    (keys / "tokens.csv").write_text("".join(lines))


def token(keys: Path, user: str) -> str:
    """Read the token of a user."""
    lines = (keys / "tokens.csv").read_text().splitlines()
    return next(line.split(",")[0] for line in lines if line.split(",")[1] == user)


def kubeconfig(keys: Path, user: str) -> str:
    """Write how a user reaches the API server."""
    authority = b64encode((keys / "ca.crt").read_bytes()).decode()
    cluster = {"server": API_SERVER, "certificate-authority-data": authority}
    return json.dumps({  # which is YAML too
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "cluster", "cluster": cluster}],
        "users": [{"name": user, "user": {"token": token(keys, user)}}],
        "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": user}}],
        "current-context": "cluster",
    })  # fmt: skip


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begin(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALID)
    )


def _save(path: Path, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate | None = None) -> None:
    # The API server takes the key of ServiceAccounts in this form only.
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    path.with_suffix(".key").write_bytes(pem)
    if certificate:
        path.with_suffix(".crt").write_bytes(certificate.public_bytes(Encoding.PEM))
