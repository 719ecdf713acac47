"""A way to a server that can be cut, or fall silent as a network does: nobody tells either end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

AT_ONCE = 65536


class Link:
    """Carries bytes between clients and one server for as long as it is open."""

    def __init__(self, host: str, port: int) -> None:
        """Lead to this server."""
        self.port = 0
        self._to = (host, port)
        self._open = asyncio.Event()
        self._open.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._refuses = False

    def cut(self) -> None:
        """End every connection, and refuse new ones."""
        self._refuses = True
        for end in self._ends:
            end.transport.abort()

    def silence(self) -> None:
        """Carry nothing more, and say so to nobody; new connections are taken, and get no answer."""
        self._open.clear()

    def mend(self) -> None:
        """Carry again what comes; what was cut stays cut."""
        self._refuses = False
        self._open.set()

    def move(self, port: int) -> None:
        """Lead to another port of the same host; whoever is connected has to come again."""
        self._to = (self._to[0], port)
        for end in self._ends:
            end.transport.abort()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        self._ends.add(writer)
        try:
            if not self._refuses:
                await self._open.wait()
                await self._join(reader, writer)
        except OSError:
            pass  # one of both ends is gone, and so is the connection
        finally:
            self._ends.discard(writer)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._to)
        self._ends.add(far_writer)
        try:
            async with asyncio.TaskGroup() as tasks:
                there = tasks.create_task(self._carry(reader, far_writer))
                back = tasks.create_task(self._carry(far_reader, writer))
                await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
                there.cancel()
                back.cancel()
        finally:
            self._ends.discard(far_writer)
            far_writer.transport.abort()

    async def _carry(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(AT_ONCE):
                await self._open.wait()
                target.write(piece)
                await target.drain()


@asynccontextmanager
async def linked(host: str, port: int) -> AsyncIterator[Link]:
    """Have a link on a port of loopback."""
    link = Link(host, port)
    server = await asyncio.start_server(link.take, "127.0.0.1", 0)
    link.port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            yield link
        finally:
            link.mend()
            link.cut()
