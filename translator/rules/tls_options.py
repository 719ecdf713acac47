"""What a BackendTLSPolicy's options say about the handshake; GEP-1897 leaves them to implementations.

Ours are prefixed `legation.dev/`: an unknown one, or a bad value, is refused, for leaving it out would be
weaker than what was asked. Names without a domain belong to the Gateway API, which defines none yet: they are
refused too. Options of other domains are for others.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from msgspec import Struct

from translator.rules.pins import (
    CERTIFICATE,
    PUBLIC_KEY,
    Pins,
    read_pins,
    wrong_certificates,
    wrong_public_keys,
)
from translator.verdict import Refused, listed

PREFIX = "legation.dev/"
MODE, SKIP_HOSTNAME = "verification-mode", "SkipHostname"

_VERSIONS = ("1.2", "1.3")
#: What Envoy takes, without 3DES and without shared keys; for TLS 1.2, as 1.3 leaves no choice.
CIPHER_SUITES = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA",
    "AES256-SHA",
)
CURVES = ("P-256", "P-384", "P-521", "X25519", "X25519MLKEM768")
_PROTOCOL = re.compile(r"[!-+\--~]{1,255}")  # an ALPN name in visible ASCII without the comma that separates


class TlsOptions(Struct, frozen=True):
    """What the handshake is limited to, and what it must prove besides, or need not."""

    min_version: str = "1.2"
    max_version: str = "1.3"
    cipher_suites: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    alpn: tuple[str, ...] = ()
    pins: Pins = Pins()
    any_name: bool = False


def read_options(options: Mapping[str, str]) -> TlsOptions | Refused:
    """Read the options that are ours; every mistake is named with its key."""
    asked = {key: value for key, value in options.items() if "/" not in key or key.startswith(PREFIX)}
    mistakes = [wrong for key in sorted(asked) if (wrong := _mistake(key, asked[key]))]
    if mistakes:
        return Refused("Invalid", "; ".join(mistakes))
    read = TlsOptions(
        min_version=asked.get(f"{PREFIX}min-tls-version", TlsOptions().min_version),
        max_version=asked.get(f"{PREFIX}max-tls-version", TlsOptions().max_version),
        cipher_suites=_items(asked.get(f"{PREFIX}cipher-suites")),
        curves=_items(asked.get(f"{PREFIX}curves")),
        alpn=_items(asked.get(f"{PREFIX}alpn")),
        pins=read_pins(_items(asked.get(PREFIX + PUBLIC_KEY)), _items(asked.get(PREFIX + CERTIFICATE))),
        any_name=PREFIX + MODE in asked,
    )
    if read.min_version > read.max_version:
        wrong = (
            f"{PREFIX}min-tls-version {read.min_version} is above {PREFIX}max-tls-version {read.max_version}"
        )
        return Refused("Invalid", f"option {wrong}: no version is left")
    return read


def _mistake(key: str, value: str) -> str:
    """Say what is wrong with one option; nothing where nothing is."""
    name = key.removeprefix(PREFIX)
    if name == key:
        ours = f": did you mean {PREFIX}{key}?" if key in WRONG else ": remove it"
        return f"option {key} is none that the Gateway API defines{ours}"
    if name not in WRONG:
        return f"option {key} is not known: use one of {', '.join(WRONG)} after {PREFIX}, or remove it"
    wrong = WRONG[name](value)
    return wrong and f"option {key}: {wrong}"


def _wrong_version(value: str) -> str:
    known = " or ".join(_VERSIONS)
    return (
        "" if value in _VERSIONS else f"{listed([repr(value)])} is no TLS version that is spoken: use {known}"
    )


def _none_but(known: tuple[str, ...]) -> Callable[[str], str]:
    def wrong(value: str) -> str:
        strange = [repr(item) for item in _items(value) if item not in known]
        return f"{listed(strange)} cannot be used: use one or more of {', '.join(known)}" if strange else ""

    return wrong


def _wrong_protocol(value: str) -> str:
    strange = [repr(item) for item in _items(value) if not _PROTOCOL.fullmatch(item)]
    return f"{listed(strange)} is no protocol name: use names such as h2, http/1.1" if strange else ""


def _wrong_mode(value: str) -> str:
    return "" if value == SKIP_HOSTNAME else f"{listed([repr(value)])} is no mode: use {SKIP_HOSTNAME}"


WRONG: MappingProxyType[str, Callable[[str], str]] = MappingProxyType({
    "min-tls-version": _wrong_version,
    "max-tls-version": _wrong_version,
    "cipher-suites": _none_but(CIPHER_SUITES),
    "curves": _none_but(CURVES),
    "alpn": _wrong_protocol,
    PUBLIC_KEY: lambda value: wrong_public_keys(_items(value)),
    CERTIFICATE: lambda value: wrong_certificates(_items(value)),
    MODE: _wrong_mode,
})  # fmt: skip


def _items(value: str | None) -> tuple[str, ...]:
    """Return what stands between the commas, each once."""
    return () if value is None else tuple(dict.fromkeys(item.strip() for item in value.split(",")))
