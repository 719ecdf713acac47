"""Constant requests while the configuration changes, each judged by what held while it was on its way."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

Answer = str | int | None  # a backend's name, or Envoy's own status; None is a connection closed without one
Answers = frozenset[Answer]

WORKERS = 4
LEAST = 8  # answers that show what holds now


class Surprise(Struct, frozen=True):
    """An answer that nothing in force can explain."""

    answer: Answer
    explained: Answers
    since: int  # the moment it was asked in
    until: int


class Traffic:
    """A log of moments, each with the answers that are right in it, and of requests that found others."""

    def __init__(self, right: Answers) -> None:
        """Begin in a moment in which these answers are right."""
        self.surprises: list[Surprise] = []
        self.answers: dict[Answer, int] = {}
        self._moments = [right]
        self._flying: dict[object, int] = {}
        self._landed = asyncio.Event()

    def enter(self, right: Answers) -> None:
        """Begin a moment; a request that stays over several may find what is right in any of them."""
        self._moments.append(right)

    async def quiet(self) -> None:
        """Wait until all that were on their way have arrived: their connections saw what was before."""
        before = set(self._flying)
        while not before.isdisjoint(self._flying):
            self._landed.clear()
            await self._landed.wait()

    async def more(self, count: int = LEAST) -> None:
        """Wait for so many further answers."""
        wanted = sum(self.answers.values()) + count
        while sum(self.answers.values()) < wanted:
            self._landed.clear()
            await self._landed.wait()

    async def send(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        """Send one request after the other, until cancelled."""
        while True:
            flight = object()
            since = self._flying[flight] = len(self._moments) - 1
            try:
                self._note(await ask(), since)
            finally:
                del self._flying[flight]
                self._landed.set()

    def _note(self, answer: Answer, since: int) -> None:
        until = len(self._moments) - 1
        explained = frozenset().union(*self._moments[since:])
        self.answers[answer] = self.answers.get(answer, 0) + 1
        if answer not in explained:
            self.surprises.append(Surprise(answer, explained, since, until))


@asynccontextmanager
async def flowing(traffic: Traffic, ask: Callable[[], Awaitable[Answer]]) -> AsyncIterator[None]:
    """Keep several requests on their way until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        sending = [tasks.create_task(traffic.send(ask)) for _ in range(WORKERS)]
        yield
        for each in sending:
            each.cancel()
