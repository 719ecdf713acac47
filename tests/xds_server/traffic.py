"""Constant HTTP traffic through a listener, in which every failed request is noticed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PAUSE = 0.002
REQUEST = b"GET / HTTP/1.1\r\nhost: shop.example\r\n\r\n"


@asynccontextmanager
async def backend(says: str) -> AsyncIterator[int]:
    """An HTTP server that answers every request with one word; yields its port."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(says)}\r\n\r\n{says}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


class Traffic:
    """Requests one after the other on one connection, and what they were answered."""

    def __init__(self, port: int) -> None:
        self.answers: Counter[str] = Counter()
        self.last = ""
        self._port = port
        self._lines: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def failed(self) -> dict[str, int]:
        """Every answer that was not a success, and every connection that broke."""
        return {answer: count for answer, count in self.answers.items() if not answer.startswith("200")}

    async def flow(self) -> None:
        """Ask for ever."""
        while True:
            self.last = await self.ask()
            self.answers[self.last] += 1
            await asyncio.sleep(PAUSE)  # a pace, so that Envoy and the control plane get their turn

    async def ask(self) -> str:
        """One request: its status and body, or how it broke."""
        try:
            reader, writer = self._lines or await asyncio.open_connection("127.0.0.1", self._port)
            self._lines = reader, writer
            writer.write(REQUEST)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length:")[2].partition("\r\n")[0])
            body = (await reader.readexactly(length)).decode()
        except (asyncio.IncompleteReadError, ConnectionError) as broken:
            self._lines = None
            return type(broken).__name__
        if "connection: close" in head:
            writer.close()
            self._lines = None
        return f"{head.split()[1]} {body}"


@asynccontextmanager
async def flowing(port: int, connections: int = 2) -> AsyncIterator[list[Traffic]]:
    """Traffic on some connections while the block runs."""
    streams = [Traffic(port) for _ in range(connections)]
    tasks = [asyncio.create_task(stream.flow()) for stream in streams]
    try:
        yield streams
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in streams:
            if stream._lines is not None:
                stream._lines[1].close()
