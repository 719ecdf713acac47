"""The event loop is watched: its stalls are counted, and some of them are named."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from legation.telemetry.watchdog import PERIOD, SAID, STALL, Watchdog
from tests.looking import eventually

NAP = 0.3


@asynccontextmanager
async def watched(registry: CollectorRegistry) -> AsyncIterator[None]:
    task = asyncio.create_task(Watchdog(registry).run())
    await asyncio.sleep(0)
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def looks(registry: CollectorRegistry, up_to: str = "+Inf") -> float:
    return registry.get_sample_value("legation_loop_delay_seconds_bucket", {"le": up_to}) or 0.0


def nap() -> None:
    time.sleep(NAP)


async def test_what_stalls_the_loop_is_counted_and_named() -> None:
    registry = CollectorRegistry()
    with capture_logs() as said:
        async with watched(registry):

            def is_named() -> bool:
                nap()  # again, where nobody had the time to look
                return any(f"{__name__}.nap:" in line["ran"] for line in said)

            await eventually(is_named)
    stalls = looks(registry) - looks(registry, str(STALL))
    assert stalls >= 1
    assert registry.get_sample_value("legation_loop_delay_seconds_sum") >= NAP - PERIOD  # type: ignore[operator]  # it is there
    line = next(line for line in said if "nap" in line["ran"])
    assert (line["event"], line["log_level"]) == ("the event loop stalled", "info")
    assert line["seconds"] >= NAP - PERIOD - 0.001


async def test_a_loop_that_stalls_all_the_time_says_so_a_few_times() -> None:
    registry = CollectorRegistry()
    many = 3 * SAID.at_once
    with capture_logs() as said:
        async with watched(registry):
            while looks(registry) - looks(registry, str(STALL)) < many:
                time.sleep(2 * (PERIOD + STALL))  # noqa: ASYNC251  # this is what stalls it
                await asyncio.sleep(0)
    assert len(said) == SAID.at_once
