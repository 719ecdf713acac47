"""Somebody who asks for one place again and again, on a connection that lasts."""

import asyncio
import ssl
from collections import Counter

from tests.changing.shop import Visited
from tests.handshakes.traffic import Answer

PACE = 0.02  # seconds between two requests, so that Envoy and the control plane get their turn
PATIENCE = 60.0  # seconds until no answer counts as none
KNOCKS = 2.0  # seconds
OK = 200
GONE = (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError)

Place = tuple[str, int]
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Visitor:
    """One lasting connection, and what became of it."""

    def __init__(
        self, visited: Visited, place: Place, tls: ssl.SSLContext | None = None, pace: float = PACE
    ) -> None:
        """Know where to go; nothing is open yet."""
        self.visited = visited
        self.broken: Counter[str] = Counter()  # connections that ended without a word, by when
        self.dismissed = 0  # connections that ended with an answer that said so
        self.certificate = b""  # that was shown on the newest connection
        self._place = place
        self._tls = tls
        self._pace = pace
        self._ends: Ends | None = None
        self._request = f"GET {visited.path} HTTP/1.1\r\nhost: {visited.host}\r\n\r\n".encode()

    @property
    def has_lost(self) -> bool:
        """Say whether a connection ended that was meant to last."""
        return bool(self.broken or self.dismissed)

    async def ask(self) -> Answer:
        """Send a request; one whose connection was closed before it was heard is sent again on another."""
        await asyncio.sleep(self._pace)
        async with asyncio.timeout(PATIENCE):
            for was_open in (self._ends is not None, False):
                try:
                    return await self._ask()
                except GONE:
                    self.close()
                    self.broken["used" if was_open else "new"] += 1
        return None

    def close(self) -> None:
        """Leave, without waiting for a goodbye: nobody may be there any more to hear it."""
        if self._ends is not None:
            self._ends[1].transport.abort()
            self._ends = None

    async def is_let_in(self) -> bool:
        """Say whether somebody who comes anew is answered."""
        self.close()
        try:
            async with asyncio.timeout(KNOCKS):
                await self._ask()
        except (TimeoutError, *GONE):
            return False
        finally:
            self.close()
        return True

    async def location(self) -> str:
        """Say where a request is redirected to."""
        head, _ = await self._exchange()
        return head.partition("location: ")[2].partition("\r\n")[0]

    async def _ask(self) -> Answer:
        head, body = await self._exchange()
        status = int(head.split()[1])
        return body if status == OK else status

    async def _exchange(self) -> tuple[str, str]:
        if self._ends is None:
            host = self.visited.host if self._tls else None
            self._ends = await asyncio.open_connection(*self._place, ssl=self._tls, server_hostname=host)
            if self._tls is not None:
                self.certificate = self._ends[1].get_extra_info("ssl_object").getpeercert(binary_form=True)
        reader, writer = self._ends
        writer.write(self._request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0] or 0)
        body = (await reader.readexactly(length)).decode()
        if "connection: close" in head:
            self.dismissed += 1
            self.close()
        return head, body
