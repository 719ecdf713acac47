"""Asks a container how it is, in the ways that Kubernetes knows."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import aiohttp
import grpc

from e2e.cluster.kubelet.containment import Contained
from e2e.cluster.kubelet.objects.containers import Container
from e2e.cluster.kubelet.objects.probes import GrpcCheck, HttpGet, Probe, TcpSocket

USER_AGENT = "kube-probe/1.36"
HEALTH_CHECK = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"
WELL = range(200, 400)


class Asked(NamedTuple):
    """Whom a probe asks."""

    container: Container
    running: Contained
    address: str
    session: aiohttp.ClientSession


async def repeat(asked: Asked, probe: Probe, settles: Callable[[bool], bool], period: float) -> bool:
    """Ask until an answer that has reached its threshold settles the matter, and return it."""
    await asyncio.sleep(probe.initial_delay_seconds)
    last, times = False, 0
    while True:
        well = await check(asked, probe)
        last, times = well, times + 1 if well == last else 1
        if times >= (probe.success_threshold if well else probe.failure_threshold) and settles(well):
            return well
        await asyncio.sleep(period)


async def check(asked: Asked, probe: Probe) -> bool:
    """Ask once."""
    try:
        async with asyncio.timeout(probe.timeout_seconds):
            if probe.exec:
                return await asked.running.exec(probe.exec.command)
            if probe.http_get:
                return await get(asked, probe.http_get) in WELL
            if probe.tcp_socket:
                return await _connects(asked, probe.tcp_socket)
            assert probe.grpc, "the API server admits no other"
            return await _serves(asked, probe.grpc)
    except (OSError, TimeoutError, ValueError, aiohttp.ClientError, grpc.RpcError):
        return False  # ValueError: a port by a name that no port has


async def get(asked: Asked, request: HttpGet) -> int:
    """Make a request and return its status; certificates prove nothing here, as in a real kubelet."""
    headers = {"User-Agent": USER_AGENT} | {header.name: header.value for header in request.http_headers}
    host = request.host or asked.address
    url = f"{request.scheme.lower()}://{host}:{_port(asked.container, request.port)}{request.path}"
    async with asked.session.get(url, headers=headers, allow_redirects=False, ssl=False) as answer:
        await answer.read()
        return answer.status


async def _connects(asked: Asked, socket: TcpSocket) -> bool:
    port = _port(asked.container, socket.port)
    _, writer = await asyncio.open_connection(socket.host or asked.address, port)
    writer.close()
    return True


async def _serves(asked: Asked, health: GrpcCheck) -> bool:
    """Ask the health service; its messages are short enough to be written by hand."""
    service = (health.service or "").encode()
    question = b"\x0a" + bytes([len(service)]) + service if service else b""
    async with grpc.aio.insecure_channel(f"{asked.address}:{health.port}") as channel:
        return bool(await channel.unary_unary(HEALTH_CHECK)(question) == SERVING)


def _port(container: Container, port: int | str) -> int:
    named = {named.name: named.container_port for named in container.ports}
    if isinstance(port, str) and port in named:
        return named[port]
    return int(port)
