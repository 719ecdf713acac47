"""A tenant who changes much does not keep another waiting: changes are gathered, and cost what they touch."""

import asyncio
from contextlib import suppress

from msgspec.structs import replace

from legation.pump import Pump
from legation.workbench import Outcome, Workbench
from tests.poison.tenants import bystander
from tests.poison.test_limits import matching, route
from tests.poison.test_quarantine import put
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object
from xds_server.snapshot import RDS

ROUTES = 200
LOOKS = 15
MANY = 20
THE_ONE_THAT_RUNS, ITS_OWN = 1, 1  # batches until a change is served
WITHIN = 240.0


def evil(number: int, path: str) -> Object:
    """Return one of the hostile tenant's routes."""
    return route(f"r{number}", 0, [matching([{"path": {"value": path}}])], f"h{number}.example")


def quiet(host: str) -> Object:
    """Return the quiet tenant's route, for another host."""
    [found] = [each for each in bystander() if isinstance(each, HTTPRoute)]
    return replace(found, spec=replace(found.spec, hostnames=(host,)))


class Watched:
    """A pump, and how many batches are done until a host is served."""

    def __init__(self) -> None:
        self.batches = 0
        self._awaited = (b"", asyncio.Event())
        self.pump = Pump(Workbench(asks_envoys=False), (self._take,))

    def _take(self, outcome: Outcome) -> None:
        host, served = self._awaited
        if served.is_set():
            return
        self.batches += 1
        if any(
            host in each.resource.body for each in outcome.snapshots["infra/shared"].entries[RDS].values()
        ):
            served.set()

    async def delay(self, host: str) -> int:
        """Have the quiet tenant ask for a host; return how many batches are done until it is served."""
        self.batches, served = 0, asyncio.Event()
        self._awaited = (host.encode(), served)
        self.pump.put([put(quiet(host))])
        async with asyncio.timeout(WITHIN):
            await served.wait()
        return self.batches


async def noise(pump: Pump) -> None:
    """Change routes as quickly as anybody could, until cancelled."""
    number = 0
    while True:
        for _ in range(10):
            number += 1
            pump.put([put(evil(number % ROUTES, f"/{number}"))])
        await asyncio.sleep(0.01)


async def test_a_tenant_who_changes_without_end_keeps_another_waiting_for_one_batch_at_the_most() -> None:
    watched = Watched()
    running = asyncio.create_task(watched.pump.run())
    watched.pump.put([*map(put, bystander()), *(put(evil(number, "/")) for number in range(ROUTES))])
    await watched.delay("first.example")
    shouting = asyncio.create_task(noise(watched.pump))
    delays = [await watched.delay(f"loud-{number}.example") for number in range(LOOKS)]
    assert not shouting.done()
    for each in (shouting, running):
        each.cancel()
        with suppress(asyncio.CancelledError):
            await each
    assert max(delays) <= THE_ONE_THAT_RUNS + ITS_OWN


def test_a_batch_costs_what_is_touched_in_it() -> None:
    workbench = Workbench(asks_envoys=False)
    workbench.work([*map(put, bystander()), *(put(evil(number, "/")) for number in range(ROUTES))])
    runs = workbench.world.memory.runs

    def cost(changed: int, path: str) -> int:
        before = runs.total()
        workbench.work([put(evil(number, path)) for number in range(changed)])
        return runs.total() - before

    one, many = cost(1, "/one"), cost(MANY, "/many")
    assert many <= MANY * one
    assert one < ROUTES / 4  # whatever else there is


def test_many_new_routes_at_once_are_taken_up_together() -> None:
    workbench = Workbench(asks_envoys=False)
    workbench.work([put(each) for each in bystander()])
    runs = workbench.world.memory.runs
    before = runs.copy()
    workbench.work([put(evil(number, "/")) for number in range(ROUTES)])
    folds = {name: runs[name] - before[name] for name in ("_taken", "_placed", "needs", "agenda")}
    assert max(folds.values()) < ROUTES / 10, folds
