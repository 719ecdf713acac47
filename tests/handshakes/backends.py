"""Backends behind a wire that is read along: HTTP and gRPC over TLS, or in cleartext for comparison."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc
from msgspec import Struct

from tests.handshakes.acceptor import Pair, accepting
from tests.handshakes.tap import Tap, tapped
from tests.loopback import LOOPBACK, server_tls
from tests.pki import Issued

GREETING = "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n"


class Backend(Struct, frozen=True):
    """A server, the wire before it, and what it was told after a handshake that the other side accepted."""

    tap: Tap
    told: list[str]  # the head of every request

    @property
    def port(self) -> int:
        """Where Envoy is to connect to."""
        return self.tap.port


class Speech(Struct, frozen=True):
    """How a backend speaks."""

    tls: ssl.SSLContext | None = None
    lasting: bool = False  # connections serve more than one request
    word: str = "ok"  # all that it says


def speaks(issued: Issued, *, lasting: bool = False, word: str = "ok") -> Speech:
    """Return how a server speaks that shows a certificate."""
    with TemporaryDirectory() as folder:
        context = server_tls(issued, Path(folder))
    return Speech(context, lasting, word)


@asynccontextmanager
async def http_backend(speech: Speech, address: str = LOOPBACK) -> AsyncIterator[Backend]:
    """Answer every HTTP/1.1 request with 200."""
    told: list[str] = []
    ending = "" if speech.lasting else "connection: close\r\n"
    greeting = f"{GREETING.format(len(speech.word))}{ending}\r\n{speech.word}".encode()

    async def answer(connection: Pair) -> None:
        reader, writer = connection
        if await reader.readexactly(1) != b"G":
            raise ConnectionAbortedError  # a greeting that this server does not understand
        told.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(greeting)
        await writer.drain()

    async def serve(connection: Pair) -> None:
        await answer(connection)
        while speech.lasting:
            await answer(connection)

    async with accepting(serve, speech.tls) as port, tapped(port, address) as tap:
        yield Backend(tap, told)


@asynccontextmanager
async def grpc_backend(issued: Issued, address: str = LOOPBACK) -> AsyncIterator[Backend]:
    """Answer every call with the bytes it brought."""
    told: list[str] = []

    async def echo(request: bytes, call: grpc.aio.ServicerContext) -> bytes:
        told.append(call.peer())
        return request

    pair = (issued.key_pem.encode(), issued.chain_pem.encode())
    tls = grpc.ssl_server_credentials([pair])
    async with (
        calls_taken(grpc.unary_unary_rpc_method_handler(echo), tls) as port,
        tapped(port, address) as tap,
    ):
        yield Backend(tap, told)


@asynccontextmanager
async def calls_taken(
    handler: grpc.RpcMethodHandler, tls: grpc.ServerCredentials | None = None
) -> AsyncIterator[int]:
    """Have a handler take every call, whatever its name; yields the port."""

    class Everything(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
        def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            return handler

    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Everything(),))
    place = f"{LOOPBACK}:0"
    port = server.add_secure_port(place, tls) if tls else server.add_insecure_port(place)
    await server.start()
    try:
        yield port
    finally:
        await server.stop(grace=None)
