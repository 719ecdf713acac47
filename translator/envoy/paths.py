"""New paths in Envoy's terms: the matches that together are a match, and what each of them replaces."""

from collections.abc import Iterator
from typing import NamedTuple

from envoy.config.route.v3 import route_components_pb2

from translator.rules.paths import FullPath, NewPrefix

# Whatever the path was; the query is no part of what Envoy matches here.
ANY_PATH = "^/.*$"


class Way(NamedTuple):
    """A route for a match, or for a part of it, and what takes the place of the prefix that it matches."""

    route: route_components_pb2.Route
    prefix: str = ""


def ways(route: route_components_pb2.Route, path: FullPath | NewPrefix | None) -> Iterator[Way]:
    """Split a route where a prefix is taken away: what is left must begin with one slash, not with two."""
    below = route.match.path_separated_prefix
    match path:
        case None | FullPath():
            yield Way(route)
        case NewPrefix(prefix) if not below:  # the root: its slash stands between the two
            yield Way(route, f"{prefix}/")
        case NewPrefix(""):
            itself = route_components_pb2.Route()
            itself.CopyFrom(route)
            itself.match.path = below
            yield Way(itself, "/")
            route.match.prefix = f"{below}/"
            yield Way(route, "/")
        case NewPrefix(prefix):
            yield Way(route, prefix)
