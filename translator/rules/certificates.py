"""PEM and keys: the translator's only module that imports `cryptography`.

PEM is read leniently and passed on strictly: what stands outside its blocks is ignored, a broken block leaves
the good ones usable, and what Envoy gets is written anew. Sizes are limited, and the work is linear in them.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID
from msgspec import Struct

from translator.memo import query
from translator.names import Name, Ref
from translator.objects.secret import Secret
from translator.rules.held_back import held_back
from translator.verdict import Refused, listed
from translator.world import Fact, World

NOW = Fact(
    "what time it is; the epoch while nobody knows, and then nothing lapses", datetime.fromtimestamp(0, UTC)
)
_KNOWN = NOW.otherwise + timedelta.resolution

LONGEST_BUNDLE = 1024 * 1024  # as much as a ConfigMap or a ClusterTrustBundle can hold
MOST_CERTIFICATES = 1000
LONGEST_KEY = 8 * 1024  # more than RSA of 8192 bits needs; longer ones cost seconds to check
LONGEST_SUBJECT = 80
NOTICES = (1, 7, 30)  # days before a certificate's end

_BOUNDARY = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----")
_LAST_OF_TWO_BYTES = "\uffff"
_LAST_OF_PLANES = "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
_NO_LETTER = re.compile(f"[\ufdd0-\ufdef{_LAST_OF_PLANES}]")  # what Unicode says will never be one
_LEAST_RSA_BITS, _MOST_RSA_BITS = 2048, 8192
_NAMES = (x509.DNSName, x509.UniformResourceIdentifier, x509.IPAddress)
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)


class Anchor(Struct, frozen=True):
    """A certificate that others may be proved by."""

    number: int  # of its block in the bundle
    subject: str
    since: datetime
    until: datetime
    authority: bool  # else it is self-signed and proves nothing but itself
    pem: str
    fingerprint: str  # SHA-256, in hexadecimal


class Bundle(Struct, frozen=True):
    """What a text holds: certificates that may be trusted, and a sentence for each block that is none."""

    anchors: tuple[Anchor, ...]
    broken: tuple[str, ...]


class KeyPair(Struct, frozen=True):
    """A server certificate with its chain, and its key, as PEM."""

    chain: str
    key: str

    def __repr__(self) -> str:
        """Show nothing: what is shown ends up in logs."""
        return "KeyPair(...)"


class Link(Struct, frozen=True):
    """What clients look at in one certificate of a chain."""

    subject: str
    issuer: str
    names: tuple[str, ...]  # of hosts
    tells_issuer: bool  # it says where the certificate of its issuer is had


class _Read(NamedTuple):
    """A readable block of PEM; without standing, nothing can be proved by it."""

    certificate: x509.Certificate
    anchor: Anchor
    standing: bool


class _Served(Struct, frozen=True):
    """A pair that Envoy can serve, and what is known of each of its certificates, the server's own first."""

    pair: KeyPair
    chain: tuple[Anchor, ...]
    is_named: bool


def read_bundle(text: str) -> Bundle | Refused:
    """Read the certificates of a trust bundle; a private key among them makes all of it refused."""
    found = _certificates(text)
    if isinstance(found, Refused):
        return Refused("InvalidCACertificateRef", found.message)
    certificates, broken = found
    useless = [
        f"block {each.anchor.number} is neither a certificate authority nor self-signed, so it proves nothing"
        for each in certificates
        if not each.standing
    ]
    return Bundle(tuple(each.anchor for each in certificates if each.standing), (*broken, *useless))


def read_certificates(text: str) -> tuple[Anchor, ...]:
    """Read every certificate of a text that can be read, whatever it may stand above."""
    found = _certificates(text)
    return () if isinstance(found, Refused) else tuple(each.anchor for each in found[0])


