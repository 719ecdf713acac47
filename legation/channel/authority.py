"""Roots and certificates of our own, for the channel between the control plane and its Envoys: made and read.

Whoever holds one of the roots can be any Gateway, so keys leave this process only into the Secrets that
`identity_secrets.py` shapes. When what is made anew, `rotation.py` decides.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from translator.names import Name

SKEW = timedelta(minutes=5)  # clocks that are so far behind ours believe a new certificate at once
SHOWN_AS = MappingProxyType({
    "server": ExtendedKeyUsageOID.SERVER_AUTH,
    "client": ExtendedKeyUsageOID.CLIENT_AUTH,
})  # fmt: skip


class Lifetime(NamedTuple):
    """From when until when a certificate holds."""

    since: datetime
    until: datetime


class Subject(Struct, frozen=True):
    """Whom a certificate proves: the control plane by DNS names, or one Gateway by its URI."""

    names: frozenset[str]
    side: str  # server or client
    since: datetime | None = None  # what was issued before that does not count

    def __str__(self) -> str:
        """Name it for the certificate's own subject, which nobody decides by."""
        return "legation control plane" if self.side == "server" else "legation proxy"


class Credential(Struct, frozen=True):
    """A certificate with its key, both PEM, and what was read from them."""

    certificate: str
    key: str
    lifetime: Lifetime
    names: frozenset[str] = frozenset()
    is_root: bool = False

    def __repr__(self) -> str:
        """Say what it proves and until when; the key stays unsaid."""
        return f"Credential({sorted(self.names)}, until {self.lifetime.until.isoformat()})"


def server(dns_names: Iterable[str]) -> Subject:
    """Name the control plane, as Envoys reach it."""
    return Subject(frozenset(dns_names), "server")


def proxy_of(gateway: Name, since: datetime | None = None) -> Subject:
    """Name the Envoys of one Gateway, as `identity.py` reads it."""
    uri = f"spiffe://legation/ns/{gateway.namespace}/gateway/{gateway.name}"
    return Subject(frozenset({uri}), "client", since)


def make_root(lifetime: Lifetime, title: str = "legation authority") -> Credential:
    """Make a root with a key of its own."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _named(title)
    built = _begun(name, key.public_key(), lifetime).issuer_name(name)
    built = built.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _finished(built.add_extension(_signs_certificates(), critical=True), key, key)


def issue(root: Credential, subject: Subject, lifetime: Lifetime) -> Credential:
    """Make a key for somebody, and have a root vouch for it."""
    by = x509.load_pem_x509_certificate(root.certificate.encode())
    key = ec.generate_private_key(ec.SECP256R1())
    usage = x509.ExtendedKeyUsage([SHOWN_AS[subject.side]])
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(_key(root.key).public_key())
    built = (
        _begun(_named(str(subject)), key.public_key(), lifetime)
        .issuer_name(by.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(x509.SubjectAlternativeName(_general(subject)), critical=True)
    )
    return _finished(built, key, _key(root.key))


def read(certificate: bytes | None, key: bytes | None) -> Credential | None:
    """Read what a Secret holds; None if it is no certificate with its key."""
    try:
        found = x509.load_pem_x509_certificate(certificate or b"")
        private = load_pem_private_key(key or b"", None)
        return _read(found, private) if isinstance(private, ec.EllipticCurvePrivateKey) else None
    except (ValueError, TypeError, x509.ExtensionNotFound):
        return None


def vouches(root: Credential, leaf: Credential) -> bool:
    """Say whether a root has signed a certificate."""
    above = x509.load_pem_x509_certificate(root.certificate.encode())
    below = x509.load_pem_x509_certificate(leaf.certificate.encode())
    try:
        below.verify_directly_issued_by(above)
    except (ValueError, InvalidSignature):
        return False
    return True


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _begun(name: x509.Name, key: ec.EllipticCurvePublicKey, lifetime: Lifetime) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(lifetime.since - SKEW)
        .not_valid_after(lifetime.until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _general(subject: Subject) -> list[x509.GeneralName]:
    kind = x509.DNSName if subject.side == "server" else x509.UniformResourceIdentifier
    return [kind(name) for name in sorted(subject.names)]


def _signs_certificates() -> x509.KeyUsage:
    return x509.KeyUsage(
        key_cert_sign=True,
        crl_sign=True,
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _finished(
    begun: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey
) -> Credential:
    return _read(begun.sign(by, hashes.SHA256()), key)


def _read(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Credential:
    """Read a certificate of ours; a key that is another's is a ValueError."""
    if _public(certificate.public_key()) != _public(key.public_key()):
        message = "the key is another certificate's"
        raise ValueError(message)
    is_root = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    lifetime = Lifetime(certificate.not_valid_before_utc + SKEW, certificate.not_valid_after_utc)
    return Credential(
        certificate=certificate.public_bytes(Encoding.PEM).decode(),
        key=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        lifetime=lifetime,
        names=frozenset() if is_root else _names(certificate),
        is_root=is_root,
    )


def _names(certificate: x509.Certificate) -> frozenset[str]:
    said = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    dns = said.get_values_for_type(x509.DNSName)
    return frozenset({*dns, *said.get_values_for_type(x509.UniformResourceIdentifier)})


def _public(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _key(pem: str) -> ec.EllipticCurvePrivateKey:
    found = load_pem_private_key(pem.encode(), None)
    assert isinstance(found, ec.EllipticCurvePrivateKey), "ours are of one kind"
    return found
