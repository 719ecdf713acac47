"""Containers are asked how they are in every way that Kubernetes knows."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
import grpc
import pytest
from aiohttp import web

from e2e.cluster.kubelet import probes
from e2e.cluster.kubelet.containment import Contained
from e2e.cluster.kubelet.objects.containers import Container, ContainerPort
from e2e.cluster.kubelet.objects.probes import GrpcCheck, HttpGet, HttpHeader, Probe, TcpSocket
from e2e.cluster.kubelet.probes import Asked

HOST = "127.0.0.1"
PATIENCE = 30  # seconds; an answer is wanted, however slow the machine
SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


@pytest.fixture
async def web_port() -> AsyncIterator[int]:
    """A server that is well when it is asked politely."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers.get("X-Please") == "yes" else 503)

    application = web.Application()
    application.router.add_get("/health", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    yield runner.addresses[0][1]
    await runner.cleanup()


@pytest.fixture
async def health_port() -> AsyncIterator[int]:
    """A gRPC server whose service `good` is well, and no other."""

    async def check(request: bytes, _: grpc.aio.ServicerContext) -> bytes:
        return SERVING if request == b"\x0a\x04good" else NOT_SERVING

    handler = grpc.unary_unary_rpc_method_handler(check)
    server = grpc.aio.server()
    service = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port(f"{HOST}:0")
    await server.start()
    yield port
    await server.stop(None)


@pytest.fixture
async def contained() -> AsyncIterator[Contained]:
    """A process that stands for a container."""
    process = await asyncio.create_subprocess_exec("sleep", "600")
    yield Contained(process, process.pid)
    process.kill()
    await process.wait()


async def well(contained: Contained, probe: Probe, *ports: ContainerPort) -> bool:
    """Ask once."""
    async with aiohttp.ClientSession() as session:
        asked = Asked(Container(name="main", image="any", ports=ports), contained, HOST, session)
        return await probes.check(asked, probe)


async def test_a_request_has_the_headers_that_the_probe_says(contained: Contained, web_port: int) -> None:
    polite = HttpGet(port=web_port, path="/health", http_headers=(HttpHeader("X-Please", "yes"),))
    assert await well(contained, Probe(http_get=polite, timeout_seconds=PATIENCE))
    assert not await well(contained, Probe(http_get=HttpGet(port=web_port, path="/health")))


async def test_a_port_may_be_named(contained: Contained, web_port: int) -> None:
    probe = Probe(tcp_socket=TcpSocket(port="web"), timeout_seconds=PATIENCE)
    assert await well(contained, probe, ContainerPort(web_port, "web"))
    assert not await well(contained, probe)


async def test_a_grpc_service_says_how_it_is(contained: Contained, health_port: int) -> None:
    assert await well(contained, Probe(grpc=GrpcCheck(health_port, "good"), timeout_seconds=PATIENCE))
    assert not await well(contained, Probe(grpc=GrpcCheck(health_port)))


async def test_who_does_not_answer_is_not_well(contained: Contained, web_port: int, health_port: int) -> None:
    assert not await well(contained, Probe(http_get=HttpGet(port=health_port)))
    assert not await well(contained, Probe(grpc=GrpcCheck(web_port)))


async def test_only_as_many_answers_as_the_threshold_says_settle_anything(contained: Contained) -> None:
    """Nobody listens, so every answer is a bad one."""
    told: list[bool] = []

    def settles(answer: bool) -> bool:  # noqa: FBT001  an answer
        told.append(answer)
        return len(told) == 2

    probe = Probe(tcp_socket=TcpSocket(port=1), failure_threshold=3)
    async with aiohttp.ClientSession() as session:
        asked = Asked(Container(name="main", image="any"), contained, HOST, session)
        assert not await probes.repeat(asked, probe, settles, period=0)
    assert told == [False, False]
