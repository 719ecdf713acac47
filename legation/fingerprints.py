"""Pins of what a backend shows, or of what a file holds: certificates, requests for them, and public keys."""

import re
import socket
import ssl
from base64 import b64encode
from hashlib import sha256

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from msgspec import Struct

from legation.addresses import HostPort

WITHIN = 10.0  # seconds
_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,40})-----.+?-----END \1-----", re.DOTALL)
_REQUESTS = ("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST")
_UNREADABLE = (ValueError, UnsupportedAlgorithm, x509.InvalidVersion)  # what is raised for odd certificates
_TURNED_AWAY = (  # before 1.3 a handshake comes to nothing where a client's certificate is required
    "if it asks whoever comes for a certificate, name a file with the backend's own; "
    "if it serves other names, give one by --server-name"
)
_NAME_A_FILE = "name a file with a certificate in PEM, a request for one, or a public key"


class Fingerprint(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What may be pinned of a certificate; a public key alone, or a request, has no certificate yet."""

    what: str
    public_key_sha256: str = ""
    certificate_sha256: str = ""
    unread: str = ""  # why a certificate's public key cannot be pinned


class Unusable(Struct, frozen=True):
    """Why there is nothing to pin, and what helps."""

    why: str
    remedy: str


def shown_at(place: HostPort, server_name: str | None) -> Fingerprint | Unusable:
    """Ask a server for its certificate, believing whatever it shows: whoever pins it must compare."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((place.host, place.port), timeout=WITHIN) as connection,
            context.wrap_socket(connection, server_hostname=server_name or place.host) as secured,
        ):
            shown = secured.getpeercert(binary_form=True)
    except OSError as error:
        if isinstance(error, ssl.SSLError) and "ALERT" in str(error):
            return Unusable(f"{place} speaks TLS, and ended the handshake: {error}", _TURNED_AWAY)
        return Unusable(f"{place} shows no certificate: {error}", "give a HOST:PORT where TLS is spoken")
    except ValueError as error:  # of names, that no DNS could have them
        asked = server_name or place.host
        return Unusable(
            f"{asked!r} is no name to ask a server for: {error}",
            "give one such as --server-name pay.internal",
        )
    if not shown:
        return Unusable(f"{place} shows no certificate", "give a HOST:PORT where TLS is spoken")
    return _of_certificate(shown)


def held_in(text: bytes) -> Fingerprint | Unusable:
    """Read the first block of a PEM file, which is the backend's own where a chain follows."""
    found = _BLOCK.search(text)
    if found is None:
        return Unusable("it holds no PEM", _NAME_A_FILE)
    block, kind = found[0], found[1].decode()
    if kind.endswith("PRIVATE KEY"):
        return Unusable(
            "it holds a private key, which is not read", "openssl pkey -in FILE -pubout prints its other half"
        )
    try:
        return _of_block(block, kind)
    except _UNREADABLE as error:
        return Unusable(f"its {kind} cannot be read: {error}", _NAME_A_FILE)


def _of_block(block: bytes, kind: str) -> Fingerprint | Unusable:
    if kind == "CERTIFICATE":
        return _of_certificate(ssl.PEM_cert_to_DER_cert(block.decode()))
    if kind in _REQUESTS:
        request = x509.load_pem_x509_csr(block)
        return Fingerprint(f"request of {_subject(request.subject)}", _pin(request.public_key()))
    if kind == "PUBLIC KEY":
        return Fingerprint("public key", _pin(load_pem_public_key(block)))
    return Unusable(
        f"its {kind} is neither a certificate, nor a request for one, nor a public key", _NAME_A_FILE
    )


def _of_certificate(written: bytes) -> Fingerprint | Unusable:
    """Pin a certificate; an odd one that TLS takes, and we cannot read, by its bytes alone."""
    what, key, unread = "certificate", "", ""
    try:
        read = x509.load_der_x509_certificate(written)
        key = _pin(read.public_key())
        what = f"certificate of {_subject(read.subject)}, until {read.not_valid_after_utc:%Y-%m-%d}"
    except _UNREADABLE as error:
        if not _is_taken(written):
            return Unusable(f"its CERTIFICATE cannot be read: {error}", _NAME_A_FILE)
        unread = "" if key else str(error)
    return Fingerprint(what, key, sha256(written).digest().hex(":").upper(), unread)


def _is_taken(certificate: bytes) -> bool:
    """Tell whether it is a certificate to OpenSSL, which asks less of one than we do."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=certificate)
    except ssl.SSLError:
        return False
    return True


def _pin(key: PublicKeyTypes) -> str:
    """Write the digest of a public key as RFC 7469 does."""
    public = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b64encode(sha256(public).digest()).decode()


def _subject(name: x509.Name) -> str:
    return name.rfc4514_string() or "nobody by its subject"
