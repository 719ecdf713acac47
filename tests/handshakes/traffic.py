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

    def __init__(self, right: Answers, *, in_order: bool = False) -> None:
        """Begin in a moment in which these answers are right.

        In order, whoever sends one request after the other may never again find what was right before what
        they have found: that needs a connection that lasts, and answers that tell moments apart.
        """
        self.surprises: list[Surprise] = []
        self.answers: dict[Answer, int] = {}
        self._in_order = in_order
        self._moments = [right]
        self._arrived = 0  # the latest moment that has come to everybody
        self._latest = 0  # moment that anybody has found
        self._in_a_row = 0  # answers that are right in the newest moment
        self._flying: set[object] = set()
        self._landed = asyncio.Event()

    @property
    def is_ahead(self) -> bool:
        """Say whether somebody has found what is on its way, and what nothing before it can explain."""
        return self._latest > self._arrived

    def enter(self, right: Answers) -> None:
        """Begin a moment; a request that stays over several may find what is right in any of them."""
        self.expect(right)
        self.arrive()

    def expect(self, right: Answers) -> None:
        """Have a moment on its way: until it has arrived, those before it may be found, too."""
        self._moments.append(right)
        self._in_a_row = 0

    def arrive(self) -> None:
        """From here on nobody may find but what is right in the newest moment."""
        self._arrived = len(self._moments) - 1

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

    async def agree(self, count: int = LEAST) -> None:
        """Wait until so many answers in a row are right in the newest moment."""
        while self._in_a_row < count:
            self._landed.clear()
            await self._landed.wait()

    async def send(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        """Send one request after the other, until cancelled."""
        found = 0
        while True:
            flight = object()
            self._flying.add(flight)
            since = max(self._arrived, found)
            try:
                moment = self._note(await ask(), since)
            finally:
                self._flying.discard(flight)
                self._landed.set()
            if self._in_order:
                found = moment

    def _note(self, answer: Answer, since: int) -> int:
        """Return the first moment that explains an answer; one that nothing explains changes nothing."""
        self.answers[answer] = self.answers.get(answer, 0) + 1
        self._in_a_row = self._in_a_row + 1 if answer in self._moments[-1] else 0
        moments = self._moments[since:]
        for number, right in enumerate(moments, since):
            if answer in right:
                self._latest = max(self._latest, number)
                return number
        self.surprises.append(Surprise(answer, frozenset().union(*moments), since, since + len(moments) - 1))
        return since


@asynccontextmanager
async def flowing(traffic: Traffic, ask: Callable[[], Awaitable[Answer]]) -> AsyncIterator[None]:
    """Keep several requests on their way until the block ends."""
    async with asyncio.TaskGroup() as tasks:
        sending = [tasks.create_task(traffic.send(ask)) for _ in range(WORKERS)]
        yield
        for each in sending:
            each.cancel()
