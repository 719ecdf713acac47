"""Which requests a rule takes, and which of several rules comes first."""

import re
from collections.abc import Iterable, Sequence

import re2
from msgspec import Struct

from translator.objects.grpc_route import GRPCMethodMatch, GRPCRouteMatch
from translator.objects.http_route import METHODS, PATH_TYPES, HTTPPathMatch, HTTPRouteMatch
from translator.objects.scalars import HEADER_NAME
from translator.rules.patterns import fault
from translator.verdict import Refused, listed

TYPES = ("Exact", "RegularExpression")
ANY_NAME = "[^/]+"  # any service, or any method of gRPC
NO_PATH = re.compile(r"[?#]|^(?!/)")  # what shows that no request has such a path
UNRESERVED = re.compile(r"%(2[DdEe]|3\d|4[1-9A-Fa-f]|5[\dAaFf]|6[1-9A-Fa-f]|7[\dAaEe])")  # escaped in vain
NO_NAME = re.compile(r"[/?#]")  # the same of a service or a method


class PathExact(Struct, frozen=True):
    """Takes exactly this path."""

    path: str


class PathPrefix(Struct, frozen=True):
    """Takes this path and what lies below it, by whole elements: `/a` takes `/a` and `/a/b`, not `/ab`."""

    path: str


class PathPattern(Struct, frozen=True):
    """Takes paths that a regular expression matches as a whole."""

    regex: str
    lengths: tuple[int, int] = (0, 0)  # of the service and the method of gRPC that it was made of


class Named(Struct, frozen=True):
    """What a header or a query parameter must say: exactly this, or what a pattern matches as a whole."""

    name: str
    value: str
    is_pattern: bool = False


class HttpMatch(Struct, frozen=True):
    """One way in which a request can match: all parts must."""

    path: PathExact | PathPrefix | PathPattern
    headers: tuple[Named, ...] = ()
    query: tuple[Named, ...] = ()
    method: str | None = None
    grpc: bool = False  # only gRPC requests


Rank = tuple[int, ...]  # the greater comes first


def http_match(written: HTTPRouteMatch) -> HttpMatch | Refused:
    """Read one match of an HTTPRoute."""
    if written.method == "CONNECT":
        return Refused("UnsupportedValue", "matches: CONNECT asks for an authority and has no path to match")
    if written.method is not None and written.method not in METHODS:
        return Refused("UnsupportedValue", f"matches: method {listed([written.method])} is not known")
    types = [*[each.type for each in written.headers], *[each.type for each in written.query_params]]
    if unknown := _unknown_type(written.path.type, PATH_TYPES, types):
        return unknown
    if written.path.type != "RegularExpression" and NO_PATH.search(written.path.value):
        wrong = f"matches: path {listed([written.path.value]) or '``'} must begin with / and have no ? or #"
        return Refused("UnsupportedValue", f"{wrong}; a query is matched by queryParams")
    found = HttpMatch(
        path=_path(written.path),
        headers=_named([(each.type, each.name.lower(), each.value) for each in written.headers]),
        query=_named([(each.type, each.name, each.value) for each in written.query_params]),
        method=written.method,
    )
    return _wrong_name(found) or _wrong_pattern(found) or found


def grpc_match(written: GRPCRouteMatch) -> HttpMatch | Refused:
    """Read one match of a GRPCRoute: a service is a path's first element, a method its second."""
    method = written.method or GRPCMethodMatch()
    names = (method.service or "", method.method or "")
    if unknown := _unknown_type(method.type, TYPES, [each.type for each in written.headers]):
        return unknown
    if method.type == "RegularExpression" and (wrong := _wrong_patterns(filter(None, names))) is not None:
        return wrong
    if method.type != "RegularExpression" and (odd := [each for each in names if NO_NAME.search(each)]):
        return Refused("UnsupportedValue", f"matches: method {listed(odd)} must have no /, ? or # in it")
    found = HttpMatch(
        path=_method(method),
        headers=_named([(each.type, each.name.lower(), each.value) for each in written.headers]),
        grpc=True,
    )
    return _wrong_name(found) or _wrong_pattern(found) or found


