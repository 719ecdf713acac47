"""Who computes when: the event loop first, and beside it one thread at a time.

Only one thread runs Python at any moment. One that computes for long would take every second moment from the
event loop, and several of them all but a few. So they have the floor one after the other, and stop where they
can while the event loop is at something.
"""

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock, get_ident
from time import monotonic
from typing import TypeVar

import msgspec
from msgspec import Raw

from legation.collection import undisturbed

T = TypeVar("T")

SWITCH = 0.0005  # seconds; by itself Python gives ten times as many, and an Envoy's message needs several
SHARE = 0.005  # seconds for which a thread has the floor while others want it
FEW = 16  # things to say, or to look at, on the event loop at once
A_WHILE = 0.001  # seconds after which others have their turn on the event loop
LONGEST = 0.05  # seconds for which a thread waits for the event loop at once


def give_way_soon() -> None:
    """Have a thread that computes give way soon to one that waits; a translation hardly notices."""
    sys.setswitchinterval(SWITCH)


def nobody() -> float | None:
    """Know of no turn of an event loop."""
    return None


class Floor:
    """Held by the one thread that computes beside the event loop; who asked first has it next."""

    def __init__(self) -> None:
        """Begin with nobody on it, and without an event loop to wait for."""
        self.turn: Callable[[], float | None] = nobody  # since when the event loop is at something
        self._guard = Lock()
        self._holder: int | None = None
        self._waiting: deque[Lock] = deque()
        self._pause: Lock | None = None  # of who waits for the turn of the event loop
        self._until = 0.0
        self._again = 0.0

    @property
    def is_free(self) -> bool:
        """Whether nobody computes."""
        return self._holder is None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold it while the block runs."""
        self._take()
        try:
            yield
        finally:
            self._leave()

    def give_way(self) -> None:
        """Let others go first, for whoever holds it: call it often, it hardly costs anything."""
        now = monotonic()
        if self._waiting and now >= self._until and self._holder == get_ident():
            self._leave()
            self._take()
        elif now >= self._again and self.turn() is not None and self._holder == get_ident():
            self._wait(now)

    def turn_is_over(self) -> None:
        """Have who waits for the event loop go on."""
        if (pause := self._pause) is not None:
            self._pause = None
            pause.release()

    def _wait(self, began: float) -> None:
        """Wait until the turn is over that the event loop is at, and work for as long afterwards."""
        pause = Lock()
        pause.acquire()
        self._pause = pause
        if self.turn() is not None:  # still, now that its end would be told
            pause.acquire(timeout=LONGEST)
        self._pause = None
        now = monotonic()
        self._again = now + (now - began)

    def _take(self) -> None:
        mine = Lock()
        with self._guard:
            if self._holder is None:
                self._holder = get_ident()
            else:
                mine.acquire()
                self._waiting.append(mine)
        with mine:  # whoever leaves releases it
            self._holder = get_ident()
        self._until = monotonic() + SHARE

    def _leave(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._holder = None


FLOOR = Floor()  # one, as there is one interpreter
give_way = FLOOR.give_way


def pieces(things: Iterable[object]) -> list[Raw]:
    """Write each thing as JSON by itself: between two of them others may have the interpreter."""
    return [Raw(msgspec.json.encode(each)) for each in things]


def drop(things: list[object]) -> None:
    """Let go of one thing after the other, beside the event loop, which may have its turns in between."""
    while things:
        give_way()
        things.pop()


async def in_turns(things: Iterable[T]) -> AsyncIterator[T]:
    """Give one thing after the other; after each few others have their turn on the event loop."""
    for number, each in enumerate(things, start=1):
        yield each
        if number % FEW == 0:
            await asyncio.sleep(0)


async def let_go(before: list[object], after: Sequence[object] = ()) -> None:
    """Drop one thing after the other; whenever that has taken a while, others have a turn.

    What has shrunk by many, as can be told by what comes after it, is dropped part by part.
    """
    things = [*_parts_of_what_shrank(before, after), *before]
    before.clear()
    began = monotonic()
    while things:
        things.pop()
        if monotonic() - began > A_WHILE:
            await asyncio.sleep(0)
            began = monotonic()


def _parts_of_what_shrank(before: Iterable[object], after: Iterable[object]) -> Iterator[object]:
    for was, now in zip(before, after, strict=False):
        if isinstance(was, Collection) and isinstance(now, Collection) and len(was) > len(now) + FEW:
            yield from was
            yield from was.values() if isinstance(was, Mapping) else ()


async def aside(work: Callable[[], T]) -> T:
    """Have work that may take long done beside the event loop, and return what comes of it."""
    return await asyncio.to_thread(_computed, work)


def _computed(work: Callable[[], T]) -> T:
    with FLOOR.taken(), undisturbed():
        return work()
