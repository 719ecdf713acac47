"""Each side beside 10, 100 and 1,000 routes: how they come, what is new, and endpoints that churn.

Every figure is taken in this one run, on one machine with everything on it: API server, etcd, control plane,
Envoy and whoever asks. `CHURN=60` says for how many seconds endpoints change, `PROBES=100` how many routes
are new, `ROUTES=10,100,1000` beside how many, `GATEWAYS=1` how many Gateways share those, each with an
Envoy, and `SIDES=Legation,Contour` who is measured.
"""

import asyncio
import os
from collections.abc import Sequence
from itertools import chain
from time import monotonic

from bench.cluster.asking import ASKED, churned, found, probed
from bench.cluster.manifests import policies, proved_hosts, routes
from bench.cluster.report import Busy, Created, Size, report
from bench.cluster.scene import Scene, staged
from bench.cluster.sides import SIDES, Side
from bench.cluster.usage import forget_peak, together
from bench.cluster.wanted import CHURN, GATEWAYS, PROBES, SIZES, count_is
from bench.cluster.writes import since

WANTED = os.environ.get("SIDES", ",".join(side.name for side in SIDES)).split(",")


async def measure(scene: Scene, size: int) -> Size:
    """Measure everything beside so many routes, and leave none."""
    await count_is(scene.attached, GATEWAYS)
    await scene.have_backends(size)
    created = await create(scene, size)
    quiet = await probed(scene, PROBES)
    busy = await churn(scene)
    _, under_churn = await churned(scene, probed(scene, PROBES))
    await scene.delete_all(chain(routes(size), policies(size)))
    return Size(created, quiet, busy, under_churn)


async def create(scene: Scene, size: int) -> Created:
    """Create policies and routes, wait until all is told of them, and ask one, and all that is behind TLS."""
    for pid in scene.pids:
        forget_peak(pid)
    writes, before = await scene.status_writes(), together(scene.pids)
    await scene.put_all(chain(policies(size), routes(size, GATEWAYS)))
    began = monotonic()
    await count_is(scene.accepted, GATEWAYS + size)
    behind = monotonic() - began
    await count_is(scene.accepted_policies, len([*policies(size)]))
    await count_is(scene.attached, GATEWAYS + size)
    used, after = together(scene.pids), await scene.status_writes()
    for host in (ASKED, *proved_hosts(size, GATEWAYS)):
        await found(scene, host)
    return Created(used._replace(cpu=used.cpu - before.cpu), since(writes, after), behind)


async def churn(scene: Scene) -> Busy:
    """Let endpoints churn."""
    writes = await scene.status_writes()
    seen, cpu = await churned(scene, _cpu(scene.pids))
    return Busy(seen, cpu, since(writes, await scene.status_writes()))


async def _cpu(pids: Sequence[int]) -> float:
    """Watch processes for a while, and give how much of a processor they used."""
    began, before = monotonic(), together(pids).cpu
    await asyncio.sleep(CHURN)
    return (together(pids).cpu - before) / (monotonic() - began)


async def everything(side: Side) -> list[Size]:
    """Measure a side beside all numbers of routes."""
    async with staged(side) as scene:
        return [await measure(scene, size) for size in SIZES]


async def main() -> None:
    """Measure whoever is wanted, one after the other, and print what was found so far after each."""
    measured: dict[str, list[Size]] = {}
    for side in SIDES:
        if side.name in WANTED:
            measured[side.name] = await everything(side)
            print(report(SIZES, measured), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
