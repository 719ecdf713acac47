"""A service that an HTTPS listener asks by gRPC, before it looks at routes."""

import ssl
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, Speech, http_backend
from tests.handshakes.clients import Security, get
from tests.handshakes.deciders import knowing
from tests.handshakes.manifests import edge, endpoints, route, service, tls_listener, tls_secret
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import PUBLIC, TLS

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

HOST, STRANGE, PLAIN = "pay.test", "strange.test", 80


class Stage(Struct, frozen=True):
    """A listener that asks, and the one backend, for a header that nobody but the service gives."""

    rig: Rig
    asked: list[str]  # of which hosts
    backend: Backend

    async def visit(self, host: str) -> int | None:
        """Return what a request for a host is answered."""
        tls = Security(ssl.create_default_context(cadata=PUBLIC.pem), host)
        return await get(self.rig.place(TLS), host, tls)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    asked: list[str] = []
    asks = {"protocol": "GRPC", "grpc": {}, "backendRef": {"name": "auth", "port": PLAIN}}
    filters = {"requests": [{"type": "ExternalAuth", "externalAuth": asks}]}
    known = {
        "matches": [{"headers": [{"name": "x-known", "value": "yes"}]}],
        "backendRefs": [{"name": "pay", "port": PLAIN}],
    }
    async with knowing(HOST, asked) as port, http_backend(Speech()) as backend, rigged() as rig:
        rig.apply(
            edge(tls_listener("https", TLS, "edge", protocol="HTTPS", filters=filters)),
            tls_secret("edge", PUBLIC.issue(dns=[HOST, STRANGE])),
            service("auth", {PLAIN: None}),
            *endpoints("auth", PLAIN, port),
            service("pay", {PLAIN: None}),
            *endpoints("pay", PLAIN, backend.port),
            route("HTTPRoute", "pay", [], rules=[known]),
        )
        await rig.settled()
        yield Stage(rig, asked, backend)


async def test_a_route_may_wait_for_what_only_the_service_says(stage: Stage) -> None:
    assert await stage.visit(HOST) == HTTPStatus.OK
    assert stage.asked == [HOST]
    assert "x-known: yes" in stage.backend.told[-1]


async def test_who_is_denied_reaches_nobody(stage: Stage) -> None:
    told = len(stage.backend.told)
    assert await stage.visit(STRANGE) == HTTPStatus.FORBIDDEN
    assert len(stage.backend.told) == told
