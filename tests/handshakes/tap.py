"""A wire between Envoy and a backend, on which every byte is read along: is it TLS, or cleartext?"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from tests.handshakes.acceptor import Pair, accepting
from tests.handshakes.client_hello import Hello, read_hello
from tests.loopback import LOOPBACK

CHUNK = 64 * 1024
CLOSES_WITHIN = 120.0
HEADER = 5
HANDSHAKE = 22
CONTENT_TYPES = range(20, 24)  # of TLS records: change_cipher_spec, alert, handshake, application_data
LONGEST_RECORD = 2**14 + 256


class Tap:
    """What came over the wire from Envoy's side."""

    def __init__(self) -> None:
        """Begin without a connection."""
        self.port = 0
        self.hellos: list[Hello] = []
        self.cleartext = bytearray()
        self.opened = 0
        self.closed = 0
        self._ends: set[asyncio.StreamWriter] = set()
        self._parted = asyncio.Event()

    def hang_up(self) -> None:
        """Close every connection that is open now."""
        for end in self._ends:
            end.close()

    async def all_closed(self) -> None:
        """Wait until no connection is open."""
        async with asyncio.timeout(CLOSES_WITHIN):
            while self.closed < self.opened:
                self._parted.clear()
                await self._parted.wait()

    async def relay(self, envoy: Pair, backend: Pair) -> None:
        """Carry bytes both ways until one side ends."""
        ends = {envoy[1], backend[1]}
        self._ends |= ends
        self.opened += 1
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_carry(envoy[0], backend[1], Records(self).feed))
                both.create_task(_carry(backend[0], envoy[1], None))
        finally:
            self.closed += 1
            self._parted.set()
            self._ends -= ends


class Records:
    """The bytes of one connection, read as TLS records for as long as they are."""

    def __init__(self, tap: Tap) -> None:
        """Begin at the first byte."""
        self._tap = tap
        self._waiting = b""
        self._greeted = False
        self._clear = False

    def feed(self, piece: bytes) -> None:
        """Read on; from the first byte that is no record, everything counts as cleartext."""
        self._waiting += piece
        while size := self._whole_record():
            record, self._waiting = self._waiting[:size], self._waiting[size:]
            if not self._greeted and record[0] == HANDSHAKE:
                self._greeted = True
                self._tap.hellos.append(read_hello(record[HEADER:]))
        if self._clear:
            self._tap.cleartext += self._waiting
            self._waiting = b""

    def _whole_record(self) -> int:
        """Return the size of the record that waits, 0 while there is none."""
        head = self._waiting[:HEADER]
        self._clear |= not _may_begin_record(head)
        size = HEADER + int.from_bytes(head[3:])
        whole = len(head) == HEADER and len(self._waiting) >= size
        return size if whole and not self._clear else 0


def _may_begin_record(head: bytes) -> bool:
    known = not head or head[0] in CONTENT_TYPES
    modern = head[1:2] in (b"", b"\x03")
    return known and modern and int.from_bytes(head[3:]) <= LONGEST_RECORD


@asynccontextmanager
async def tapped(port: int, address: str = LOOPBACK) -> AsyncIterator[Tap]:
    """Stand before a port on loopback, at any address of this machine."""
    tap = Tap()

    async def serve(connection: Pair) -> None:
        await tap.relay(connection, await asyncio.open_connection(LOOPBACK, port))

    async with accepting(serve, address=address) as tap.port:
        yield tap


async def _carry(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, note: Callable[[bytes], None] | None
) -> None:
    try:
        with suppress(ConnectionError):
            while piece := await source.read(CHUNK):
                if note is not None:
                    note(piece)
                sink.write(piece)
                await sink.drain()
    finally:
        sink.close()
