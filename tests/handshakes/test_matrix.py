"""Each certificate against each policy, through each kind of route: told something only if proved."""

import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec import Struct

from tests.handshakes.backends import Backend, grpc_backend, http_backend, speaks
from tests.handshakes.cases import AUTHORITIES, CASES, SYSTEM, Case
from tests.handshakes.clients import send
from tests.handshakes.manifests import (
    Json,
    edge,
    endpoints,
    http_listener,
    policy,
    route,
    service,
    tcp_listener,
    tls_listener,
    tls_secret,
)
from tests.handshakes.rig import Channel, Rig, rigged
from tests.pki import Authority

pytestmark = [pytest.mark.envoy, pytest.mark.asyncio(loop_scope="module")]

HTTP, TLS, FIRST_TCP = 18080, 18443, 19000
HTTPS, GRPC = 443, 8443
KINDS = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute")
TCP_PORTS = {name: FIRST_TCP + number for number, name in enumerate(CASES)}
NATURAL_ALPN = {"HTTPRoute": ("http/1.1",), "GRPCRoute": ("h2",), "TLSRoute": (), "TCPRoute": ()}


class Stage(Struct, frozen=True):
    """Every case at once: its backends, and the one Envoy before them."""

    rig: Rig
    http: dict[str, Backend]
    grpc: dict[str, Backend]
    clients: ssl.SSLContext

    def backend(self, kind: str, name: str) -> Backend:
        """Return who is at the other end of a route."""
        return self.grpc[name] if kind == "GRPCRoute" else self.http[name]

    async def ask(self, kind: str, name: str) -> int | None:
        """Send one request through a route, as that kind of route carries it."""
        port = {"TLSRoute": TLS, "TCPRoute": TCP_PORTS[name]}.get(kind, HTTP)
        return await send(kind, self.rig.place(port), hostname(kind, name), self.clients)


def hostname(kind: str, name: str) -> str:
    """Return the name that a client asks for."""
    return f"{name}.{kind.lower()}.test"


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("machine") / "roots.pem"
    path.write_text(SYSTEM.pem)
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(roots: Path) -> AsyncIterator[Stage]:
    public = Authority("public")
    async with AsyncExitStack() as stack:
        http = {
            name: await stack.enter_async_context(http_backend(speaks(case.shows)))
            for name, case in CASES.items()
        }
        grpc = {
            name: await stack.enter_async_context(grpc_backend(case.shows)) for name, case in CASES.items()
        }
        rig = await stack.enter_async_context(rigged(Channel(system_roots=roots)))
        rig.apply(
            edge(
                http_listener(HTTP),
                tls_listener("tls", TLS, "edge"),
                *(tcp_listener(port) for port in TCP_PORTS.values()),
            ),
            tls_secret("edge", public.issue(dns=["*.tlsroute.test"])),
            *AUTHORITIES,
            *(
                each
                for name, case in CASES.items()
                for each in manifests(name, case, http[name].port, grpc[name].port)
            ),
        )
        await rig.settled()
        yield Stage(rig, http, grpc, ssl.create_default_context(cadata=public.pem))


def manifests(name: str, case: Case, http: int, grpc: int) -> list[Json]:
    """Return a case's Service, its policy and a route of each kind."""
    routes = [
        route(kind, name, [(name, HTTPS)], hostnames=[hostname(kind, name)])
        for kind in ("HTTPRoute", "TLSRoute")
    ]
    return [
        service(name, {HTTPS: "https", GRPC: "kubernetes.io/h2c"}),
        *endpoints(name, HTTPS, http),
        *endpoints(name, GRPC, grpc),
        policy(name, case.validation, case.options),
        *routes,
        route("GRPCRoute", name, [(name, GRPC)], hostnames=[hostname("GRPCRoute", name)]),
        route(
            "TCPRoute",
            name,
            [(name, HTTPS)],
            parentRefs=[{"name": "edge", "sectionName": f"tcp-{TCP_PORTS[name]}"}],
        ),
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", CASES)
async def test_a_backend_is_told_something_only_after_its_proof(stage: Stage, name: str, kind: str) -> None:
    case, backend = CASES[name], stage.backend(kind, name)
    greeted, told = len(backend.tap.hellos), len(backend.told)
    answer = await stage.ask(kind, name)
    hellos = backend.tap.hellos[greeted:]
    if case.reached:
        assert answer == HTTPStatus.OK
        assert len(backend.told) == told + 1
    else:
        carries_http = kind in ("HTTPRoute", "GRPCRoute")
        assert answer == (HTTPStatus.SERVICE_UNAVAILABLE if carries_http else None)
        assert len(backend.told) == told
    assert bool(hellos) is case.tried
    assert {hello.server_name for hello in hellos} <= {case.server_name}
    assert {hello.alpn for hello in hellos} <= {NATURAL_ALPN[kind]}
    assert {hello.versions[-2:] for hello in hellos} <= {(0x0304, 0x0303)}
    assert not any(hello.resumes for hello in hellos)
    assert backend.tap.cleartext == b""


async def test_exactly_the_accepted_policies_lead_to_a_connection(stage: Stage) -> None:
    accepted = {name for name in CASES if stage.rig.accepts(name)}
    assert accepted == {name for name, case in CASES.items() if case.tried}
