"""Certificates that live for a day, made anew each time."""

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Certified(NamedTuple):
    """A certificate and its key, as PEM."""

    certificate: str
    key: str

    def save(self, path: Path) -> Path:
        """Write both into one file, which only its owner may read, and return the path."""
        path.touch(mode=0o600)
        path.write_text(self.certificate + self.key)
        return path


class Authority:
    """Somebody who vouches for names."""

    def __init__(self, name: str, *, expired: bool = False) -> None:
        """Make the authority's own certificate; an expired one lapsed yesterday."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        end = datetime.now(UTC) + (-DAY if expired else DAY)
        start = _begin(self._name, self._name, self._key, end)
        start = start.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.pem = start.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()

    def vouch(self, *names: str) -> Certified:
        """Make a server's certificate for these names; what looks like a URI becomes one."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        proofs = [
            x509.UniformResourceIdentifier(name) if "://" in name else x509.DNSName(name) for name in names
        ]
        start = _begin(subject, self._name, key, datetime.now(UTC) + DAY)
        start = start.add_extension(x509.SubjectAlternativeName(proofs), critical=False)
        certificate = start.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()
        private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return Certified(certificate, private)


def _begin(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - 3 * DAY)
        .not_valid_after(end)
    )


def fingerprint(pem: str) -> str:
    """Return who a certificate is for, and the beginning of its SHA-256 fingerprint."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    digest = certificate.fingerprint(hashes.SHA256()).hex(":")
    return f"{certificate.subject.rfc4514_string()}, SHA-256 {digest[:23]}..."


def pin(pem: str) -> str:
    """Return the pin of a certificate's public key."""
    public = x509.load_pem_x509_certificate(pem.encode()).public_key()
    info = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64encode(sha256(info).digest()).decode()
