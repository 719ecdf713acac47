"""What became of TLS handshakes with backends, as an Envoy counted them: the reason behind a 503."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

COUNTED = re.compile(r"cluster\.(.+)\.ssl\.(handshake|connection_error|fail_verify_\w+)")
WHY = MappingProxyType({
    "fail_verify_error": "not proved to the trusted roots",
    "fail_verify_san": "proves none of the names",
    "fail_verify_no_cert": "no certificate",
    "fail_verify_cert_hash": "not the pinned certificate",
})  # fmt: skip
OTHERWISE = "no agreement on TLS"


class Handshakes(Struct, frozen=True):
    """One backend's: how many succeeded, and how many failed for which reason."""

    backend: str
    done: int
    failed: Mapping[str, int]


def counted(counters: Mapping[str, int], backends: Iterable[str]) -> tuple[Handshakes, ...]:
    """Read Envoy's counters; it writes a cluster's name with `_` in the place of `:`."""
    named = {backend.replace(":", "_"): backend for backend in backends}
    found: dict[str, dict[str, int]] = {}
    for counter, number in counters.items():
        match = COUNTED.fullmatch(counter)
        if match is not None and match[1] in named and number:
            found.setdefault(named[match[1]], {})[match[2]] = number
    return tuple(_read(backend, numbers) for backend, numbers in sorted(found.items()))


def _read(backend: str, numbers: Mapping[str, int]) -> Handshakes:
    known = {why: numbers[counter] for counter, why in WHY.items() if counter in numbers}
    other = numbers.get("connection_error", 0) - sum(known.values())
    failed = known | ({OTHERWISE: other} if other > 0 else {})
    return Handshakes(backend, numbers.get("handshake", 0), failed)
