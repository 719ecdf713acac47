"""The control plane is lost, with a word or without: what Envoy has serves on, what changed arrives later."""

from collections.abc import Callable
from pathlib import Path
from time import monotonic

import pytest

from tests.changing.kiosk import opened, visited
from tests.link import Link
from tests.real_envoy import running_envoy

pytestmark = pytest.mark.envoy

OUTAGE = 40.0  # seconds; in less, Envoy does not know of a channel that died without a word


@pytest.mark.parametrize("part", [Link.cut, Link.silence], ids=["cut", "silent"])
async def test_while_the_control_plane_is_out_of_reach_nothing_fails_and_what_changed_arrives_afterwards(
    part: Callable[[Link], None], tmp_path: Path
) -> None:
    async with (
        opened(tmp_path) as (kiosk, plane),
        running_envoy(await plane.bootstrap()),
        visited(kiosk),
    ):
        part(plane.link)
        ends = monotonic() + OUTAGE
        kiosk.lead_to("new")
        while monotonic() < ends:
            await kiosk.traffic.more()
        assert kiosk.traffic.answers.keys() == {"old"}
        plane.link.mend()
        await kiosk.reached()
        await kiosk.change_https()
        assert (kiosk.broken, kiosk.dismissed) == (0, 0)
