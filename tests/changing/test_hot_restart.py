"""An Envoy is followed by another of itself, as its operators do without losing anything."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest

from tests.changing.kiosk import Kiosk, Plane, opened, visited
from tests.real_envoy import RunningEnvoy, running_envoy

pytestmark = pytest.mark.envoy

DRAINS, ENDS = 4, 30  # seconds after which the older one has asked all clients to leave, and is gone
GONE_WITHIN = 120.0
OUTAGE = 20.0  # longer than Envoys wait for a first configuration unless they are told to


class Epochs:
    """One Envoy after the other, each with the listeners of the one before."""

    def __init__(self, folder: Path, plane: Plane) -> None:
        """Begin before the first."""
        self._base = folder / "base"
        self._plane = plane
        self._next = 0

    @asynccontextmanager
    async def another(self, *, ready: bool = True) -> AsyncIterator[RunningEnvoy]:
        """Have the next one run."""
        number, self._next = self._next, self._next + 1
        base = ("--base-id", self._base.read_text()) if number else ("--use-dynamic-base-id",)
        times = ("--drain-time-s", str(DRAINS), "--parent-shutdown-time-s", str(ENDS))
        flags = ("--restart-epoch", str(number), "--base-id-path", str(self._base), *base, *times)
        async with running_envoy(await self._plane.bootstrap(), *flags, wait_ready=ready) as envoy:
            yield envoy


async def gone(envoy: RunningEnvoy) -> None:
    """Wait until its successor has ended it."""
    async with asyncio.timeout(GONE_WITHIN):
        assert await envoy.process.wait() == 0


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[tuple[Kiosk, Plane, Callable[..., Awaitable[RunningEnvoy]]]]:
    """Have a kiosk, a control plane, and a way to begin the next epoch."""
    shop = folder / "shop"
    shop.mkdir()
    async with opened(shop) as (kiosk, plane), AsyncExitStack() as stack:
        epochs = Epochs(folder, plane)

        async def begin(*, ready: bool = True) -> RunningEnvoy:
            return await stack.enter_async_context(epochs.another(ready=ready))

        yield kiosk, plane, begin


async def test_a_hot_restart_costs_no_request_and_no_connection_ends_without_a_word(tmp_path: Path) -> None:
    async with scene(tmp_path) as (kiosk, _, begin):
        first = await begin()
        async with visited(kiosk):
            second = await begin()
            kiosk.lead_to("new")
            await kiosk.reached()
            await gone(first)
            kiosk.lead_to("old")
            await kiosk.reached()
            await begin()
            await gone(second)
            kiosk.lead_to("new")
            await kiosk.reached()
            await kiosk.change_https()
        assert kiosk.broken == 0


async def test_an_envoy_without_a_control_plane_leaves_everything_to_the_one_before_it(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as (kiosk, plane, begin):
        first = await begin()
        async with visited(kiosk):
            plane.link.cut()
            second = await begin(ready=False)
            ends = monotonic() + OUTAGE
            while monotonic() < ends:
                await kiosk.traffic.more()
                assert not await second.ready()
            kiosk.lead_to("new")
            plane.link.mend()
            await kiosk.reached()
            await gone(first)
            assert await second.ready()
            await kiosk.change_https()
        assert kiosk.broken == 0
