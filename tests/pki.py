"""Certificates for tests, made while they run: roots, what stands below them, and what may be wrong there."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from types import MappingProxyType
from typing import NamedTuple, TypedDict, Unpack

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

SERVER = ExtendedKeyUsageOID.SERVER_AUTH
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH

KEYS = MappingProxyType[str, Callable[[], Key]]({
    "p224": lambda: ec.generate_private_key(ec.SECP224R1()),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "p521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "rsa1024": lambda: rsa.generate_private_key(65537, 1024),  # noqa: S505  weak on purpose: it must be refused
    "rsa2048": lambda: rsa.generate_private_key(65537, 2048),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
})  # fmt: skip


class Wish(TypedDict, total=False):
    """What a certificate is to say; what is left out is as an ordinary server has it."""

    common_name: str
    dns: Sequence[str]
    uri: Sequence[str]
    ip: Sequence[str]
    not_before: datetime
    not_after: datetime
    eku: Sequence[x509.ObjectIdentifier]
    key: str  # one of KEYS
    issuer_at: str  # where the issuer's own certificate is had


class Issued(NamedTuple):
    """A certificate with its key, and the authorities between it and the root, nearest first."""

    certificate: x509.Certificate
    key: Key
    above: tuple[x509.Certificate, ...] = ()

    @property
    def pem(self) -> str:
        """The certificate alone."""
        return _pem(self.certificate)

    @property
    def key_pin(self) -> str:
        """The public key's digest, as RFC 7469 writes it."""
        public = self.key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return b64encode(sha256(public).digest()).decode()

    @property
    def certificate_pin(self) -> str:
        """The certificate's digest, as people compare it."""
        return sha256(self.certificate.public_bytes(Encoding.DER)).hexdigest()

    @property
    def chain_pem(self) -> str:
        """What a server sends: the certificate, then the authorities between it and the root."""
        return "".join(map(_pem, (self.certificate, *self.above)))

    @property
    def key_pem(self) -> str:
        """The private key, as Kubernetes' TLS Secrets hold it."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


class Authority:
    """A root, or an intermediate below another authority."""

    def __init__(self, name: str, parent: "Authority | None" = None, **wish: Unpack[Wish]) -> None:
        """Make its key and its certificate."""
        key = KEYS[wish.get("key", "p256")]()
        start = _start(_named(name), key, wish)
        start = start.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.own = parent.sign(start, key) if parent else _vouched_by_itself(start, _named(name), key)
        self.root = parent is None

    @property
    def pem(self) -> str:
        """Its certificate: what is put into `ca.crt`."""
        return self.own.pem

    def issue(self, **wish: Unpack[Wish]) -> Issued:
        """Make a key and a certificate for a server, or whoever the wish describes."""
        key = KEYS[wish.get("key", "p256")]()
        return self.sign(_leaf(_named(wish.get("common_name", "")), key, wish), key)

    def renew(self, issued: Issued, **wish: Unpack[Wish]) -> Issued:
        """Make another certificate for a key that has one."""
        return self.sign(_leaf(_named(wish.get("common_name", "")), issued.key, wish), issued.key)

    def sign(self, start: x509.CertificateBuilder, key: Key) -> Issued:
        """Finish a certificate with this authority's name and signature."""
        mine = self.own.certificate
        above = () if self.root else (mine, *self.own.above)
        return Issued(_signed(start.issuer_name(mine.subject), self.own.key), key, above)


def self_signed(**wish: Unpack[Wish]) -> Issued:
    """Make a server's certificate that only it vouches for."""
    key = KEYS[wish.get("key", "p256")]()
    name = _named(wish.get("common_name", "self-signed"))
    return _vouched_by_itself(_leaf(name, key, wish), name, key)


def _vouched_by_itself(start: x509.CertificateBuilder, name: x509.Name, key: Key) -> Issued:
    return Issued(_signed(start.issuer_name(name), key), key)


def _leaf(name: x509.Name, key: Key, wish: Wish) -> x509.CertificateBuilder:
    start = _start(name, key, wish)
    start = start.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    start = start.add_extension(x509.ExtendedKeyUsage(wish.get("eku", (SERVER,))), critical=False)
    if (place := wish.get("issuer_at")) is not None:
        start = start.add_extension(_issuer_at(place), critical=False)
    names: list[x509.GeneralName] = [
        *map(x509.DNSName, wish.get("dns", ())),
        *map(x509.UniformResourceIdentifier, wish.get("uri", ())),
        *(x509.IPAddress(ip_address(address)) for address in wish.get("ip", ())),
    ]
    return start.add_extension(x509.SubjectAlternativeName(names), critical=False) if names else start


def _issuer_at(place: str) -> x509.AuthorityInformationAccess:
    found = x509.UniformResourceIdentifier(place)
    return x509.AuthorityInformationAccess(
        [x509.AccessDescription(AuthorityInformationAccessOID.CA_ISSUERS, found)]
    )


def _start(name: x509.Name, key: Key, wish: Wish) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(wish.get("not_before", now - timedelta(hours=1)))
        .not_valid_after(wish.get("not_after", now + timedelta(days=365)))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _named(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else [])


def _signed(start: x509.CertificateBuilder, by: Key) -> x509.Certificate:
    return start.sign(by, None if isinstance(by, ed25519.Ed25519PrivateKey) else hashes.SHA256())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(Encoding.PEM).decode()
