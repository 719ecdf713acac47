"""CORS: what browsers are told about pages of other origins, in every answer and before some requests."""

import re2
from msgspec import Struct

from translator.objects.http_route import HTTPCORSFilter
from translator.rules.patterns import fault
from translator.verdict import Refused

ALL = "*"
PORTS = {"http": 80, "https": 443}
ANY_HOST = r"(?:[^/:\[\]]+|\[[^/\]]+\])"


class Origin(Struct, frozen=True):
    """An origin that may, in small or in capital letters: exactly this, or what a pattern matches."""

    text: str
    is_pattern: bool = False


class Cors(Struct, frozen=True):
    """What a browser is told; empty fields are not mentioned to it."""

    origins: tuple[Origin, ...]
    credentials: bool
    methods: tuple[str, ...]  # all where it is `*`, and then the one that is asked for is named
    headers: tuple[str, ...]  # the same
    exposed: tuple[str, ...]
    max_age: int  # seconds


def cors(written: HTTPCORSFilter) -> Cors | Refused:
    """Read a filter; with credentials `*` would name one header of that name, so it is left out of those."""
    found = [_origins(origin) for origin in written.allow_origins]
    wrong = next((each for each in found if isinstance(each, Refused)), None)
    if wrong is not None:
        return wrong
    shown = written.expose_headers
    return Cors(
        origins=tuple(each for both in found if not isinstance(both, Refused) for each in both),
        credentials=written.allow_credentials,
        methods=written.allow_methods,
        headers=written.allow_headers,
        exposed=tuple(each for each in shown if each != ALL) if written.allow_credentials else shown,
        max_age=written.max_age,
    )


def _origins(written: str) -> tuple[Origin, ...] | Refused:
    """Read one origin: a port that its scheme implies may be written or not, by either side."""
    if written == ALL:
        return (Origin(".*", is_pattern=True),)
    scheme, _, place = written.partition("://")
    host, _, port = place.partition(":")
    implied = PORTS.get(scheme)
    number = int(port) if port else implied
    ends = ("", f":{number}") if number == implied else (f":{number}",)
    if not host.startswith(ALL):
        return tuple(Origin(f"{scheme}://{host}{end}") for end in ends)
    hosts = f"[^/:]+{re2.escape(host.removeprefix(ALL))}" if host != ALL else ANY_HOST
    pattern = f"(?i){scheme}://{hosts}(?:{'|'.join(ends)})"
    if (wrong := fault(pattern)) is not None:
        return Refused("UnsupportedValue", f"filters: CORS: {written} {wrong}")
    return (Origin(pattern, is_pattern=True),)
