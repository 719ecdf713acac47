"""Watches the event loop: how late it is, and what it does while it is."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

import structlog
from prometheus_client import CollectorRegistry, Histogram

from legation.telemetry.rations import Bucket, Ration

PERIOD = 0.05  # seconds between two looks
STALL = 0.02  # seconds; what takes longer is worth a line
SAID = Ration(at_once=3, every=60.0)
DEEPEST = 4  # calls that a line names
BUCKETS = (0.001, 0.002, 0.005, 0.01, STALL, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
NOTHING = "nothing: the processor was busy elsewhere"


class Watchdog:
    """Looks at the loop from the loop, for how late it is, and from a thread, for what keeps it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Begin without having seen anything."""
        self._log = structlog.get_logger()
        self._delays = Histogram(
            "legation_loop_delay_seconds", "How late the event loop was", buckets=BUCKETS, registry=registry
        )
        self._ration = Bucket(SAID, monotonic())
        self._unsaid = 0
        self._due = monotonic() + PERIOD
        self._ran = NOTHING

    async def run(self) -> None:
        """Look until cancelled."""
        with self._from_outside():
            while True:
                self._due, self._ran = monotonic() + PERIOD, NOTHING
                await asyncio.sleep(PERIOD)
                late = max(0.0, monotonic() - self._due)
                self._delays.observe(late)
                if late > STALL:
                    self._say(late)

    def _say(self, late: float) -> None:
        if self._ration.left(monotonic()) < 1:
            self._unsaid += 1
            return
        self._ration.take()
        more = {"unsaid": self._unsaid} if self._unsaid else {}
        self._unsaid = 0
        self._log.info("the event loop stalled", seconds=round(late, 3), ran=self._ran, **more)

    @contextmanager
    def _from_outside(self) -> Iterator[None]:
        """Have a thread look at this one whenever it is late."""
        over = threading.Event()
        watcher = threading.Thread(target=self._look, args=(over, threading.get_ident()), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()

    def _look(self, over: threading.Event, watched: int) -> None:
        while not over.wait(max(STALL, self._due + STALL - monotonic())):
            if monotonic() > self._due + STALL and self._ran is NOTHING:
                frame = sys._current_frames().get(watched)  # noqa: SLF001  # the one way to see another thread
                self._ran = named(frame) or NOTHING


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
