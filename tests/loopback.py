"""The other ends of a real Envoy: backends that tell what reached them, and a client."""

import asyncio
import http.client
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from tests.pki import Issued

LOOPBACK = "127.0.0.1"


class Backend(Struct, frozen=True):
    """A server on loopback, and what it has seen so far."""

    port: int
    heads: list[str]  # every request's first line and headers, as they arrived
    handshakes: list[ssl.SSLObject]  # one for each connection with TLS


class Answer(Struct, frozen=True):
    """What a client was given."""

    status: int
    headers: Mapping[str, str]
    body: str


@asynccontextmanager
async def http_backend(
    name: str,
    tls: ssl.SSLContext | None = None,
    headers: Mapping[str, str] | None = None,
    host: str = LOOPBACK,
) -> AsyncIterator[Backend]:
    """Answer every request with this name and close, so that each one is a connection of its own."""
    own = "".join(f"{title}: {value}\r\n" for title, value in (headers or {}).items())
    heads: list[str] = []
    handshakes: list[ssl.SSLObject] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if tls is not None:
            handshakes.append(writer.get_extra_info("ssl_object"))
        try:
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            head = f"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {len(name)}\r\n{own}\r\n"
            writer.write((head + name).encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client thought better of it
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, 0, ssl=tls)
    async with server:
        yield Backend(server.sockets[0].getsockname()[1], heads, handshakes)


def has_ipv6() -> bool:
    """Say whether this machine reaches itself by IPv6, which a kernel may lack."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def server_tls(issued: Issued, folder: Path) -> ssl.SSLContext:
    """Return what a server needs to show a certificate."""
    chain, key = folder / "tls.crt", folder / "tls.key"
    chain.write_text(issued.chain_pem)
    key.write_text(issued.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    return context


async def opens(port: int, address: str = LOOPBACK) -> bool:
    """Say whether somebody takes connections at a port."""
    try:
        _, writer = await asyncio.open_connection(address, port)
    except OSError:
        return False
    writer.close()
    return True


async def ask(
    port: int,
    path: str = "/",
    headers: Mapping[str, str] | None = None,
    method: str = "GET",
    address: str = LOOPBACK,
) -> Answer:
    """Send one request over cleartext HTTP/1.1."""
    return await asyncio.to_thread(_ask, (address, port), path, headers or {}, method)


def _ask(place: tuple[str, int], path: str, headers: Mapping[str, str], method: str) -> Answer:
    connection = http.client.HTTPConnection(*place, timeout=60)
    try:
        connection.request(method, path, headers=dict(headers))
        found = connection.getresponse()
        titles = {name.lower(): value for name, value in found.getheaders()}
        return Answer(found.status, titles, found.read().decode())
    finally:
        connection.close()
