"""Matches in Envoy's terms."""

from envoy.config.route.v3 import route_components_pb2
from envoy.type.matcher.v3 import string_pb2

from translator.rules.matches import HttpMatch, Named, PathExact, PathPattern, PathPrefix


def route_match(wanted: HttpMatch) -> route_components_pb2.RouteMatch:
    """Build what a request must have."""
    built = _path(wanted.path)
    if wanted.method is not None:
        built.headers.add(name=":method").string_match.exact = wanted.method
    for header in wanted.headers:
        built.headers.add(name=header.name, string_match=_says(header))
    for parameter in wanted.query:
        built.query_parameters.add(name=parameter.name, string_match=_says(parameter))
    if wanted.grpc:
        built.grpc.SetInParent()
    return built


def _path(wanted: PathExact | PathPrefix | PathPattern) -> route_components_pb2.RouteMatch:
    match wanted:
        case PathExact(path):
            return route_components_pb2.RouteMatch(path=path)
        case PathPrefix(path) if below := path.rstrip("/"):
            return route_components_pb2.RouteMatch(path_separated_prefix=below)
        case PathPrefix():
            return route_components_pb2.RouteMatch(prefix="/")
        case PathPattern(regex):
            return route_components_pb2.RouteMatch(safe_regex={"regex": regex})


def _says(wanted: Named) -> string_pb2.StringMatcher:
    if wanted.is_pattern:
        return string_pb2.StringMatcher(safe_regex={"regex": wanted.value})
    return string_pb2.StringMatcher(exact=wanted.value)
