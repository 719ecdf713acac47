"""Small backends that answer with what they saw: HTTP with and without TLS, gRPC, lines, datagrams."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import cast

import grpc
from aiohttp import web

HOST = "127.0.0.1"
STORE, CART, PAY, ECHO, LINES, DATAGRAMS = 9180, 9181, 9143, 9150, 9170, 9153


@asynccontextmanager
async def running(pay: Path) -> AsyncIterator[None]:
    """Run one backend of each kind; `pay` holds the certificate and key of the one that speaks TLS."""
    async with AsyncExitStack() as stack:
        for backend in (
            _http("store", STORE),
            _http("cart", CART),
            _http("pay", PAY, _tls(pay)),
            _grpc(ECHO),
            _lines(LINES),
            _datagrams(DATAGRAMS),
        ):
            await stack.enter_async_context(backend)
        yield


def _tls(certificate: Path) -> ssl.SSLContext:
    """Serve a certificate, keeping with each connection the name it was asked for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def remember(connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        connection.asked_for = name  # type: ignore[union-attr]  # it travels with the connection

    context.sni_callback = remember
    return context


@asynccontextmanager
async def _http(name: str, port: int, tls: ssl.SSLContext | None = None) -> AsyncIterator[None]:
    async def answer(request: web.Request) -> web.Response:
        seen: dict[str, object] = {"backend": name, "path": request.path, "headers": dict(request.headers)}
        if (connection := request.get_extra_info("ssl_object")) is not None:
            seen["tls"] = {"server name": connection.asked_for, "version": connection.version()}
        response = web.json_response(seen, dumps=lambda value: json.dumps(value, indent=2) + "\n")
        response.force_close()  # so that each request of a demo proves everything anew
        return response

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, HOST, port, ssl_context=tls).start()
    try:
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _grpc(port: int) -> AsyncIterator[None]:
    """Answer every call with the bytes it brought."""

    async def echo(request: bytes, _: grpc.aio.ServicerContext) -> bytes:
        return request

    class Everything(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
        def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            return grpc.unary_unary_rpc_method_handler(echo)

    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers((Everything(),))
    server.add_insecure_port(f"{HOST}:{port}")
    await server.start()
    try:
        yield
    finally:
        await server.stop(grace=0.5)


@asynccontextmanager
async def _lines(port: int) -> AsyncIterator[None]:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(echo, HOST, port):
        yield


class _Echo(asyncio.DatagramProtocol):
    """Sends every datagram back."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers are sent by."""
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer."""
        self._transport.sendto(data, addr)


@asynccontextmanager
async def _datagrams(port: int) -> AsyncIterator[None]:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(_Echo, local_addr=(HOST, port))
    try:
        yield
    finally:
        transport.close()