@query
def lapse(world: World, since: datetime, until: datetime) -> str:
    """Say in words how a validity is not met now; nothing where it is met, or nobody knows the time."""
    if not world.reached(NOW, _KNOWN):
        return ""
    if is_over(world, until):
        return f"expired on {until:%Y-%m-%d %H:%M} UTC"
    return "" if world.reached(NOW, since) else f"is not valid before {since:%Y-%m-%d %H:%M} UTC"


def is_over(world: World, until: datetime) -> bool:
    """Say whether a date has passed; it is part of what it ends."""
    return world.reached(NOW, until + timedelta.resolution)


@query
def days_left(world: World, since: datetime, until: datetime) -> int | None:
    """Return the least of 1, 7 and 30 days that a validity ends within; None where none is called for.

    A quarter of its whole length is enough notice: what lives for hours is renewed in hours.
    """
    if not world.reached(NOW, _KNOWN) or is_over(world, until):
        return None
    notices = {days: min(timedelta(days), (until - since) / 4) for days in NOTICES}
    return next((days for days, notice in notices.items() if world.reached(NOW, until - notice)), None)


@query
def own_certificate(world: World, secret: Name) -> KeyPair | Refused:
    """Return what a `kubernetes.io/tls` Secret holds, if Envoy can show it to backends."""
    served = _served(world, secret)
    return served if isinstance(served, Refused) else served.pair


@query
def server_certificate(world: World, secret: Name) -> KeyPair | Refused:
    """Return the same if Envoy can show it to clients, for whom it must name somebody."""
    served = _served(world, secret)
    if isinstance(served, Refused):
        return served
    if served.is_named:
        return served.pair
    wrong = "it names nobody: issue it with the hostnames that it is for"
    return Refused(
        "InvalidCertificateRef", f"Secret {secret} has a certificate that Envoy cannot show: {wrong}"
    )


@query
def server_certificate_warning(world: World, secret: Name) -> str:
    """Say that a Secret's certificate is served although it has expired, or is not valid yet."""
    served = _served(world, secret)
    if isinstance(served, Refused):
        return ""
    own = served.chain[0]
    lapsed = lapse(world, own.since, own.until)
    return f"Secret {secret}: its certificate {lapsed}, and will be refused: renew it" if lapsed else ""


@query
def chain(world: World, secret: Name) -> tuple[Anchor, ...]:
    """Return what is known of the certificates that a Secret shows, the server's own first."""
    served = _served(world, secret)
    return () if isinstance(served, Refused) else served.chain


def links(world: World, secret: Name) -> tuple[Link, ...]:
    """Read once more what a Secret shows, for whoever asks what clients will make of it."""
    return tuple(_link(x509.load_pem_x509_certificate(each.pem.encode())) for each in chain(world, secret))


@query
def _served(world: World, name: Name) -> _Served | Refused:
    if (held := held_back(world, Ref("Secret", name))) is not None:
        said = f"is refused by an Envoy ({listed([held.words])}): change it, and it is tried again"
        return Refused("InvalidCertificateRef", f"Secret {name} {said}")
    wrong = _unservable(world.get(Secret, name))
    if isinstance(wrong, _Served):
        return wrong
    return Refused("InvalidCertificateRef", f"Secret {name} {wrong}")


def _unservable(secret: Secret | None) -> _Served | str:
    """Return what a Secret serves, or what is wrong with it, as the end of a sentence."""
    if secret is None:
        return "does not exist: create it, with `kubectl create secret tls`"
    if secret.type != "kubernetes.io/tls":
        return f"is of type {secret.type}: make it anew as type kubernetes.io/tls"
    chain, key = secret.value("tls.crt"), secret.value("tls.key")
    if not chain or not key:
        return f"has no {'tls.key' if chain else 'tls.crt'}: put the PEM there"
    certificates = _chain(chain.decode(errors="replace"))
    if isinstance(certificates, str):
        return certificates
    private = _private_key(key)
    if isinstance(private, str):
        return private
    return _pair(certificates, private)


