"""What the environment asks of a run, and how long anything may take."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

from tests.real_envoy import until

SIZES = tuple(int(each) for each in os.environ.get("ROUTES", "10,100,1000").split(","))
GATEWAYS = int(os.environ.get("GATEWAYS", "1"))
PROBES = int(os.environ.get("PROBES", "100"))
CHURN = float(os.environ.get("CHURN", "60"))  # seconds
GIVEN_UP = 300.0 * max(1.0, max(SIZES) / 1_000)  # seconds

WATCHERS = Path("/proc/sys/fs/inotify/max_user_instances")
OF_EACH_ENVOY = 4  # of two workers


def need_watchers() -> None:
    """End here if the kernel gives a user fewer watchers of files than all Envoys need to start."""
    needed, given = OF_EACH_ENVOY * GATEWAYS, int(WATCHERS.read_text())
    if needed > given:
        remedy = f"sysctl fs.inotify.max_user_instances={2 * needed}"
        sys.exit(
            f"{GATEWAYS} Envoys watch files by {needed} inotify instances, and there are {given}: {remedy}"
        )


async def count_is(count: Callable[[], Awaitable[int]], wanted: int) -> None:
    """Wait until something is counted as often as wanted."""

    async def counted() -> bool:
        began = monotonic()
        if await count() == wanted:
            return True
        await asyncio.sleep(monotonic() - began)  # who is measured has as much time as who counts
        return False

    await until(counted, within=GIVEN_UP)
