"""A shop with one HTTP route to one Service that speaks TLS: what most tests here change something of."""

from collections.abc import Mapping
from http import HTTPStatus

from tests.handshakes.cases import AUTHORITIES, trusting
from tests.handshakes.clients import get
from tests.handshakes.manifests import Json, edge, endpoints, http_listener, policy, route, service
from tests.handshakes.rig import Rig

HTTP = 18080
HTTPS = 443
OPEN, SHUT = HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE


def gateway() -> list[Json]:
    """Return a Gateway in cleartext, and roots of all sorts."""
    return [edge(http_listener(HTTP)), *AUTHORITIES]


def encrypted(name: str, *ports: int, options: Mapping[str, str] | None = None) -> list[Json]:
    """Return a Service that must be spoken to with TLS, and the policy that says so."""
    served = [service(name, {HTTPS: "https"}), *endpoints(name, HTTPS, *ports)]
    return [*served, policy(name, trusting("root"), options)]


def routed(name: str, *services: str) -> Json:
    """Return an HTTPRoute for the name's own host."""
    return route("HTTPRoute", name, [(each, HTTPS) for each in services], hostnames=[f"{name}.test"])


async def visit(rig: Rig, name: str) -> int | None:
    """Return what a request for a name's host is answered."""
    return await get(rig.place(HTTP), f"{name}.test")
