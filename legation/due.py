"""What is to be done again and again for things that have names: each at most once at a time, in order."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Due(Generic[K]):
    """Names of things to look at, and from when on."""

    def __init__(self) -> None:
        """Begin with nothing due."""
        self._since: dict[K, float] = {}
        self._busy: set[K] = set()
        self._news = asyncio.Event()
        self._turn = asyncio.Lock()

    def mark(self, name: K, after: float = 0.0) -> None:
        """Have something looked at, in some seconds; an earlier time that was marked already holds."""
        when = asyncio.get_running_loop().time() + after
        self._since[name] = min(when, self._since.get(name, when))
        self._news.set()

    def forget(self, name: K) -> None:
        """Let go of what is gone."""
        self._since.pop(name, None)

    @asynccontextmanager
    async def next(self) -> AsyncIterator[K]:
        """Wait for something that is due and that nobody looks at just now; hold it while the block runs."""
        async with self._turn:
            name = await self._wait()
        try:
            yield name
        finally:
            self._busy.discard(name)
            self._news.set()

    async def _wait(self) -> K:
        loop = asyncio.get_running_loop()
        while True:
            self._news.clear()
            free = [(when, name) for name, when in self._since.items() if name not in self._busy]
            when, name = min(free, key=lambda each: each[0], default=(float("inf"), None))
            if name is not None and when <= loop.time():
                del self._since[name]
                self._busy.add(name)
                return name
            await self._sleep(when - loop.time())

    async def _sleep(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(None if seconds == float("inf") else seconds):
                await self._news.wait()
        except TimeoutError:
            pass
