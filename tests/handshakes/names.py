"""A name server of a test's own: every name is an address of loopback, and who asked for what is known."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from socket import AF_INET, inet_aton
from struct import pack, unpack
from typing import cast

from msgspec import Struct

from tests.loopback import LOOPBACK

HEADER = 12
ADDRESS = 1  # what most questions are about: an IPv4 address
NO_ERROR = 0x8180


class Names(Struct, frozen=True):
    """A running server, and what it was asked for."""

    port: int
    asked: list[str]


class _Server(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.asked: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, end = _name(data)
        [kind] = unpack(">H", data[end : end + 2])
        self.asked.append(name)
        answers = [b"\xc0\x0c" + pack(">HHIH", ADDRESS, 1, 60, 4) + inet_aton(LOOPBACK)] * (kind == ADDRESS)
        header = data[:2] + pack(">HHHHH", NO_ERROR, 1, len(answers), 0, 0)
        self._transport.sendto(header + data[HEADER : end + 4] + b"".join(answers), addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[Names]:
    """Answer questions until the block ends."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(_Server, local_addr=(LOOPBACK, 0), family=AF_INET)
    try:
        yield Names(transport.get_extra_info("sockname")[1], server.asked)
    finally:
        transport.close()


def _name(question: bytes) -> tuple[str, int]:
    """Return the name that is asked about, and where it ends."""
    labels, place = [], HEADER
    while length := question[place]:
        labels.append(question[place + 1 : place + 1 + length].decode())
        place += 1 + length
    return ".".join(labels), place + 1
