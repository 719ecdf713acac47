"""Redirects: which port a Location shows, and which it leaves to be understood."""

from collections.abc import Iterable

from envoy.config.route.v3 import route_components_pb2

from translator.envoy.paths import ways
from translator.rules.filters import Redirect
from translator.rules.paths import FullPath
from translator.rules.tables import Table

KNOWN_PORTS = frozenset({("http", 80), ("https", 443)})
RESPONSE_CODES = (
    (301, "MOVED_PERMANENTLY"),
    (302, "FOUND"),
    (303, "SEE_OTHER"),
    (307, "TEMPORARY_REDIRECT"),
    (308, "PERMANENT_REDIRECT"),
)
WITH_PORT = ".*:[0-9]+"


def redirects(
    route: route_components_pb2.Route, redirect: Redirect, table: Table, hostname: str
) -> Iterable[route_components_pb2.Route]:
    """Complete a route that redirects; where the port cannot always be left out, one before it shows it.

    Envoy keeps the port that a client wrote behind the name unless it is told another one.  Where the new
    URL's port goes without saying, a client that wrote a port is therefore sent there by number.
    """
    for each, prefix in ways(route, redirect.path):
        if isinstance(redirect.path, FullPath):
            each.redirect.path_redirect = redirect.path.path
        elif prefix:
            each.redirect.prefix_rewrite = prefix
        yield from _redirects(each, redirect, table, hostname)


def _redirects(
    route: route_components_pb2.Route, redirect: Redirect, table: Table, hostname: str
) -> Iterable[route_components_pb2.Route]:
    scheme = redirect.scheme or ("https" if table.hostname else "http")
    port = _port(redirect, table)
    host = redirect.hostname or ("" if "*" in hostname else hostname)
    route.redirect.response_code = dict(RESPONSE_CODES)[redirect.status]
    route.redirect.scheme_redirect = redirect.scheme or ""
    route.redirect.host_redirect = host
    if (scheme, port) not in KNOWN_PORTS:
        route.redirect.port_redirect = port
    elif not host:
        shown = route_components_pb2.Route()
        shown.CopyFrom(route)
        shown.match.headers.add(name=":authority", string_match={"safe_regex": {"regex": WITH_PORT}})
        shown.redirect.port_redirect = port
        yield shown
    yield route


def _port(redirect: Redirect, table: Table) -> int:
    """Return the port of the new URL: the one asked for, or the scheme's own, or the listener's."""
    if redirect.port:
        return redirect.port
    known = dict(KNOWN_PORTS)
    return known.get(redirect.scheme or "", table.port)
