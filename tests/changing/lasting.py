"""What lasts longer than a request: backends that answer each line, message and datagram with their name."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

import grpc
from msgspec import Struct

from tests.handshakes.acceptor import Pair, accepting
from tests.handshakes.backends import calls_taken
from tests.handshakes.manifests import (
    SERVED_BY_US,
    Json,
    edge,
    endpoints,
    http_listener,
    manifest,
    route,
    service,
    tcp_listener,
)
from tests.loopback import LOOPBACK

SOCKETS, CALLS, LINES, DATAGRAMS = 80, 81, 90, 53  # ports of each backend's Service
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
CALL = "/shop.Shop/Call"


class Doors(Struct, frozen=True):
    """Ports of the Gateway."""

    http: int
    tcp: int
    udp: int


@asynccontextmanager
async def staffed(word: str) -> AsyncIterator[Mapping[int, int]]:
    """Have a backend that speaks all of it; yields where each port of its Service is served."""
    async with AsyncExitStack() as stack:
        yield {
            SOCKETS: await stack.enter_async_context(accepting(lambda pair: _upgrade(pair, word))),
            CALLS: await stack.enter_async_context(_calls(word)),
            LINES: await stack.enter_async_context(accepting(lambda pair: _lines(pair, word))),
            DATAGRAMS: await stack.enter_async_context(_datagrams(word)),
        }


def manifests(doors: Doors, behind: Mapping[str, Mapping[int, int]], to: str) -> Iterator[Json]:
    """Have a route of each kind lead to one of the backends, and nobody lead to the others."""
    udp = {"name": "udp", "port": doors.udp, "protocol": "UDP"}
    yield from (SERVED_BY_US, edge(http_listener(doors.http), tcp_listener(doors.tcp), udp))
    for name, served in behind.items():
        yield service(name, {port: None for port in served if port != DATAGRAMS})
        ports = [{"name": f"p{DATAGRAMS}", "port": DATAGRAMS, "protocol": "UDP"}]
        yield manifest("Service", f"{name}-udp", "v1", spec={"ports": ports})
        for port, number in served.items():
            if port != DATAGRAMS:
                yield from endpoints(name, port, number)
        for each in endpoints(f"{name}-udp", DATAGRAMS, served[DATAGRAMS]):
            yield each | {"ports": [{"name": f"p{DATAGRAMS}", "port": served[DATAGRAMS], "protocol": "UDP"}]}
    yield route("HTTPRoute", "sockets", [(to, SOCKETS)], hostnames=["sockets.test"])
    yield route("GRPCRoute", "calls", [(to, CALLS)], hostnames=["calls.test"])
    yield route("TCPRoute", "lines", [(to, LINES)])
    yield route("UDPRoute", "datagrams", [(f"{to}-udp", DATAGRAMS)])


async def _lines(pair: Pair, word: str) -> None:
    reader, writer = pair
    while await reader.readline():
        writer.write(f"{word}\n".encode())
        await writer.drain()


async def _upgrade(pair: Pair, word: str) -> None:
    """Take a WebSocket; Envoy does not read what is said on it, so these are lines, too."""
    reader, writer = pair
    await reader.readuntil(b"\r\n\r\n")
    writer.write(SWITCHED)
    await _lines(pair, word)


@asynccontextmanager
async def _calls(word: str) -> AsyncIterator[int]:
    async def answer(messages: AsyncIterator[bytes], _: grpc.aio.ServicerContext) -> AsyncIterator[bytes]:
        async for _message in messages:
            yield word.encode()

    async with calls_taken(grpc.stream_stream_rpc_method_handler(answer)) as port:
        yield port


class _Echo(asyncio.DatagramProtocol):
    def __init__(self, word: str) -> None:
        self._word = word.encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer with what was said, so that nobody takes a late answer for his own."""
        self._transport.sendto(self._word + b" " + data, addr)


@asynccontextmanager
async def _datagrams(word: str) -> AsyncIterator[int]:
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: _Echo(word), local_addr=(LOOPBACK, 0))
    try:
        yield transport.get_extra_info("sockname")[1]
    finally:
        transport.close()
