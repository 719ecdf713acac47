"""Pins: digests of certificates, or of public keys, of which a backend must show one.  GEP-4152, RFC 7469.

A pin is of the backend's own certificate or key, never of an authority above it. It says nothing of dates:
where no CA vouches for anything besides, a pinned certificate that has expired is still the pinned one.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence

from msgspec import Struct

from translator.verdict import listed

PUBLIC_KEY = "pinned-public-key-sha256"
CERTIFICATE = "pinned-certificate-sha256"
SINGLE = (
    "one pin alone: give a second, of a key kept in reserve, or the backend's next key fails every request"
)

_DIGEST = 32  # bytes
_HEX = re.compile(r"[0-9A-Fa-f]{64}|[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){31}")


class Pins(Struct, frozen=True):
    """What is pinned; one of them all is enough, whichever form it has."""

    public_keys: tuple[str, ...] = ()  # in base64
    certificates: tuple[str, ...] = ()  # in hexadecimal, lower case

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.public_keys) + len(self.certificates)


def read_pins(public_keys: Sequence[str], certificates: Sequence[str]) -> Pins:
    """Read pins that are right, each once however it is written."""
    return Pins(
        tuple(dict.fromkeys(b64encode(b64decode(each)).decode() for each in public_keys)),
        tuple(dict.fromkeys(each.replace(":", "").lower() for each in certificates)),
    )


def wrong_public_keys(pins: Sequence[str]) -> str:
    """Say which of these are no pins of public keys."""
    strange = [repr(each) for each in pins if not _is_public_key(each)]
    remedy = "give the base64 of a SHA-256, 44 characters, as `legation pin` prints it"
    return f"{listed(strange)} is no pin of a public key: {remedy}" if strange else ""


def wrong_certificates(pins: Sequence[str]) -> str:
    """Say which of these are no pins of certificates."""
    strange = [repr(each) for each in pins if not _HEX.fullmatch(each)]
    remedy = "give a SHA-256 as 64 hexadecimal digits, with or without colons, as `legation pin` prints it"
    return f"{listed(strange)} is no pin of a certificate: {remedy}" if strange else ""


def _is_public_key(pin: str) -> bool:
    try:
        return len(b64decode(pin, validate=True)) == _DIGEST
    except ValueError:  # it is no base64, or no ASCII
        return False
