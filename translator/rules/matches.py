"""Which requests a rule takes, and which of several rules comes first."""

from collections.abc import Iterable

from msgspec import Struct

from translator.objects.grpc_route import GRPCRouteMatch
from translator.objects.http_route import HTTPRouteMatch
from translator.verdict import Refused


class PathExact(Struct, frozen=True):
    """Takes exactly this path."""

    path: str


class PathPrefix(Struct, frozen=True):
    """Takes this path and what lies below it, by whole elements: `/a` takes `/a` and `/a/b`, not `/ab`."""

    path: str


class PathPattern(Struct, frozen=True):
    """Takes paths that a regular expression matches as a whole."""

    regex: str


class HttpMatch(Struct, frozen=True):
    """One way in which a request can match: all parts must."""

    path: PathExact | PathPrefix | PathPattern
    headers: tuple[tuple[str, str], ...] = ()  # name and exact value
    grpc: bool = False  # only gRPC requests


Rank = tuple[int, ...]  # the greater comes first


def http_match(written: HTTPRouteMatch) -> HttpMatch | Refused:
    """Read one match of an HTTPRoute."""
    if written.method is not None:
        return _later("method: matching by method")
    if written.query_params:
        return _later("queryParams: matching by query parameter")
    headers = _headers((header.type, header.name, header.value) for header in written.headers)
    if isinstance(headers, Refused):
        return headers
    match written.path.type:
        case "Exact":
            return HttpMatch(PathExact(written.path.value), headers)
        case "PathPrefix":
            return HttpMatch(PathPrefix(written.path.value.rstrip("/") or "/"), headers)
        case _:
            return _later("path: matching by regular expression")


def grpc_match(written: GRPCRouteMatch) -> HttpMatch | Refused:
    """Read one match of a GRPCRoute: a service is a path's first element, a method its second."""
    headers = _headers((header.type, header.name, header.value) for header in written.headers)
    if isinstance(headers, Refused):
        return headers
    method = written.method
    if method is not None and method.type != "Exact":
        return _later("method: matching by regular expression")
    match (method.service if method else None, method.method if method else None):
        case (None | "", None | ""):
            return HttpMatch(PathPrefix("/"), headers, grpc=True)
        case (str(service), None | ""):
            return HttpMatch(PathPrefix(f"/{service}"), headers, grpc=True)
        case (None | "", str(name)):
            return HttpMatch(PathPattern(f"/[^/]+/{_quoted(name)}"), headers, grpc=True)
        case (service, name):
            return HttpMatch(PathExact(f"/{service}/{name}"), headers, grpc=True)


def http_rank(match: HttpMatch) -> Rank:
    """Rank by the specification of HTTPRoute: exact paths, then long prefixes, then many headers."""
    exact = isinstance(match.path, PathExact)
    length = len(match.path.path) if isinstance(match.path, PathExact | PathPrefix) else 0
    return (exact, length, len(match.headers))


def grpc_rank(match: HttpMatch) -> Rank:
    """Rank by the specification of GRPCRoute: long services, then long methods, then many headers."""
    return (*_method_length(match.path), len(match.headers))


def _method_length(path: PathExact | PathPrefix | PathPattern) -> tuple[int, int]:
    match path:
        case PathExact(exact):
            service, _, method = exact[1:].partition("/")
            return len(service), len(method)
        case PathPrefix(prefix):
            return len(prefix) - 1, 0
        case PathPattern(regex):
            return 0, len(regex)


def _headers(written: Iterable[tuple[str, str, str]]) -> tuple[tuple[str, str], ...] | Refused:
    """Read header matches: of several for one name, whatever its case, the first counts."""
    headers: dict[str, str] = {}
    for type_, name, value in written:
        if type_ != "Exact":
            return _later("headers: matching by regular expression")
        headers.setdefault(name.lower(), value)
    return tuple(sorted(headers.items()))


def _quoted(text: str) -> str:
    """Quote what a regular expression would read as its own."""
    return "".join(char if char.isalnum() or char == "_" else f"\\{char}" for char in text)


def _later(what: str) -> Refused:
    return Refused("UnsupportedValue", f"{what} is not supported yet")
