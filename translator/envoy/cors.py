"""CORS in Envoy's terms: preflights are answered here, whether they may or not, and reach no backend."""

from collections.abc import Iterator

from envoy.config.route.v3 import route_components_pb2
from envoy.extensions.filters.http.cors.v3 import cors_pb2
from msgspec import structs

from translator.envoy.encode import packed
from translator.rules.cors import ALL, Cors

CORS = "envoy.filters.http.cors"
METHOD, PREFLIGHT = ":method", "OPTIONS"

# What a backend says of its own would let in whom the route does not.
THE_ROUTE_DECIDES = tuple(
    f"access-control-{each}"
    for each in (
        "allow-credentials",
        "allow-headers",
        "allow-methods",
        "allow-origin",
        "expose-headers",
        "max-age",
    )
)


def answering(route: route_components_pb2.Route, cors: Cors | None) -> Iterator[route_components_pb2.Route]:
    """Have a route tell browsers what pages of other origins may do."""
    if cors is None:
        yield route
        return
    route.response_headers_to_remove.extend(THE_ROUTE_DECIDES)
    route.response_headers_to_add.add(header={"key": "vary", "value": "origin"})
    for each in (*_preflights(route), route):
        yield from _told(each, cors)


def _preflights(route: route_components_pb2.Route) -> Iterator[route_components_pb2.Route]:
    """Build what takes the preflights for a method, where a route takes requests by that method alone."""
    before = route_components_pb2.Route()
    before.CopyFrom(route)
    for header in route.match.headers:
        if header.name == METHOD and header.string_match.exact != PREFLIGHT:
            before.match.headers.remove(header)
            before.match.headers.add(name=METHOD).string_match.exact = PREFLIGHT
            asked = before.match.headers.add(name="access-control-request-method")
            asked.string_match.exact = header.string_match.exact
            before.match.headers.add(name="origin", present_match=True)
            yield before


def _told(route: route_components_pb2.Route, cors: Cors) -> Iterator[route_components_pb2.Route]:
    """Build what tells it: Envoy would name an empty header where all may be sent and none is asked for."""
    if ALL in cors.headers:
        silent = route_components_pb2.Route()
        silent.CopyFrom(route)
        silent.match.headers.add(name=METHOD).string_match.exact = PREFLIGHT
        silent.match.headers.add(name="access-control-request-headers", present_match=False)
        yield _with(silent, structs.replace(cors, headers=()))
    yield _with(route, cors)


def _with(route: route_components_pb2.Route, cors: Cors) -> route_components_pb2.Route:
    route.typed_per_filter_config[CORS].CopyFrom(packed(_policy(cors)))
    return route


def _policy(cors: Cors) -> cors_pb2.CorsPolicy:
    built = cors_pb2.CorsPolicy(
        allow_methods=", ".join(cors.methods),
        allow_headers=", ".join(cors.headers),
        expose_headers=", ".join(cors.exposed),
        max_age=str(cors.max_age),
        allow_credentials={"value": cors.credentials},
        forward_not_matching_preflights={"value": False},
    )
    for origin in cors.origins:
        allowed = built.allow_origin_string_match.add()
        if origin.is_pattern:
            allowed.safe_regex.regex = origin.text
        else:
            allowed.exact = origin.text
            allowed.ignore_case = True
    return built
