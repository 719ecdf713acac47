"""Work of many conversations on one event loop: some milliseconds of it, then others have their turn.

Those of one group take turns among themselves, so that a group with thousands delays another by one piece.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")
SLICE = 0.003  # seconds after which no more is begun


class Piece(Struct, Generic[T], eq=False, frozen=True):
    """Something to do, and whom to give what comes of it."""

    work: Callable[[], T]
    done: asyncio.Future[T]

    def do(self) -> None:
        """Do it, unless nobody waits for it any more."""
        if self.done.done():
            return
        try:
            self.done.set_result(self.work())
        except Exception as bug:  # noqa: BLE001  # goes to whoever waits for it
            self.done.set_exception(bug)


class Turns:
    """All that is to be done: one piece of each group at a time, in the order in which it was asked for."""

    def __init__(self, at_once: float = SLICE) -> None:
        self._at_once = at_once
        self._waiting: dict[str, deque[Piece[Any]]] = {}  # by group, whose turn comes first is the first
        self._is_called = False

    async def do(self, work: Callable[[], T], group: str = "") -> T:
        """Have something done when the turn of its group comes, and return what comes of it."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, deque()).append(Piece(work, done))
        self._call()
        return await done

    def _call(self) -> None:
        if self._waiting and not self._is_called:
            self._is_called = True
            asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_called = False
        until = perf_counter() + self._at_once
        try:
            while self._waiting:
                self._next().do()
                if perf_counter() >= until:
                    break
        finally:
            self._call()

    def _next(self) -> Piece[Any]:
        """Take the oldest piece of the group whose turn it is, which is the last from then on."""
        group = next(iter(self._waiting))
        pieces = self._waiting.pop(group)
        piece = pieces.popleft()
        if pieces:
            self._waiting[group] = pieces
        return piece
