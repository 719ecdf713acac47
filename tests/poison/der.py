"""Certificates as no authority issues them: written by hand, unsigned, with anything in any field."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import strategies as st

SEQUENCE, SET, INTEGER, BITS, BYTES, OID, FLAG, NULL = 0x30, 0x31, 0x02, 0x03, 0x04, 0x06, 0x01, 0x05
UTF8, PRINTABLE, TELETEX, IA5, BMP, UTC_TIME, ANY_TIME = 0x0C, 0x13, 0x14, 0x16, 0x1E, 0x17, 0x18
NUMBERED, LISTED = 0xA0, 0xA3  # where a version stands, and extensions
SHORT = 0x80
TRUE = b"\x01\x01\xff"


def tlv(tag: int, *parts: bytes) -> bytes:
    """Write one element of DER."""
    body = b"".join(parts)
    if len(body) < SHORT:
        return bytes((tag, len(body))) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8)
    return bytes((tag, SHORT | len(size))) + size + body


def oid(*rest: int) -> bytes:
    """Write an identifier by its bytes."""
    return tlv(OID, bytes(rest))


ECC = (0x2A, 0x86, 0x48, 0xCE, 0x3D)
ECDSA_SHA256 = tlv(SEQUENCE, oid(*ECC, 4, 3, 2))
PKCS1 = (0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1)
ON_P256 = tlv(SEQUENCE, oid(*ECC, 2, 1), oid(*ECC, 3, 1, 7))
ALGORITHMS = MappingProxyType({
    "ECDSA with SHA-256": ECDSA_SHA256,
    "RSA with SHA-1": tlv(SEQUENCE, oid(*PKCS1, 5), tlv(NULL)),
    "RSA with MD5": tlv(SEQUENCE, oid(*PKCS1, 4), tlv(NULL)),
    "DSA with SHA-1": tlv(SEQUENCE, oid(0x2A, 0x86, 0x48, 0xCE, 0x38, 4, 3)),
    "nobody knows": tlv(SEQUENCE, oid(0x2A, 3, 4)),
})  # fmt: skip


def spki(key: PublicKeyTypes) -> bytes:
    """Write a public key as certificates hold it."""
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def short_rsa(bits: int) -> bytes:
    """Write a public key that is shorter than libraries agree to make."""
    numbers = tlv(SEQUENCE, tlv(INTEGER, b"\0", b"\xff" * (bits // 8)), tlv(INTEGER, b"\1\0\1"))
    return tlv(SEQUENCE, tlv(SEQUENCE, oid(*PKCS1, 1), tlv(NULL)), tlv(BITS, b"\0", numbers))


KEYS = MappingProxyType({
    "P-256": spki(ec.generate_private_key(ec.SECP256R1()).public_key()),
    "P-521": spki(ec.generate_private_key(ec.SECP521R1()).public_key()),
    "secp256k1": spki(ec.generate_private_key(ec.SECP256K1()).public_key()),
    "RSA 2048": spki(rsa.generate_private_key(65537, 2048).public_key()),
    "RSA 512": short_rsa(512),
    "RSA 16384": short_rsa(16384),
    "DSA": spki(dsa.generate_private_key(1024).public_key()),  # noqa: S505  weak on purpose
    "Ed25519": spki(ed25519.Ed25519PrivateKey.generate().public_key()),
    "Ed448": spki(ed448.Ed448PrivateKey.generate().public_key()),
    "no point": tlv(SEQUENCE, ON_P256, tlv(BITS, b"\0\4", b"\7" * 64)),
    "nobody knows": tlv(SEQUENCE, tlv(SEQUENCE, oid(0x2A, 3, 4)), tlv(BITS, b"\0\1")),
})  # fmt: skip


class Extension(NamedTuple):
    """What a certificate says beside the fields that all have."""

    identifier: bytes
    value: bytes
    critical: bool = False

    def written(self) -> bytes:
        """Write it, however odd."""
        return tlv(SEQUENCE, self.identifier, TRUE if self.critical else b"", tlv(BYTES, self.value))


BELOW = tlv(0xA0, tlv(SEQUENCE, tlv(0x82, b"a.test")))
EXTENSIONS = MappingProxyType({
    "authority": Extension(oid(0x55, 0x1D, 19), tlv(SEQUENCE, TRUE), critical=True),
    "no authority": Extension(oid(0x55, 0x1D, 19), tlv(SEQUENCE)),
    "authority of nothing below": Extension(oid(0x55, 0x1D, 19), tlv(SEQUENCE, TRUE, tlv(INTEGER, b"\0"))),
    "length below zero": Extension(oid(0x55, 0x1D, 19), tlv(SEQUENCE, TRUE, tlv(INTEGER, b"\xff"))),
    "broken constraints": Extension(oid(0x55, 0x1D, 19), b"\xff\xff"),
    "signs certificates": Extension(oid(0x55, 0x1D, 15), tlv(BITS, b"\2\4"), critical=True),
    "signs nothing": Extension(oid(0x55, 0x1D, 15), tlv(BITS, b"\7\x80")),
    "no usage": Extension(oid(0x55, 0x1D, 15), tlv(BITS, b"\0")),
    "names": Extension(oid(0x55, 0x1D, 17), tlv(SEQUENCE, tlv(0x82, b"a.test"), tlv(0x82, b"*.b.test"))),
    "no names": Extension(oid(0x55, 0x1D, 17), tlv(SEQUENCE)),
    "names with controls": Extension(oid(0x55, 0x1D, 17), tlv(SEQUENCE, tlv(0x82, b"a\0b\n.test"))),
    "half an address": Extension(oid(0x55, 0x1D, 17), tlv(SEQUENCE, tlv(0x87, b"\1\2"))),
    "broken names": Extension(oid(0x55, 0x1D, 17), b"\x30\x7f"),
    "names only below": Extension(oid(0x55, 0x1D, 30), tlv(SEQUENCE, BELOW), critical=True),
    "for servers": Extension(oid(0x55, 0x1D, 37), tlv(SEQUENCE, oid(0x2B, 6, 1, 5, 5, 7, 3, 1))),
    "for mail": Extension(oid(0x55, 0x1D, 37), tlv(SEQUENCE, oid(0x2B, 6, 1, 5, 5, 7, 3, 4))),
    "for nothing": Extension(oid(0x55, 0x1D, 37), tlv(SEQUENCE)),
    "must staple": Extension(oid(0x2B, 6, 1, 5, 5, 7, 1, 24), tlv(SEQUENCE, tlv(INTEGER, b"\5"))),
    "must do what nobody knows": Extension(oid(0x2A, 3, 5), b"\5\0", critical=True),
    "huge": Extension(oid(0x2A, 3, 6), b"\0" * 60_000),
})  # fmt: skip


def many_names(number: int) -> Extension:
    """Write a certificate's names of hosts, as many as asked for."""
    names = (tlv(0x82, f"h{each}.test".encode()) for each in range(number))
    return Extension(oid(0x55, 0x1D, 17), tlv(SEQUENCE, *names))


