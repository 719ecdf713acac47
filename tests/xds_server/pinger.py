"""A client of HTTP/2 that is idle and pings: byte by byte, for gRPC's own would ping as it sees fit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, SETTINGS, PING, GOAWAY = 1, 4, 6, 7
ACK, END_HEADERS = 1, 4
HEAD = 9  # bytes before the payload of a frame


class DismissedError(Exception):
    """The server ended the connection, and said why."""


class Pinger:
    """The client's end of a connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Say hello."""
        self._reader, self._writer = reader, writer
        self._writer.write(PREFACE + frame(SETTINGS))

    def call(self, method: str) -> None:
        """Open a stream, and send nothing by it."""
        fields = {
            ":method": "POST",
            ":scheme": "http",
            ":path": method,
            ":authority": "localhost",
            "content-type": "application/grpc",
        }
        block = b"".join(b"\0" + text(name) + text(value) for name, value in fields.items())
        self._writer.write(frame(HEADERS, END_HEADERS, 1, block))

    async def ping(self) -> None:
        """Ask for an answer, and wait for it."""
        self._writer.write(frame(PING, payload=bytes(8)))
        while await self._receive() != (PING, ACK):
            pass

    async def _receive(self) -> tuple[int, int]:
        head = await self._reader.readexactly(HEAD)
        payload = await self._reader.readexactly(int.from_bytes(head[:3]))
        if head[3] == GOAWAY:
            raise DismissedError(payload[8:].decode())
        return head[3], head[4]


@asynccontextmanager
async def pinger(port: int) -> AsyncIterator[Pinger]:
    """Connect to a port of loopback."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Pinger(reader, writer)
    finally:
        writer.close()


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Write a frame of HTTP/2."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def text(said: str) -> bytes:
    """Write a short text as header compression has it, without compressing it."""
    return bytes((len(said),)) + said.encode()
