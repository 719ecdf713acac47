"""Routes that come, and endpoints that churn, beside 10, 100 and 1,000 routes that are there.

Every figure is taken in this one run, on one machine with everything on it: API server, etcd, control plane,
Envoy and whoever asks. `CHURN=60` says for how many seconds endpoints change.
"""

import asyncio
import os
from statistics import median
from time import monotonic
from typing import NamedTuple

import aiohttp

from bench.cluster.cost import Cost, cost
from bench.cluster.scene import PROBE, Scene, accepted, endpoints, route, staged
from e2e.kubectl import eventually

SIZES = (10, 100, 1000)
PROBES = 15
WATCHED = 0.5  # seconds for which a new route must go on answering rightly
CHURN = float(os.environ.get("CHURN", "60"))
CHANGES = 5.0  # of endpoints, each second
FOUND, NOT_FOUND = 200, 404
GIVEN_UP = 30.0  # seconds


class Size(NamedTuple):
    """What was measured beside so many routes."""

    filled: Cost
    first: float  # seconds from the API's answer to the first 200, the median
    wrong: int  # answers after a first 200 that were anything else, or before it neither 404 nor 200
    churn: Cost
    churned: int
    failed: int
    asked: int


async def answer(session: aiohttp.ClientSession, scene: Scene, host: str) -> int:
    """Ask the Gateway for a host."""
    async with session.get(f"http://{scene.at}/", headers={"host": host}) as response:
        await response.read()
        return response.status


async def probe(session: aiohttp.ClientSession, scene: Scene, name: str) -> tuple[float, int]:
    """Create a route; say how long its first 200 took, and how many answers were wrong."""
    host = f"{name}.new.test"
    await scene.put(route(name, host))
    began, wrong = monotonic(), 0
    while (status := await answer(session, scene, host)) != FOUND:
        wrong += status != NOT_FOUND
        assert monotonic() < began + GIVEN_UP, f"{host} still answers {status}"
    took = monotonic() - began
    while monotonic() < began + took + WATCHED:
        wrong += await answer(session, scene, host) != FOUND
    return took, wrong


async def churn(session: aiohttp.ClientSession, scene: Scene, host: str) -> tuple[int, int, int]:
    """Change endpoints steadily while somebody asks; count changes, failed requests, and all requests."""
    ends, changes, failed, asked = monotonic() + CHURN, 0, 0, 0

    async def ask() -> None:
        nonlocal failed, asked
        while monotonic() < ends:
            asked += 1
            failed += await answer(session, scene, host) != FOUND
            await asyncio.sleep(0.005)

    asking = asyncio.create_task(ask())
    began = monotonic()
    while monotonic() < ends:
        changes += 1
        await scene.put(endpoints(scene.backend, last=changes))
        await asyncio.sleep(max(0.0, began + changes / CHANGES - monotonic()))
    await asking
    return changes, failed, asked


async def fill(scene: Scene, there: int, size: int) -> Cost:
    """Have so many routes, and give what that cost until each is told of it."""
    before = await cost(scene.legation)
    await scene.put_all(route(f"r{n}", f"r{n}.test") for n in range(there, size))
    await asyncio.to_thread(eventually, lambda: accepted() >= size)
    return (await cost(scene.legation)).since(before)


async def measure(scene: Scene, there: int, size: int) -> Size:
    """Measure everything beside so many routes."""
    filled = await fill(scene, there, size)
    async with aiohttp.ClientSession() as session:
        found = [await probe(session, scene, f"{PROBE}{size}-{n}") for n in range(PROBES)]
        before = await cost(scene.legation)
        changes, failed, asked = await churn(session, scene, "r0.test")
    spent = (await cost(scene.legation)).since(before)
    wrong = sum(each for _, each in found)
    return Size(filled, median(took for took, _ in found), wrong, spent, changes, failed, asked)


def report(size: int, new: int, found: Size, first: Size) -> None:
    """Print what was found beside so many routes, against what was found beside the fewest."""
    per_change = found.churn.cpu / found.churned / (first.churn.cpu / first.churned)
    lines = {
        "status writes for each new route": f"{found.filled.writes / new:.2f}",
        "CPU time for each new route": _ratio(found.filled.cpu / new, first.filled.cpu / SIZES[0]),
        "memory of the control plane": _ratio(found.filled.memory, first.filled.memory),
        "from a new route to its first 200": f"{_ratio(found.first, first.first)} (median of {PROBES})",
        "wrong answers to new routes": found.wrong,
        "CPU time for each change of endpoints": f"{per_change:.2f}x ({found.churned} changes)",
        "status writes meanwhile": f"{found.churn.writes:.0f}",
        "failed requests meanwhile": f"{found.failed} of {found.asked}",
    }
    print(f"\n{size} routes, {new} of them new")
    for title, value in lines.items():
        print(f"  {title + ':':40} {value}", flush=True)


def _ratio(value: float, first: float) -> str:
    return f"{value / first:.2f}x"


async def main() -> None:
    """Print all sizes, each against the first."""
    found: dict[int, Size] = {}
    there = 0
    async with staged() as scene:
        for size in SIZES:
            found[size] = await measure(scene, there, size)
            report(size, size - there, found[size], found[SIZES[0]])
            there = size


if __name__ == "__main__":
    asyncio.run(main())