def named(*parts: tuple[int, bytes]) -> bytes:
    """Write a subject or an issuer: common names, each of a sort of text."""
    return tlv(SEQUENCE, *(tlv(SET, tlv(SEQUENCE, oid(0x55, 4, 3), tlv(*part))) for part in parts))


def certificate(
    key: bytes, extensions: Sequence[Extension] = (), *, names: tuple[bytes, bytes], **odd: bytes
) -> bytes:
    """Write a certificate for a public key, by an issuer for a subject; what is odd replaces the usual."""
    issuer, subject = names
    algorithm = odd.get("algorithm", ECDSA_SHA256)
    listed = tlv(LISTED, tlv(SEQUENCE, *(each.written() for each in extensions))) if extensions else b""
    dates = odd.get("dates", tlv(SEQUENCE, tlv(UTC_TIME, b"250101000000Z"), tlv(UTC_TIME, b"480101000000Z")))
    version, serial = odd.get("version", tlv(NUMBERED, tlv(INTEGER, b"\2"))), odd.get("serial", b"\7")
    told = tlv(SEQUENCE, version, tlv(INTEGER, serial), algorithm, issuer, dates, subject, key, listed)
    unsigned = tlv(SEQUENCE, tlv(INTEGER, b"\1"), tlv(INTEGER, b"\1"))
    return tlv(SEQUENCE, told, algorithm, tlv(BITS, b"\0", unsigned)) + odd.get("behind", b"")


DATES = (
    tlv(SEQUENCE, tlv(UTC_TIME, b"500101000000Z"), tlv(UTC_TIME, b"491231235959Z")),
    tlv(SEQUENCE, tlv(UTC_TIME, b"490101000000Z"), tlv(ANY_TIME, b"99991231235959Z")),
    tlv(SEQUENCE, tlv(ANY_TIME, b"00010101000000Z"), tlv(ANY_TIME, b"20500101000000Z")),
    tlv(SEQUENCE, tlv(UTC_TIME, b"250230000000Z"), tlv(UTC_TIME, b"250101000000+0100")),
)
VERSIONS = (b"", *(tlv(NUMBERED, tlv(INTEGER, bytes((number,)))) for number in (0, 1, 3, 0xFF)))
ODD = (
    *(("algorithm", each) for each in sorted(ALGORITHMS.values())),
    *(("version", each) for each in VERSIONS),
    *(("serial", each) for each in (b"", b"\0", b"\xff", b"\x7f" * 20, b"\x7f" * 40)),
    *(("dates", each) for each in DATES),
    ("behind", b"\0"),
)
USUAL = named((UTF8, b"a.test"))
TEXTS = st.one_of(
    st.tuples(st.just(UTF8), st.text(max_size=60).map(str.encode)),
    st.tuples(st.just(UTF8), st.just(b"x" * 5000)),
    st.tuples(st.just(BMP), st.text(max_size=20).map(lambda text: text.encode("utf-16-be", "replace"))),
    st.tuples(st.sampled_from((UTF8, PRINTABLE, TELETEX, IA5, BMP)), st.binary(max_size=20)),
)


@st.composite
def certificates(draw: st.DrawFn, key: bytes | None = None) -> bytes:
    """Draw one, for this public key if it has to be."""
    odd = draw(st.just(()) | st.lists(st.sampled_from(ODD), max_size=2))
    some = draw(st.lists(st.sampled_from(sorted(EXTENSIONS)), max_size=3, unique=True))
    subject = draw(st.just(USUAL) | st.lists(TEXTS, max_size=3).map(lambda texts: named(*texts)))
    issuer = draw(st.just(subject) | st.just(USUAL))
    shown = key or draw(st.sampled_from(sorted(KEYS.values())))
    made = certificate(shown, [EXTENSIONS[each] for each in some], names=(issuer, subject), **dict(odd))
    return draw(st.just(made) | st.just(made) | _bitten(made))


def _bitten(whole: bytes) -> st.SearchStrategy[bytes]:
    """Have a few bytes be others."""
    place = st.integers(0, len(whole) - 1)
    return st.lists(st.tuples(place, st.integers(0, 255)), min_size=1, max_size=3).map(
        lambda bites: bytes(dict(bites).get(at, byte) for at, byte in enumerate(whole))
    )
