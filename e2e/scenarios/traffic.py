"""Constant requests to one address, on lasting and on new connections, each answer looked at."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple

from e2e.kubectl import eventually

LASTING, PASSING = 4, 2  # visitors that keep their connection, and those that open one for each request
PAUSE = 0.03  # seconds between two requests of a visitor
PATIENCE = 30.0  # seconds until an answer counts as lost
ENOUGH = 120  # answers that show what holds now
REQUEST = b"GET / HTTP/1.1\r\nhost: shop.test\r\n\r\n"
STATUS = re.compile(r"http/1\.1 (\d+)")
LENGTH = re.compile(r"content-length: (\d+)")
POD = re.compile(r'"pod": "([^"]+)"')
BODY = re.compile(r"(\w+) (\d+) ([0-9.]+)")


class Answer(NamedTuple):
    """Who answered, on which of its connections, and through which proxy."""

    backend: str
    connection: int
    proxy: str


class Loss(NamedTuple):
    """A request without the answer that it should have got."""

    moment: datetime
    status: int  # 0 if no answer came
    why: str
    proxy: str  # which the connection was known to lead to; none if it was new


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: str
    is_last: bool  # of its connection

    @property
    def answer(self) -> Answer | None:
        """What a backend said, if one did: a pod that echoes requests tells no more than its name."""
        if self.status != HTTPStatus.OK:
            return None
        if pod := POD.search(self.body):
            return Answer(pod[1], 0, "")
        found = BODY.fullmatch(self.body)
        return Answer(found[1], int(found[2]), found[3]) if found else None


class Connection(NamedTuple):
    """One connection to the address."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self) -> Reply:
        """Send one request."""
        self.writer.write(REQUEST)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        [status], [length] = STATUS.findall(head), LENGTH.findall(head)
        body = (await self.reader.readexactly(int(length))).decode()
        return Reply(int(status), body, "connection: close" in head)


class Traffic:
    """Visitors of one address, and what they were answered so far."""

    def __init__(self, address: str, port: int = 80) -> None:
        """Know where to go."""
        self.answers: list[Answer] = []
        self.losses: list[Loss] = []
        self._place = (address, port)

    def more(self, count: int = ENOUGH) -> list[Answer]:
        """Wait for so many further answers, and return them."""
        before = len(self.answers)
        eventually(lambda: len(self.answers) >= before + count)
        return self.answers[before:]

    def reaches(self, backend: str) -> None:
        """Wait until nobody else answers."""
        eventually(lambda: {answer.backend for answer in self.more(20)} == {backend})

    async def visit(self, *, lasting: bool) -> None:
        """Send one request after the other, until cancelled."""
        while True:
            await self._converse(lasting=lasting)

    async def _converse(self, *, lasting: bool) -> None:
        """Ask on one connection, once or until an answer is the last one."""
        proxy, goes_on = "", True
        try:
            async with _connected(self._place) as connection:
                while goes_on:
                    async with asyncio.timeout(PATIENCE):
                        reply = await connection.ask()
                    proxy = self._note(reply, proxy)
                    goes_on = lasting and not reply.is_last
                    await asyncio.sleep(PAUSE)
        except (OSError, EOFError) as error:
            self.losses.append(_loss(0, repr(error), proxy))
            await asyncio.sleep(PAUSE)

    def _note(self, reply: Reply, proxy: str) -> str:
        """Take down a reply, and return through which proxy it came."""
        if reply.answer is None:
            self.losses.append(_loss(reply.status, reply.body, proxy))
            return proxy
        self.answers.append(reply.answer)
        return reply.answer.proxy


def _loss(status: int, why: str, proxy: str) -> Loss:
    return Loss(datetime.now(UTC), status, why, proxy)


@asynccontextmanager
async def flowing(traffic: Traffic) -> AsyncIterator[Traffic]:
    """Have visitors come until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        kinds = (True,) * LASTING + (False,) * PASSING
        visiting = [tasks.create_task(traffic.visit(lasting=lasting)) for lasting in kinds]
        yield traffic
        for each in visiting:
            each.cancel()


def asked(address: str, port: int = 80) -> Reply:
    """Send one request on a connection of its own."""

    async def ask() -> Reply:
        async with asyncio.timeout(PATIENCE), _connected((address, port)) as connection:
            return await connection.ask()

    return asyncio.run(ask())


@asynccontextmanager
async def _connected(place: tuple[str, int]) -> AsyncIterator[Connection]:
    async with asyncio.timeout(PATIENCE):
        connection = Connection(*await asyncio.open_connection(*place))
    try:
        yield connection
    finally:
        connection.writer.close()
        with suppress(OSError):  # the other side may have ended it
            await connection.writer.wait_closed()