def http_rank(match: HttpMatch) -> Rank:
    """Rank as HTTPRoute is specified, patterns between exact paths and prefixes."""
    return (*_precision(match.path), match.method is not None, len(match.headers), len(match.query))


def grpc_rank(match: HttpMatch) -> Rank:
    """Rank as GRPCRoute is specified: long services, then long methods, then many headers."""
    return (*_lengths(match.path), len(match.headers))


def _precision(path: PathExact | PathPrefix | PathPattern) -> tuple[int, int]:
    match path:
        case PathExact(exact):
            return 2, len(exact)
        case PathPattern(regex):
            return 1, len(regex)
        case PathPrefix(prefix):
            return 0, len(prefix)


def _lengths(path: PathExact | PathPrefix | PathPattern) -> tuple[int, int]:
    """Return how long a service and a method are; what any name stands for counts as nothing."""
    match path:
        case PathPattern(lengths=found):
            return found
        case PathExact(path=text) | PathPrefix(path=text):
            service, _, method = text[1:].partition("/")
            return len(service), len(method)


def plain(path: str) -> str:
    """Write a path as Envoy does before it compares: nothing is escaped in it that need not be."""
    return UNRESERVED.sub(lambda escaped: chr(int(escaped[1], 16)), path)


def _path(written: HTTPPathMatch) -> PathExact | PathPrefix | PathPattern:
    match written.type:
        case "Exact":
            return PathExact(plain(written.value))
        case "RegularExpression":
            return PathPattern(written.value)
        case _:  # no type but this is left
            return PathPrefix(plain(written.value).rstrip("/") or "/")


def _method(written: GRPCMethodMatch) -> PathExact | PathPrefix | PathPattern:
    if written.type == "RegularExpression":
        names = (written.service or "", written.method or "")
        service, method = (f"(?:{each})" if each else ANY_NAME for each in names)
        return PathPattern(f"/{service}/{method}", (len(names[0]), len(names[1])))
    match (written.service or "", written.method or ""):
        case ("", ""):
            return PathPrefix("/")
        case (service, ""):
            return PathPrefix(f"/{service}")
        case ("", method):
            return PathPattern(f"/{ANY_NAME}/{re2.escape(method)}", (0, len(method)))
        case (service, method):
            return PathExact(f"/{service}/{method}")


def _named(written: Sequence[tuple[str, str, str]]) -> tuple[Named, ...]:
    """Read what headers or parameters must say: of several for one name, the first counts."""
    if not written:
        return ()
    found: dict[str, Named] = {}
    for kind, name, value in written:
        found.setdefault(name, Named(name, value, kind == "RegularExpression"))
    return tuple(each for _, each in sorted(found.items()))


def _unknown_type(written: str, known: tuple[str, ...], others: Sequence[str]) -> Refused | None:
    """Refuse a type that later CRDs may let in: read as another one, it would take requests of others."""
    unknown = [*([] if written in known else [written]), *[each for each in others if each not in TYPES]]
    return Refused("UnsupportedValue", f"matches: type {listed(unknown)} is not known") if unknown else None


def _wrong_name(match: HttpMatch) -> Refused | None:
    """Refuse a name that no header and no parameter has: Envoy refuses a whole table for an empty one."""
    for each in (*match.headers, *match.query):
        if not HEADER_NAME.fullmatch(each.name):
            wrong = listed([each.name]) or "``"
            return Refused("UnsupportedValue", f"matches: {wrong} is not the name of a header or a parameter")
    return None


def _wrong_pattern(match: HttpMatch) -> Refused | None:
    """Refuse a regular expression that Envoy could not take, before it refuses the whole table for it."""
    patterns = [each.value for each in (*match.headers, *match.query) if each.is_pattern]
    if isinstance(match.path, PathPattern):
        patterns.append(match.path.regex)
    return _wrong_patterns(patterns)


def _wrong_patterns(patterns: Iterable[str]) -> Refused | None:
    for pattern in patterns:
        if (wrong := fault(pattern)) is not None:
            return Refused("UnsupportedValue", f"regular expression {listed([pattern]) or '``'} {wrong}")
    return None
