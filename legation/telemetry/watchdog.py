"""Watches the event loop: for how long it keeps everybody waiting, and what it does meanwhile.

Turns of the loop are timed exactly, where it begins and ends to wait. What keeps it from a turn is not seen
from there, such as another thread that holds the interpreter: that makes the beat of a watching thread late.
Of either it is said for how long this process computed: otherwise it waited itself, mostly for a processor.
"""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, process_time, sleep
from types import FrameType
from typing import NamedTuple

import structlog
from prometheus_client import CollectorRegistry, Histogram

from legation.telemetry.rations import Bucket, Ration
from legation.turns import FLOOR, nobody

BEAT = 0.01  # seconds between two looks; what is no stall before it is over is seen while it goes on
CLOSE = 0.005  # and while another thread computes, which may keep the interpreter
PERIOD = 0.05  # seconds of which the longest delay is counted, beside each stall
STALL = 0.02  # seconds; what takes longer is worth a line
MOMENT = (
    0.001  # seconds of waiting, in which nothing is computed that is worth a look at the processor's clock
)
SAID = Ration(at_once=3, every=60.0)
DEEPEST = 4  # calls that a line names
BUCKETS = (0.001, 0.002, 0.005, 0.01, STALL, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
ELSEWHERE = "nothing: another thread or another process had the processor"
UNSEEN = "unknown: no other thread could look"


class Turn(NamedTuple):
    """One turn of the loop that is over."""

    began: float
    took: float
    computed: float  # of that, by all threads of this process


class Longest(NamedTuple):
    """The longest of several delays, and the longest computing in one of them."""

    took: float = 0.0
    computed: float = 0.0

    def or_longer(self, took: float, computed: float) -> "Longest":
        """Count one more."""
        return Longest(max(self.took, took), max(self.computed, computed))


class Pulse:
    """Times the turns of a loop, from when something is due until the loop waits for more."""

    def __init__(self) -> None:
        """Begin within a turn."""
        self.stalls: deque[Turn] = deque()
        self._longest = Longest()
        self._computed = process_time()  # by this process, when the turn began
        self._so_far: tuple[float, float | None] = (0.0, monotonic())  # in turns, and since when in this one

    @property
    def began(self) -> float | None:
        """When the turn began that is not over, if there is one."""
        return self._so_far[1]

    def busy(self, now: float) -> float:
        """Return the seconds of all turns, up to now."""
        over, began = self._so_far
        return over if began is None else over + now - began

    def longest(self) -> Longest:
        """Return how long the longest turn was since this was last asked, but for stalls."""
        longest, self._longest = self._longest, Longest()
        return longest

    @contextmanager
    def felt(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Time turns until the block ends; those of this loop, where it waits for events."""
        selector = loop._selector  # type: ignore[attr-defined]  # noqa: SLF001  # nobody else knows of turns
        untimed = selector.select
        selector.select = self._timing(untimed)
        try:
            yield
        finally:
            selector.select = untimed

    def _timing(self, wait: Callable[[float | None], list[object]]) -> Callable[..., list[object]]:
        def select(timeout: float | None = None) -> list[object]:
            asked, computed = monotonic(), process_time()
            self._over(asked, computed)
            FLOOR.turn_is_over()
            events = wait(timeout)
            now = monotonic()
            due = now if timeout is None else min(now, asked + max(timeout, 0.0))
            if now - asked > MOMENT:
                computed = max(computed, process_time() - (now - due))
            self._computed = computed
            self._so_far = (self._so_far[0], due)
            return events

        return select

    def _over(self, now: float, computed: float) -> None:
        over, began = self._so_far
        if began is None:
            return
        took = now - began
        turn = Turn(began, took, min(took, computed - self._computed))
        if took > STALL:
            self.stalls.append(turn)
        else:
            self._longest = self._longest.or_longer(turn.took, turn.computed)
        self._so_far = (over + took, None)


class Watchdog:
    """Counts how long the loop keeps waiting, and names what keeps it, from a thread beside it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Begin without having seen anything."""
        self._log = structlog.get_logger()
        self._delays = Histogram(
            "legation_loop_delay_seconds",
            "How long the event loop kept waiting what was due",
            buckets=BUCKETS,
            registry=registry,
        )
        self._computed = Histogram(
            "legation_loop_computed_seconds",
            "For how long of that this process computed, and did not wait itself, mostly for a processor",
            buckets=BUCKETS,
            registry=registry,
        )
        self._ration = Bucket(SAID, monotonic())
        self._unsaid = 0
        self._pulse = Pulse()
        self._seen = (0.0, UNSEEN)  # when a turn began, and what ran in it

    async def run(self) -> None:
        """Watch the running loop until cancelled."""
        self._pulse, over = Pulse(), threading.Event()
        watcher = threading.Thread(target=self._watch, args=(over, threading.get_ident()), daemon=True)
        with self._pulse.felt(asyncio.get_running_loop()):
            watcher.start()
            FLOOR.turn = lambda: self._pulse.began
            try:
                await asyncio.Event().wait()
            finally:
                FLOOR.turn = nobody
                over.set()
                watcher.join()

    def _watch(self, over: threading.Event, watched: int) -> None:
        now = counted = monotonic()
        busy, computed, longest = self._pulse.busy(now), process_time(), Longest()
        while not over.is_set():
            beat = BEAT if FLOOR.is_free else CLOSE
            sleep(beat)  # half of what it costs to wait for `over`
            before, was_busy, had_computed = now, busy, computed
            now, computed = monotonic(), process_time()
            busy = self._pulse.busy(now)
            longest = longest.or_longer(*self._pulse.longest())
            apart = now - before - (busy - was_busy)
            longest = longest.or_longer(*self._kept(apart, computed - had_computed, beat))
            self._tell_stalls()
            began = self._pulse.began
            if began is not None and now - began >= BEAT:
                self._look(began, watched)
            elif now - counted >= PERIOD:
                self._delays.observe(longest.took)
                self._computed.observe(longest.computed)
                counted, longest = now, Longest()

    def _kept(self, apart: float, computed: float, beat: float) -> Longest:
        """Say how late a beat was, which apart from turns took so long; all of that may have been a stall."""
        if apart <= STALL:
            late = max(0.0, apart - beat)
            return Longest(late, min(late, computed))
        self._stalled(apart, min(apart, computed), ELSEWHERE)
        return Longest()

    def _tell_stalls(self) -> None:
        while self._pulse.stalls:
            turn = self._pulse.stalls.popleft()
            began, ran = self._seen
            self._stalled(turn.took, turn.computed, ran if began == turn.began else UNSEEN)

    def _look(self, began: float, watched: int) -> None:
        """See what the loop is at, once in each turn."""
        if self._seen[0] != began:
            frame = sys._current_frames().get(watched)  # noqa: SLF001  # the one way to see another thread
            self._seen = (began, named(frame) or UNSEEN)

    def _stalled(self, seconds: float, computed: float, ran: str) -> None:
        self._delays.observe(seconds)
        self._computed.observe(computed)
        if self._ration.left(monotonic()) < 1:
            self._unsaid += 1
            return
        self._ration.take()
        more = {"unsaid": self._unsaid} if self._unsaid else {}
        self._unsaid = 0
        spent = {"seconds": round(seconds, 3), "computed": round(computed, 3)}
        self._log.info("the event loop stalled", **spent, ran=ran, **more)


def named(frame: FrameType | None) -> str:
    """Name the innermost calls that a thread made: nothing where a loop only waits for events."""
    calls: list[str] = []
    while frame is not None and len(calls) < DEEPEST:
        module = frame.f_globals.get("__name__", "")
        if module.partition(".")[0] in ("asyncio", "selectors"):
            break
        calls.append(f"{module}.{frame.f_code.co_qualname}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(calls)
