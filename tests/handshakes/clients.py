"""Clients that speak to Envoy: HTTP over whatever carries it, and gRPC."""

import asyncio
import ssl
from contextlib import suppress
from http import HTTPStatus

import grpc
from msgspec import Struct

WITHIN = 120.0


class Place(Struct, frozen=True):
    """Where a client connects to."""

    address: str
    port: int


class Security(Struct, frozen=True):
    """The TLS that a client begins with."""

    context: ssl.SSLContext
    server_name: str


async def send(kind: str, place: Place, host: str, roots: ssl.SSLContext) -> int | None:
    """Send one request as a kind of route carries it."""
    match kind:
        case "GRPCRoute":
            return await call(place, host)
        case "TLSRoute":
            return await get(place, host, tls=Security(roots, host))
        case _:
            return await get(place, host)


async def get(place: Place, host: str, tls: Security | None = None, path: str = "/") -> int | None:
    """Return the status of one answer on a connection of its own; None when it is closed without one."""
    request = f"GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    head = b""
    async with asyncio.timeout(WITHIN):
        with suppress(ConnectionError, ssl.SSLEOFError):
            head = await _head(place, request, tls)
    return int(head.split()[1]) if head else None


async def call(place: Place, host: str) -> int:
    """Return what HTTP would say to one gRPC call: 200, or 503 where the backend is unavailable."""
    options = [("grpc.default_authority", host), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.insecure_channel(f"{place.address}:{place.port}", options=options) as channel:
        try:
            answer = await channel.unary_unary("/shop.Till/Pay")(b"coins", timeout=WITHIN)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            return HTTPStatus.SERVICE_UNAVAILABLE
    assert answer == b"coins"
    return HTTPStatus.OK


async def _head(place: Place, request: str, tls: Security | None) -> bytes:
    reader, writer = await asyncio.open_connection(
        place.address,
        place.port,
        ssl=tls.context if tls else None,
        server_hostname=tls.server_name if tls else None,
    )
    try:
        writer.write(request.encode())
        await writer.drain()
        return await reader.readline()
    finally:
        writer.transport.abort()  # nobody waits for a goodbye
        with suppress(ConnectionError):
            await writer.wait_closed()
