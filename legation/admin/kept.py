"""Answers that are dear: each is made once for everybody, and not again sooner than it deserves.

An answer about the world is made between two batches, which wait for it. So one answer is made at a time,
none twice of the same state, and one that took long is kept for longer: however many pages are open, they
cost the batches no more than a small part of their time. Whatever is asked, batches have at least as long to
themselves after an answer as it took. What is never out of date is shared by all who ask before it is begun.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import NamedTuple

import xxhash
from msgspec import Struct

MOST_KEPT = 128
MOST_BYTES = 64 << 20  # of them together, where there is more than one
LONGEST_REST = 15.0  # seconds


class Answer(Struct, frozen=True):
    """A body, and a tag that differs where the body does."""

    body: bytes
    tag: str


class _Kept(NamedTuple):
    answer: Answer
    state: object
    until: float
    begun: float


class Kept:
    """Keeps answers by what was asked."""

    def __init__(
        self, rest: float = 0.0, longest: float = LONGEST_REST, most_bytes: int = MOST_BYTES
    ) -> None:
        """Begin without any; one that is out of date goes on for `rest` times as long as making it took."""
        self._most_bytes = most_bytes
        self._rest = rest
        self._longest = longest
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._is_making = asyncio.Lock()
        self._free_at = 0.0
        self._size = 0

    def __len__(self) -> int:
        """Return how many answers are kept."""
        return len(self._kept)

    async def answer(self, asked: str, state: object, make: Callable[[], Awaitable[bytes]]) -> Answer:
        """Return what was answered in the same state, or a moment ago; else make it."""
        async with self._is_making:
            known = self._kept.get(asked)
            if known is not None and (known.state == state or monotonic() < known.until):
                self._kept.move_to_end(asked)
                return known.answer
            return await self._made(asked, state, make)

    async def newest(self, asked: str, make: Callable[[], Awaitable[bytes]]) -> Answer:
        """Return what began to be made after it was asked for: for all who ask meanwhile it is made once."""
        came = monotonic()
        async with self._is_making:
            known = self._kept.get(asked)
            if known is not None and known.begun >= came:
                return known.answer
            return await self._made(asked, object(), make)

    async def _made(self, asked: str, state: object, make: Callable[[], Awaitable[bytes]]) -> Answer:
        await asyncio.sleep(self._free_at - monotonic())
        begun = monotonic()
        try:
            body = await make()
        finally:
            ended = monotonic()
            self._free_at = ended + (ended - begun)
        rest = min(self._rest * (ended - begun), self._longest)
        made = Answer(body, f'"{xxhash.xxh3_64_hexdigest(body)}"')
        self._let_go(asked, state, ended)
        self._keep(asked, _Kept(made, state, ended + rest, begun))
        return made

    def _let_go(self, asked: str, state: object, now: float) -> None:
        """Make room: what nobody would be answered holds on to a state that is gone."""
        over = [key for key, each in self._kept.items() if each.state != state and each.until < now]
        for key in {*over, asked} & self._kept.keys():
            self._size -= len(self._kept.pop(key).answer.body)

    def _keep(self, asked: str, made: _Kept) -> None:
        self._kept[asked] = made
        self._size += len(made.answer.body)
        while len(self._kept) > MOST_KEPT or (self._size > self._most_bytes and len(self._kept) > 1):
            _, oldest = self._kept.popitem(last=False)
            self._size -= len(oldest.answer.body)
