"""The event loop is watched: none of its stalls is missed, and some of them are named."""

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from legation.telemetry import watchdog
from legation.telemetry.rations import Ration
from legation.telemetry.watchdog import BEAT, ELSEWHERE, PERIOD, SAID, STALL, Pulse, Watchdog
from legation.turns import FLOOR
from tests.looking import SOON, eventually

NAP = 0.3
JUST_A_STALL = STALL + 0.001


@asynccontextmanager
async def watched(registry: CollectorRegistry) -> AsyncIterator[None]:
    task = asyncio.create_task(Watchdog(registry).run())
    await asyncio.sleep(0)
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def counted(registry: CollectorRegistry, what: str, up_to: str = "+Inf") -> float:
    return registry.get_sample_value(f"legation_loop_{what}_seconds_bucket", {"le": up_to}) or 0.0


def looks(registry: CollectorRegistry, up_to: str = "+Inf") -> float:
    return counted(registry, "delay", up_to)


def stalls(registry: CollectorRegistry) -> float:
    return looks(registry) - looks(registry, str(STALL))


def nap(seconds: float = NAP) -> None:
    time.sleep(seconds)


@pytest.fixture
def talkative(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every stall named: a busy machine has more of them than ours."""
    monkeypatch.setattr(watchdog, "SAID", Ration(at_once=1_000, every=1.0))


@pytest.mark.usefixtures("talkative")
async def test_what_stalls_the_loop_is_counted_and_named() -> None:
    registry = CollectorRegistry()
    with capture_logs() as said:
        async with watched(registry):

            def is_named() -> bool:
                nap()  # again, where nobody had the time to look
                return any(f"{__name__}.nap:" in line["ran"] for line in said)

            await eventually(is_named)
    assert stalls(registry) >= 1
    assert registry.get_sample_value("legation_loop_delay_seconds_sum") >= NAP  # type: ignore[operator]  # it is there
    line = next(line for line in said if "nap" in line["ran"])
    assert (line["event"], line["log_level"]) == ("the event loop stalled", "info")
    assert line["seconds"] >= NAP - 0.001


def spin(seconds: float = NAP) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


async def stalled_by(does: Callable[[], None], registry: CollectorRegistry) -> float:
    """Stall a loop; return for how many seconds of that its process computed, by the log."""
    with capture_logs() as said:
        async with watched(registry):
            does()
            await eventually(lambda: stalls(registry) >= 1)
    computed: float = max(said, key=lambda line: line["seconds"])["computed"]
    return computed


async def test_what_is_computed_in_a_stall_is_told() -> None:
    registry = CollectorRegistry()
    assert await stalled_by(spin, registry) >= NAP - 0.001
    assert counted(registry, "computed", str(STALL)) < counted(registry, "computed") == looks(registry)


async def test_what_only_waits_computes_nothing() -> None:
    assert await stalled_by(nap, CollectorRegistry()) < NAP / 2


async def test_what_is_computed_before_a_late_turn_counts_to_it() -> None:
    pulse = Pulse()
    loop, over = asyncio.get_running_loop(), asyncio.Event()

    def late() -> None:
        spin(STALL)
        over.set()

    with pulse.felt(loop):
        loop.call_later(0, late)
        spin(4 * STALL)
        await over.wait()
    assert sum(turn.computed for turn in pulse.stalls) >= 5 * STALL - 0.001
    assert all(turn.computed <= turn.took for turn in pulse.stalls)


async def test_no_stall_is_missed_however_short_and_whenever_it_begins() -> None:
    registry = CollectorRegistry()
    many = 20
    async with watched(registry):
        for number in range(many):
            await asyncio.sleep(PERIOD * number / many)
            nap(JUST_A_STALL)
        await eventually(lambda: stalls(registry) >= many)


async def test_what_comes_too_late_and_takes_too_long_is_a_stall_of_its_own() -> None:
    pulse = Pulse()
    loop = asyncio.get_running_loop()
    with pulse.felt(loop):
        loop.call_later(STALL, nap, JUST_A_STALL)
        nap(2 * STALL)
        await asyncio.sleep(2 * STALL)
    first, second, *_ = pulse.stalls
    assert first.took >= 2 * STALL
    assert second.took >= JUST_A_STALL
    assert first.began + first.took <= second.began


async def test_what_waits_is_no_turn() -> None:
    pulse = Pulse()
    with pulse.felt(asyncio.get_running_loop()):
        began = time.monotonic()
        await asyncio.sleep(NAP)
        waited, busy = time.monotonic() - began, pulse.busy(time.monotonic())
    assert busy < waited - NAP / 2


async def held_by_another_thread(seconds: float, times: int) -> None:
    """Have a thread hold the interpreter again and again, while the loop has nothing to do but wait."""
    loop, over, usual = asyncio.get_running_loop(), asyncio.Event(), sys.getswitchinterval()

    def hold() -> None:
        for _ in range(times):
            time.sleep(2 * BEAT)
            until = time.thread_time() + seconds
            while time.thread_time() < until:
                pass
        loop.call_soon_threadsafe(over.set)

    holding = threading.Thread(target=hold)
    sys.setswitchinterval(2 * seconds)
    try:
        holding.start()
        await over.wait()
        holding.join()
    finally:
        sys.setswitchinterval(usual)


@pytest.mark.usefixtures("talkative")
async def test_another_thread_that_keeps_the_loop_waiting_is_noticed() -> None:
    registry, times = CollectorRegistry(), 5
    with capture_logs() as said:
        async with watched(registry):
            await held_by_another_thread(4 * STALL, times)
            await eventually(
                lambda: any(line["ran"] == ELSEWHERE and line["computed"] > STALL for line in said)
            )
    assert stalls(registry) >= 1


async def test_a_loop_that_stalls_all_the_time_says_so_a_few_times() -> None:
    registry = CollectorRegistry()
    many = 3 * SAID.at_once
    with capture_logs() as said:
        async with watched(registry):
            while stalls(registry) < many:
                time.sleep(PERIOD + STALL)  # noqa: ASYNC251  # this is what stalls it
                await asyncio.sleep(0)
    assert len(said) == SAID.at_once


async def test_the_loop_is_as_it_was_when_nobody_watches_any_more() -> None:
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]  # what is timed
    before = selector.select
    async with watched(CollectorRegistry()):
        assert selector.select != before
    assert selector.select == before


async def test_threads_that_compute_see_whether_the_loop_is_at_something() -> None:
    async with watched(CollectorRegistry()):
        assert FLOOR.turn() is not None
        assert await asyncio.to_thread(eventually_idle)
    assert FLOOR.turn() is None


def eventually_idle() -> bool:
    until = time.monotonic() + SOON
    while FLOOR.turn() is not None and time.monotonic() < until:
        pass
    return FLOOR.turn() is None
