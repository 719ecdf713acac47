"""The control plane ends, asked to or killed, and comes again: HTTPS goes on, and can still be changed."""

import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.changing.kiosk import GUESTS, LATE, SOME, furnished, opened, visited
from tests.legation.running import is_alive, legation_up
from tests.looking import eventually
from tests.real_envoy import RunningEnvoy, running_envoy

pytestmark = pytest.mark.envoy

NOBODY = None  # who answers where nothing listens


async def waited_in_vain(envoy: RunningEnvoy) -> int:
    """Count how often an Envoy went on without something that it had asked for."""
    found = [value for name, value in (await envoy.stats()).items() if name.endswith("init_fetch_timeout")]
    assert found, "it counts that"
    return sum(found)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
async def test_https_listeners_and_certificates_change_without_a_failure_after_a_control_plane_came_again(
    how: signal.Signals, tmp_path: Path
) -> None:
    async with opened(tmp_path) as (kiosk, plane), running_envoy(await plane.bootstrap()) as envoy:
        async with AsyncExitStack() as followers, visited(kiosk):
            plane.end(how)
            await kiosk.traffic.more(SOME)
            await followers.enter_async_context(plane.followed(tmp_path))
            await kiosk.change_https()
        assert (kiosk.broken, kiosk.dismissed) == (0, 0)
        assert await waited_in_vain(envoy) == 0


async def test_what_changed_of_https_while_the_control_plane_was_killed_is_served_once_it_came_again(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (kiosk, plane), running_envoy(await plane.bootstrap()) as envoy:
        async with AsyncExitStack() as followers, visited(kiosk):
            plane.end(signal.SIGKILL)
            kiosk.open_to(GUESTS, LATE)
            kiosk.renew_certificate()
            kiosk.lead_to("new")
            await kiosk.traffic.more(SOME)
            assert not await kiosk.is_let_in(LATE)
            await followers.enter_async_context(plane.followed(tmp_path))
            await kiosk.reached()
            await kiosk.lets_in(LATE)
            await kiosk.lets_in(GUESTS)
        assert (kiosk.broken, kiosk.dismissed) == (0, 0)
        assert await waited_in_vain(envoy) == 0


async def test_up_that_is_killed_takes_its_envoys_along_and_is_back_with_all_it_served_before(
    tmp_path: Path,
) -> None:
    async with (
        furnished(tmp_path) as kiosk,
        legation_up(tmp_path) as killed,
        AsyncExitStack() as followers,
        visited(kiosk),
    ):
        envoys = await killed.pids()
        killed.process.kill()
        kiosk.traffic.expect(frozenset({"old", NOBODY}))
        await eventually(lambda: not any(map(is_alive, envoys)))
        await kiosk.traffic.more(SOME)
        await followers.enter_async_context(legation_up(tmp_path))
        await kiosk.lets_in(GUESTS)
        await kiosk.traffic.quiet()
        kiosk.traffic.enter(frozenset({"old"}))
        await kiosk.change_https()
        kiosk.lead_to("new")
        await kiosk.reached()
    assert NOBODY in kiosk.traffic.answers
