"""A shop with routes to one Service that speaks TLS: what most tests here change something of."""

import ssl
from collections.abc import Mapping
from http import HTTPStatus

from tests.handshakes.cases import AUTHORITIES, trusting
from tests.handshakes.clients import get, send
from tests.handshakes.manifests import (
    Json,
    edge,
    endpoints,
    http_listener,
    policy,
    route,
    service,
    tls_listener,
    tls_secret,
)
from tests.handshakes.rig import Rig
from tests.pki import Authority

HTTP, TLS = 18080, 18443
HTTPS = 443
OPEN, SHUT = HTTPStatus.OK, HTTPStatus.SERVICE_UNAVAILABLE
PUBLIC = Authority("public")


def gateway() -> list[Json]:
    """Return a Gateway with cleartext and TLS before it, and roots of all sorts behind it."""
    listeners = (http_listener(HTTP), tls_listener("tls", TLS, "edge"))
    return [edge(*listeners), tls_secret("edge", PUBLIC.issue(dns=["pay.test"])), *AUTHORITIES]


def encrypted(name: str, *ports: int, options: Mapping[str, str] | None = None) -> list[Json]:
    """Return a Service that must be spoken to with TLS, and the policy that says so."""
    served = [service(name, {HTTPS: "https"}), *endpoints(name, HTTPS, *ports)]
    return [*served, policy(name, trusting("root"), options)]


def routed(name: str, *services: str, kind: str = "HTTPRoute") -> Json:
    """Return a route for the name's own host."""
    return route(kind, name, [(each, HTTPS) for each in services], hostnames=[f"{name}.test"])


async def visit(rig: Rig, name: str) -> int | None:
    """Return what a request for a name's host is answered."""
    return await get(rig.place(HTTP), f"{name}.test")


class Visitor:
    """Somebody who comes again and again, by one kind of route."""

    def __init__(self, rig: Rig, kind: str) -> None:
        """Believe the Gateway's own certificate."""
        self._place = rig.place(TLS if kind == "TLSRoute" else HTTP)
        self._kind = kind
        self._roots = ssl.create_default_context(cadata=PUBLIC.pem)

    async def come(self) -> int | None:
        """Return what a request for the first name is answered."""
        return await send(self._kind, self._place, "pay.test", self._roots)
