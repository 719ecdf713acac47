"""What is to be done again and again for things that have names: each at most once at a time, in order."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

MOST_HISTORY = 100


class Due(Generic[K]):
    """Names of things to look at, and from when on."""

    def __init__(self) -> None:
        """Begin with nothing due."""
        self._since: dict[K, float] = {}
        self._order: list[tuple[float, int, K]] = []  # a heap; what differs from `_since` is history
        self._marks = count()
        self._held_back: set[K] = set()  # due, and being looked at just now
        self._busy: set[K] = set()
        self._news = asyncio.Event()
        self._turn = asyncio.Lock()

    def mark(self, name: K, after: float = 0.0) -> None:
        """Have something looked at, in some seconds; an earlier time that was marked already holds."""
        when = asyncio.get_running_loop().time() + after
        if when < self._since.get(name, inf):
            self._since[name] = when
            heappush(self._order, (when, next(self._marks), name))
            self._tidy()
            self._news.set()

    def forget(self, name: K) -> None:
        """Let go of what is gone."""
        self._since.pop(name, None)
        self._held_back.discard(name)

    @asynccontextmanager
    async def next(self) -> AsyncIterator[K]:
        """Wait for something that is due and that nobody looks at just now; hold it while the block runs."""
        async with self._turn:
            name = await self._wait()
        try:
            yield name
        finally:
            self._busy.discard(name)
            if name in self._held_back:
                self._held_back.discard(name)
                heappush(self._order, (self._since[name], next(self._marks), name))
                self._news.set()

    async def _wait(self) -> K:
        while True:
            self._news.clear()
            early = self._first() - asyncio.get_running_loop().time()
            if early <= 0:
                _, _, name = heappop(self._order)
                del self._since[name]
                self._busy.add(name)
                return name
            with suppress(TimeoutError):
                async with asyncio.timeout(None if early == inf else early):
                    await self._news.wait()

    def _tidy(self) -> None:
        """Let go of what is history once it is most of all: nobody else does while nothing is looked at."""
        if len(self._order) > MOST_HISTORY + 2 * len(self._since):
            self._order = [each for each in self._order if self._since.get(each[2]) == each[0]]
            heapify(self._order)

    def _first(self) -> float:
        """Return when something is due first; what is history or being looked at is put aside."""
        while self._order:
            when, _, name = self._order[0]
            if self._since.get(name) == when and name not in self._busy:
                return when
            heappop(self._order)
            if self._since.get(name) == when:
                self._held_back.add(name)
        return inf