def _chain(text: str) -> list[_Read] | str:
    found = _certificates(text)
    if isinstance(found, Refused):
        return f"cannot be served: tls.crt {found.message}"
    certificates, broken = found
    if broken:
        return f"cannot be served: {broken[0]} of tls.crt's: repair or remove it"
    return certificates


def _private_key(pem: bytes) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | str:
    """Read a key that Envoy can serve with; what is wrong is said without a byte of it."""
    if len(pem) > LONGEST_KEY:
        return f"has a tls.key of more than {LONGEST_KEY} bytes: put one private key there"
    try:
        key = load_pem_private_key(pem, password=None)
    except TypeError:
        return "has an encrypted tls.key: decrypt it first, nobody is here to give the password"
    except (ValueError, UnsupportedAlgorithm):
        return "has a tls.key that is no private key in PEM: put the certificate's own key there"
    if isinstance(key, rsa.RSAPrivateKey) and _LEAST_RSA_BITS <= key.key_size <= _MOST_RSA_BITS:
        return key
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, _CURVES):
        return key
    return "has a key that Envoy cannot serve with: use ECDSA on P-256, P-384 or P-521, or RSA from 2048 bits"


def _pair(chain: list[_Read], key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> _Served | str:
    """Join a chain and a key that belong together."""
    certificates = [each.certificate for each in chain]
    owners = [each for each in certificates if _owns(each, key)]
    if not owners:
        return "has a tls.key that is not the key of tls.crt: put a certificate and its own key there"
    if certificates[0] not in owners:
        return "has a tls.crt in the wrong order: put the server's own certificate first, then those above it"
    if wrong := _unshowable(certificates[0], key):
        return f"has a certificate that Envoy cannot show: {wrong}"
    shown = tuple(each.anchor for each in chain)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return _Served(KeyPair("".join(each.pem for each in shown), private), shown, _is_named(certificates[0]))


def _owns(certificate: x509.Certificate, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bool:
    try:
        return certificate.public_key() == key.public_key()
    except (ValueError, UnsupportedAlgorithm):  # a key of a kind that nobody here can serve with
        return False


def _unshowable(own: x509.Certificate, key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> str:
    """Say why Envoy takes a certificate, whose key this is, for none that it may show; mostly nothing."""
    values = [extension.value for extension in own.extensions]
    signs = all(each.digital_signature for each in values if isinstance(each, x509.KeyUsage))
    if isinstance(key, ec.EllipticCurvePrivateKey) and not signs:
        return "its key usage forbids the signatures that ECDSA is made of: issue it with digitalSignature"
    features = (feature for each in values if isinstance(each, x509.TLSFeature) for feature in each)
    if x509.TLSFeatureType.status_request in features:
        return "it asks for a stapled OCSP answer, which no Secret holds: issue it without must-staple"
    return ""


def _is_named(own: x509.Certificate) -> bool:
    """Tell whether Envoy finds a name in a certificate: its first common name, or one beside its subject."""
    common = own.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    beside = (
        isinstance(each, _NAMES)
        for extension in own.extensions
        if isinstance(extension.value, x509.SubjectAlternativeName)
        for each in extension.value
    )
    return bool(common[0].value) if common else any(beside)


def _certificates(text: str) -> tuple[list[_Read], list[str]] | Refused:
    """Read every block that is a certificate, with a sentence for each that is not."""
    if "PRIVATE KEY-----" in text:
        return Refused("PrivateKey", "holds a private key: take it out, and consider it known to others")
    if len(text) > LONGEST_BUNDLE:
        return Refused(
            "TooLong", f"is longer than {LONGEST_BUNDLE} bytes: keep the certificates that are needed"
        )
    certificates: list[_Read] = []
    broken: list[str] = []
    for number, (label, body) in enumerate(_blocks(text), 1):
        if number > MOST_CERTIFICATES:
            return Refused(
                "TooMany", f"holds more than {MOST_CERTIFICATES} certificates: keep those that are needed"
            )
        read = _certificate(number, label, body)
        if isinstance(read, str):
            broken.append(f"block {number} {read}")
        else:
            certificates.append(read)
    if not certificates and not broken:
        return Refused("Empty", "holds no certificate in PEM: put at least one there")
    return certificates, broken


def _blocks(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the label and the body of each PEM block; a body that lacks one of its two boundaries is None."""
    begin: re.Match[str] | None = None
    for boundary in _BOUNDARY.finditer(text):
        if boundary[1] == "BEGIN":
            if begin is not None:
                yield begin[2], None
            begin = boundary
        elif begin is None or begin[2] != boundary[2]:
            yield boundary[2], None
            begin = None
        else:
            yield begin[2], text[begin.end() : boundary.start()]
            begin = None
    if begin is not None:
        yield begin[2], None


def _certificate(number: int, label: str, body: str | None) -> _Read | str:
    """Read one block, or say what is wrong with it, as the end of a sentence."""
    if body is None:
        return "lacks its BEGIN or its END line"
    if label != "CERTIFICATE":
        return f"is a {label}, not a CERTIFICATE"
    try:
        certificate = x509.load_der_x509_certificate(b64decode("".join(body.split()), validate=True))
        return _judged(number, certificate)
    except Exception:  # noqa: BLE001  # of strangers' bytes the decoders raise anything, KeyError included
        return "is no certificate that can be read"


def _judged(number: int, certificate: x509.Certificate) -> _Read:
    """Look at every part that matters; some are only decoded, and found broken, when they are asked for."""
    authority = _may_sign(certificate)
    if not _is_read_by_envoy(certificate):
        raise ValueError
    subject = certificate.subject.rfc4514_string()[:LONGEST_SUBJECT]
    anchor = Anchor(
        number=number,
        subject="".join(letter if letter.isprintable() else "?" for letter in subject),
        since=certificate.not_valid_before_utc,
        until=certificate.not_valid_after_utc,
        authority=authority,
        pem=certificate.public_bytes(Encoding.PEM).decode(),
        fingerprint=certificate.fingerprint(SHA256()).hex(),
    )
    return _Read(certificate, anchor, authority or certificate.subject == certificate.issuer)


def _is_read_by_envoy(certificate: x509.Certificate) -> bool:
    """Say whether Envoy's library, which is stricter than ours, reads a certificate, too."""
    if certificate.version is not x509.Version.v3 and len(certificate.extensions):
        return False
    return all(_is_text(each) for name in (certificate.subject, certificate.issuer) for each in name)


def _is_text(attribute: x509.NameAttribute[str | bytes]) -> bool:
    """Say whether a part of a name has only letters that Unicode, and its own encoding, has."""
    if isinstance(attribute.value, bytes):
        return True
    wide = max(attribute.value, default="") > _LAST_OF_TWO_BYTES
    two_bytes = attribute._type.name == "BMPString"  # noqa: SLF001  # nothing else tells how it was written
    return not (_NO_LETTER.search(attribute.value) or (wide and two_bytes))


def _may_sign(certificate: x509.Certificate) -> bool:
    """Say whether a certificate may stand above others: it says so, and no key usage takes that back."""
    values = [extension.value for extension in certificate.extensions]
    authority = any(isinstance(each, x509.BasicConstraints) and each.ca for each in values)
    return authority and all(each.key_cert_sign for each in values if isinstance(each, x509.KeyUsage))


def _link(certificate: x509.Certificate) -> Link:
    values = [extension.value for extension in certificate.extensions]
    names = (
        each.get_values_for_type(x509.DNSName)
        for each in values
        if isinstance(each, x509.SubjectAlternativeName)
    )
    access = (
        each for value in values if isinstance(value, x509.AuthorityInformationAccess) for each in value
    )
    return Link(
        subject=certificate.subject.rfc4514_string(),
        issuer=certificate.issuer.rfc4514_string(),
        names=tuple(name.lower() for each in names for name in each),
        tells_issuer=any(each.access_method == AuthorityInformationAccessOID.CA_ISSUERS for each in access),
    )
