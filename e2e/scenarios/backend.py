"""A backend with TLS that tells its clients who asked whom, and remembers how each connection began."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from e2e.cluster.network import NODE_ADDRESS
from tests.loopback import server_tls
from tests.pki import Authority

HOST = "shop.internal"  # what every backend proves to be
HANDSHAKE = b"\x16\x03"  # how a TLS connection begins: the type of the record, and the major version
GOODBYE = 1.0  # seconds for the other side to say that it has heard the end
LEFT = (OSError, asyncio.IncompleteReadError, asyncio.CancelledError)


class Backend:
    """A server on the node, and what came to it."""

    def __init__(self, name: str, authority: Authority) -> None:
        """Show a certificate of this authority to whoever connects."""
        self.name = name
        self.port = 0
        self.beginnings: list[bytes] = []
        self.ended = 0  # connections that nobody retired
        self.refused = 0  # connections that came to no handshake
        self.retired = 0  # connections up to this one end with their next answer
        self.show(authority)

    @property
    def cleartext(self) -> list[bytes]:
        """How connections began that said something, and not the beginning of a handshake."""
        return [each for each in self.beginnings if not HANDSHAKE.startswith(each[: len(HANDSHAKE)])]

    def show(self, authority: Authority) -> None:
        """Show a certificate of another authority from the next connection on."""
        self.authority = authority
        with TemporaryDirectory() as folder:
            self._tls = server_tls(authority.issue(dns=[HOST]), Path(folder))

    def retire(self) -> None:
        """Let every connection that is open now end with its next answer."""
        self.retired = len(self.beginnings)

    async def serve(self, door: socket.socket) -> None:
        """Take connections, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                connection, (peer, _) = await asyncio.get_running_loop().sock_accept(door)
                tasks.create_task(self._take(connection, peer))

    async def _take(self, connection: socket.socket, peer: str) -> None:
        with suppress(*LEFT):
            await _readable(connection)
            self.beginnings.append(connection.recv(len(HANDSHAKE), socket.MSG_PEEK))
            await self._converse(connection, len(self.beginnings), peer)

    async def _converse(self, connection: socket.socket, number: int, peer: str) -> None:
        """Shake hands, and answer until the other side leaves or the connection is retired."""
        try:
            reader, writer = await _shaken(connection, self._tls)
        except OSError:
            self.refused += 1
            raise
        try:
            goes_on = True
            while goes_on:
                await reader.readuntil(b"\r\n\r\n")
                goes_on = number > self.retired
                writer.write(_answer(f"{self.name} {number} {peer}", goes_on=goes_on))
                await writer.drain()
        finally:
            self.ended += number > self.retired
            writer.close()
            await writer.wait_closed()


async def _readable(connection: socket.socket) -> None:
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(connection, readable.set)
    try:
        await readable.wait()
    except asyncio.CancelledError:
        connection.close()
        raise
    finally:
        loop.remove_reader(connection)


async def _shaken(
    connection: socket.socket, tls: ssl.SSLContext
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(
        lambda: protocol, connection, ssl=tls, ssl_shutdown_timeout=GOODBYE
    )
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def _answer(body: str, *, goes_on: bool) -> bytes:
    ending = "" if goes_on else "connection: close\r\n"
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n{ending}\r\n{body}".encode()


@asynccontextmanager
async def serving(*backends: Backend) -> AsyncIterator[None]:
    """Have backends take connections, each on a port of its own."""
    async with asyncio.TaskGroup() as tasks:
        doors = [_door() for _ in backends]
        running = [tasks.create_task(each.serve(door)) for each, door in zip(backends, doors, strict=True)]
        for each, door in zip(backends, doors, strict=True):
            each.port = door.getsockname()[1]
        try:
            yield
        finally:
            for task in running:
                task.cancel()
            for door in doors:
                door.close()


def _door() -> socket.socket:
    door = socket.create_server((NODE_ADDRESS, 0))
    door.setblocking(False)  # noqa: FBT003  it takes no name
    return door
