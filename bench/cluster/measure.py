"""Each side beside 10, 100 and 1,000 routes: how they come, what is new, and endpoints that churn.

Every figure is taken in this one run, on one machine with everything on it: API server, etcd, control plane,
Envoy and whoever asks. `CHURN=60` says for how many seconds endpoints change, `PROBES=100` how many routes
are new, `ROUTES=10,100,1000` beside how many, `SIDES=Legation` who is measured.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from time import monotonic

from bench.cluster.asking import churned, probed
from bench.cluster.manifests import routes
from bench.cluster.report import Busy, Created, Size, report
from bench.cluster.scene import Scene, staged
from bench.cluster.sides import SIDES, Side
from bench.cluster.usage import forget_peak, usage
from tests.real_envoy import until

SIZES = tuple(int(each) for each in os.environ.get("ROUTES", "10,100,1000").split(","))
PROBES = int(os.environ.get("PROBES", "100"))
CHURN = float(os.environ.get("CHURN", "60"))
WANTED = os.environ.get("SIDES", ",".join(side.name for side in SIDES)).split(",")
GIVEN_UP = 300.0  # seconds


async def measure(scene: Scene, size: int) -> Size:
    """Measure everything beside so many routes, and leave none."""
    await scene.have_backends(size)
    created = await create(scene, size)
    quiet = await probed(scene, PROBES)
    busy = await churn(scene)
    _, under_churn = await churned(scene, probed(scene, PROBES))
    await scene.delete_routes()
    await count_is(scene.attached, 0)
    return Size(created, quiet, busy, under_churn)


async def create(scene: Scene, size: int) -> Created:
    """Create routes, and wait until all is told of them."""
    forget_peak(scene.pid)
    writes, before = await scene.status_writes(), usage(scene.pid)
    await scene.put_all(routes(size))
    began = monotonic()
    await count_is(scene.accepted, size)
    behind = monotonic() - began
    await count_is(scene.attached, size)
    used, after = usage(scene.pid), await scene.status_writes()
    made = {resource: count - writes[resource] for resource, count in after.items()}
    return Created(used._replace(cpu=used.cpu - before.cpu), made, behind)


async def churn(scene: Scene) -> Busy:
    """Let endpoints churn."""
    writes = sum((await scene.status_writes()).values())
    found, cpu = await churned(scene, _cpu(scene.pid))
    return Busy(found, cpu, sum((await scene.status_writes()).values()) - writes)


async def _cpu(pid: int) -> float:
    """Watch a process for a while, and give how much of a processor it used."""
    began, before = monotonic(), usage(pid).cpu
    await asyncio.sleep(CHURN)
    return (usage(pid).cpu - before) / (monotonic() - began)


async def count_is(count: Callable[[], Awaitable[int]], wanted: int) -> None:
    """Wait until something is counted as often as wanted."""

    async def counted() -> bool:
        return await count() == wanted

    await until(counted, within=GIVEN_UP)


async def everything(side: Side) -> list[Size]:
    """Measure a side beside all numbers of routes."""
    async with staged(side) as scene:
        return [await measure(scene, size) for size in SIZES]


async def main() -> None:
    """Measure whoever is wanted, one after the other, and print what was found so far after each."""
    found: dict[str, list[Size]] = {}
    for side in SIDES:
        if side.name in WANTED:
            found[side.name] = await everything(side)
            print(report(SIZES, found), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
