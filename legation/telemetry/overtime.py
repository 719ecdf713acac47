"""Raises the alarm about a translation that does not end: what is served goes on, but nothing new arrives.

Nothing is ended for it. A thread cannot be, and a process that starts anew would meet the same objects with
nothing to serve; Envoys go on with what they have, and so does this process for those that connect.
"""

import asyncio
import sys
from collections.abc import Callable, Iterable
from time import monotonic
from typing import NamedTuple

import structlog
from prometheus_client.core import GaugeMetricFamily, Metric

from legation.checks.findings import Finding
from legation.checks.table import MISTAKE
from legation.telemetry.watchdog import named

PERIOD = 1.0  # seconds between two looks
LONG = 20.0  # seconds; the largest worlds take a few
REMEDY = "changes wait meanwhile: take back what was changed last, and please report this with the log"


class Running(NamedTuple):
    """A translation that runs: since when, and in which thread."""

    since: float
    thread: int


class Overtime:
    """Looks how long a translation has been running."""

    def __init__(self, running: Callable[[], Running | None], long: float = LONG) -> None:
        """Begin; nothing is looked at yet."""
        self._running = running
        self._long = long
        self._log = structlog.get_logger()

    async def run(self) -> None:
        """Look until cancelled; each translation is told of once."""
        told: Running | None = None
        while True:
            await asyncio.sleep(min(PERIOD, self._long))
            running = self._running()
            if running is not None and running != told and self._seconds() > self._long:
                told = running
                frame = sys._current_frames().get(running.thread)  # noqa: SLF001  # the one way to see it
                self._log.error(
                    "a translation does not end", seconds=round(self._seconds(), 1), at=named(frame)
                )

    def findings(self) -> tuple[Finding, ...]:
        """Say it among what is wrong."""
        seconds = self._seconds()
        if seconds <= self._long:
            return ()
        said = f"has been running for {seconds:.0f} s"
        return (Finding(MISTAKE.group, "the translation", "", said, REMEDY, check=MISTAKE.id),)

    def collect(self) -> Iterable[Metric]:
        """Say it to Prometheus."""
        says = "How long the translation that runs now has been running"
        yield GaugeMetricFamily("legation_translation_running_seconds", says, value=self._seconds())

    def _seconds(self) -> float:
        running = self._running()
        return monotonic() - running.since if running is not None else 0.0
