"""A tenant who changes much does not keep another waiting: changes are gathered, and cost what they touch."""

import asyncio
import statistics
import time
from contextlib import suppress

from msgspec.structs import replace

from legation.pump import Outcome, Pump, Workbench
from tests.poison.tenants import bystander
from tests.poison.test_limits import matching, route
from tests.poison.test_quarantine import put
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object
from xds_server.snapshot import RDS

ROUTES = 200
LOOKS = 15
NO_MORE_THAN = 10  # times as long as in a calm; measured are less than two
FLOOR = 0.5  # seconds: below that, a busy machine decides
WITHIN = 60.0


def evil(number: int, path: str) -> Object:
    """Return one of the hostile tenant's routes."""
    return route(f"r{number}", 0, [matching([{"path": {"value": path}}])], f"h{number}.example")


def quiet(host: str) -> Object:
    """Return the quiet tenant's route, for another host."""
    [found] = [each for each in bystander() if isinstance(each, HTTPRoute)]
    return replace(found, spec=replace(found.spec, hostnames=(host,)))


class Watched:
    """A pump, and how long it takes until a host is served."""

    def __init__(self) -> None:
        self._news = asyncio.Event()
        self._newest: Outcome | None = None
        self.pump = Pump(Workbench(asks_envoys=False), (self._take,))

    def _take(self, outcome: Outcome) -> None:
        self._newest = outcome
        self._news.set()

    async def serves(self, host: str) -> None:
        """Wait until a host is offered."""
        async with asyncio.timeout(WITHIN):
            while not self._has(host.encode()):
                self._news.clear()
                await self._news.wait()

    def _has(self, host: bytes) -> bool:
        if self._newest is None:
            return False
        tables = self._newest.snapshots["infra/shared"].entries[RDS].values()
        return any(host in each.resource.body for each in tables)

    async def latency(self, weather: str) -> float:
        """Return how long a change of the quiet tenant usually takes."""
        took = []
        for number in range(LOOKS):
            host, began = f"{weather}-{number}.example", time.perf_counter()
            self.pump.put([put(quiet(host))])
            await self.serves(host)
            took.append(time.perf_counter() - began)
        return statistics.median(took)


async def noise(pump: Pump) -> None:
    """Change routes as quickly as anybody could, until cancelled."""
    number = 0
    while True:
        for _ in range(10):
            number += 1
            pump.put([put(evil(number % ROUTES, f"/{number}"))])
        await asyncio.sleep(0.01)


async def test_a_tenant_who_changes_without_end_does_not_keep_another_waiting() -> None:
    watched = Watched()
    running = asyncio.create_task(watched.pump.run())
    watched.pump.put([*map(put, bystander()), *(put(evil(number, "/")) for number in range(ROUTES))])
    calm = await watched.latency("calm")
    shouting = asyncio.create_task(noise(watched.pump))
    loud = await watched.latency("loud")
    for each in (shouting, running):
        each.cancel()
        with suppress(asyncio.CancelledError):
            await each
    assert loud < max(NO_MORE_THAN * calm, FLOOR)


def test_many_new_routes_at_once_are_taken_up_together() -> None:
    workbench = Workbench(asks_envoys=False)
    workbench.work([put(each) for each in bystander()])
    runs = workbench.world.memory.runs
    before = runs.copy()
    workbench.work([put(evil(number, "/")) for number in range(ROUTES)])
    folds = {name: runs[name] - before[name] for name in ("_taken", "_placed", "needs", "agenda")}
    assert max(folds.values()) < ROUTES / 10, folds
