"""A service that an HTTPS listener asks by gRPC, before it looks at routes."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import grpc
import pytest
import pytest_asyncio
from envoy.service.auth.v3 import external_auth_pb2
from msgspec import Struct

from tests.handshakes.backends import Backend, Speech, http_backend
from tests.handshakes.clients import Security, get
from tests.handshakes.manifests import edge, endpoints, route, service, tls_listener, tls_secret
from tests.handshakes.rig import Rig, rigged
from tests.handshakes.shop import PUBLIC, TLS
from tests.loopback import LOOPBACK

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


@asynccontextmanager
async def deciding(asked: list[str]) -> AsyncIterator[int]:
    """Run a service that knows one host, and tells backends who asked."""

    async def check(request: bytes, _: grpc.aio.ServicerContext) -> bytes:
        host = external_auth_pb2.CheckRequest.FromString(request).attributes.request.http.host
        asked.append(host)
        answer = external_auth_pb2.CheckResponse()
        if host != HOST:
            answer.status.code = grpc.StatusCode.PERMISSION_DENIED.value[0]
            return bytes(answer.SerializeToString())
        answer.ok_response.headers.add(header={"key": "x-known", "value": "yes"})
        return bytes(answer.SerializeToString())

    class Everything(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
        def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(check)

    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Everything(),))
    port = server.add_insecure_port(f"{LOOPBACK}:0")
    await server.start()
    try:
        yield port
    finally:
        await server.stop(grace=None)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage() -> AsyncIterator[Stage]:
    asked: list[str] = []
    asks = {"protocol": "GRPC", "grpc": {}, "backendRef": {"name": "auth", "port": PLAIN}}
    filters = {"requests": [{"type": "ExternalAuth", "externalAuth": asks}]}
    known = {
        "matches": [{"headers": [{"name": "x-known", "value": "yes"}]}],
        "backendRefs": [{"name": "pay", "port": PLAIN}],
    }
    async with deciding(asked) as port, http_backend(Speech()) as backend, rigged() as rig:
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
