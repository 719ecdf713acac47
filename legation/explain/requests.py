"""A request as a client would send it, and what of it a match does not take."""

import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import normpath
from urllib.parse import parse_qsl, urlsplit

import re2
from msgspec import Struct

from legation.explain.explanation import Unknown
from legation.in_words import matched
from translator.rules.matches import HttpMatch, Named, PathExact, PathPattern, PathPrefix, plain

PORTS = {"http": 80, "https": 443}
SLASHES = re.compile("/+")
GRPC = "application/grpc"


class Request(Struct, frozen=True):
    """One request, read as Envoys read it: dots and double slashes are gone from its path."""

    method: str
    scheme: str
    server: str  # whom a client connects to, and asks for by TLS
    port: int
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def host(self) -> str:
        """The name that routes are chosen by: a client may send another one than it connects to."""
        sent = self.headers.get("host", "")
        return sent.partition(":")[0].lower() or self.server

    def __str__(self) -> str:
        """Name it in a line."""
        query = "&".join(f"{name}={value}" for name, value in self.query.items())
        by = f" as {self.host}" if self.host != self.server else ""
        default = PORTS[self.scheme] == self.port
        server = f"[{self.server}]" if ":" in self.server else self.server
        return (
            f"{self.method} {self.scheme}://{server}{'' if default else f':{self.port}'}{self.path}"
            f"{'?' if query else ''}{query}{by}"
        )


def read_request(url: str, method: str = "GET", headers: Sequence[str] = ()) -> Request | Unknown:
    """Read a URL, a method and headers as `curl` takes them."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError as error:
        return Unknown(f"{url} is no URL: {error}")
    if parts.scheme not in PORTS or not parts.hostname:
        return Unknown(f"{url} is no URL of http or https, such as https://shop.example/cart")
    sent: dict[str, str] = {}
    for each in headers:
        name, colon, value = each.partition(":")
        if not colon or not name.strip():
            return Unknown(f"header {each!r} has no name; write it as in -H 'Accept: text/html'")
        sent[name.strip().lower()] = value.strip()
    query = dict(reversed(parse_qsl(parts.query, keep_blank_values=True)))  # the first of a name counts
    return Request(method.upper(), parts.scheme, parts.hostname, port, _path(parts.path), query, sent)


def why_not(match: HttpMatch, request: Request) -> str:
    """Say what a match wants that a request has not; nothing, if it takes it."""
    lacks = ", ".join(_lacking(match, request))
    return f"{matched(match)} wants {lacks}" if lacks else ""


def _path(written: str) -> str:
    """Read a path as Envoys do: dots and double slashes are resolved, a slash at the end stays."""
    path = SLASHES.sub("/", plain(written)) or "/"
    ends = "/" if path.endswith(("/", "/.", "/..")) else ""
    return f"{normpath(path).rstrip('/')}{ends}" or "/"


def _lacking(match: HttpMatch, request: Request) -> Iterator[str]:
    if not _takes_path(match.path, request.path):
        yield "another path"
    if match.method is not None and match.method != request.method:
        yield f"method {match.method}"
    if match.grpc and not request.headers.get("content-type", "").startswith(GRPC):
        yield f"gRPC: content-type {GRPC}"
    yield from (f"header {_wanted(each)}" for each in match.headers if not _has(each, request.headers))
    yield from (f"parameter {_wanted(each)}" for each in match.query if not _has(each, request.query))


def _takes_path(wanted: PathExact | PathPrefix | PathPattern, path: str) -> bool:
    match wanted:
        case PathExact(exact):
            return path == exact
        case PathPrefix(prefix):
            return path == prefix or path.startswith(f"{prefix.rstrip('/')}/")
        case PathPattern(regex):
            return re2.fullmatch(regex, path) is not None


def _has(wanted: Named, given: Mapping[str, str]) -> bool:
    value = given.get(wanted.name)
    if value is None:
        return False
    return re2.fullmatch(wanted.value, value) is not None if wanted.is_pattern else value == wanted.value


def _wanted(each: Named) -> str:
    return f"{each.name} {'like' if each.is_pattern else '='} {each.value}"
