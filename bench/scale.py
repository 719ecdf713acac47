"""What 100,000 routes and 10,000 Envoys would take, from lines through sizes that can be built here.

Each Gateway has a hundred routes, whatever the size. Every size is built in a process of its own.
How far a line can be trusted is measured: it is drawn without the largest size, and has to foretell that.
What a change takes is the median of many of its kind. `ROUTES=2000` names another largest number of routes.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from statistics import linear_regression, median
from time import process_time

import msgspec
from msgspec import Struct

from bench.cluster.usage import usage
from bench.scaling.given import ENDPOINT, Change, as_it_is_told, changes, put, world
from bench.scaling.holding import held
from bench.scaling.visits import GROUP, Visits, visit
from legation import workbench
from legation.collection import undisturbed
from legation.pump import the_time
from legation.workbench import Batch, Outcome, Workbench
from xds_server.hub import Hub
from xds_server.snapshot import Snapshot

LARGEST = int(os.environ.get("ROUTES", "8000").split(",")[-1])
SIZES = tuple(LARGEST // part for part in (8, 4, 2, 1))
ROUTES, ENVOYS, REPLICAS = 100_000, 10_000, 3
ROUTES_EACH = 100  # of a Gateway
REPEATS = 30
VISITORS = min(500, LARGEST)
PER_SECOND = 10  # endpoints that change, in what is foretold of them
MB = 1 << 20
MEMORY, BUILD, READ = attrgetter("memory"), attrgetter("build"), attrgetter("read")


class World(Struct, frozen=True):
    """What one size took; memory in bytes, processor time in seconds."""

    routes: int
    gateways: int
    read: int  # bytes of JSON that the API server sends at the start
    said: int  # bytes of JSON of the largest object, which is a route
    told: int  # bytes that a watch has for one changed EndpointSlice
    build: float
    memory: int  # resident, with everything that is made of it
    changes: Mapping[str, float]  # by their kind, from the new object to snapshots and statuses
    concerned: Mapping[str, int]  # Gateways whose Envoys are told of them


class Took(Struct, frozen=True):
    """Both, of one size."""

    world: World
    visits: Visits


def measure(routes: int) -> Took:
    """Build so many routes here, change them, and have some Envoys come."""
    number = max(1, routes // ROUTES_EACH)
    bench, batch, sizes = Workbench(), list[workbench.Change]((the_time(),)), list[int]()
    for thing in world(routes, number):
        text = msgspec.json.encode(thing)
        sizes.append(len(text))
        batch.append(put(text))
    build, outcome = timed(bench, batch)
    memory = usage(os.getpid()).memory
    hub = Hub(lambda _report: None)
    for group, snapshot in outcome.snapshots.items():
        hub.publish(group, snapshot)
    took, concerned, changed = dict[str, float](), dict[str, int](), dict[str, Snapshot]()
    for what, change in changes(number).items():
        before = outcome.snapshots
        took[what], outcome = repeated(bench, change)
        concerned[what] = sum(each is not before[group] for group, each in outcome.snapshots.items())
        changed[what] = outcome.snapshots[GROUP]
    [endpoints] = changes(number)[ENDPOINT](0)
    told = len(as_it_is_told(endpoints))
    found = World(routes, number, sum(sizes), max(sizes), told, build, memory, took, concerned)
    return Took(found, visit(hub, changed, VISITORS))


def timed(bench: Workbench, batch: Batch) -> tuple[float, Outcome]:
    """Work on a batch as the product does; say how long that took."""
    with undisturbed():
        began = process_time()
        outcome = bench.work(batch)
        return process_time() - began, outcome


def repeated(bench: Workbench, change: Change) -> tuple[float, Outcome]:
    """Make one kind of change many times; return the median, and what came of the last one."""
    took, outcome = list[float](), bench.work([])
    for turn in range(REPEATS):
        seconds, outcome = timed(bench, [put(msgspec.json.encode(each)) for each in change(turn)])
        took.append(seconds)
    return median(took), outcome


async def apart(routes: int) -> Took:
    """Measure a size in a process of its own."""
    command = (sys.executable, "-m", "bench.scale", str(routes))
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    out, _ = await process.communicate()
    assert process.returncode == 0
    return msgspec.json.decode(out, type=Took)


def foretold(sizes: Sequence[World], size: int, of: Callable[[World], float]) -> float:
    """Read a number of another size off the line through these."""
    slope, begin = linear_regression([each.routes for each in sizes], [of(each) for each in sizes])
    return slope * size + begin


def off(sizes: Sequence[World], of: Callable[[World], float]) -> float:
    """Say by how much the line through all but the largest misses that one."""
    *others, largest = sizes
    return abs(foretold(others, largest.routes, of) / of(largest) - 1)


def of_change(what: str) -> Callable[[World], float]:
    """Say how to read what one kind of change took."""
    return lambda world: world.changes[what]


def on_paper(sizes: Sequence[World], visits: Visits, memory: Mapping[str, float]) -> None:
    """Print what the whole would take; times as parts of what the largest size took to build."""
    base, envoys = sizes[-1], ENVOYS / MB
    routes, build, read = (foretold(sizes, ROUTES, of) for of in (MEMORY, BUILD, READ))
    at_one = {way: f"{envoys / REPLICAS * each:.0f} MB {way}" for way, each in memory.items()}
    parts = {
        "memory for routes": f"{routes / MB:.0f} MB; the line misses by {off(sizes, MEMORY):.0%}",
        "memory for Envoys": f"{', '.join(at_one.values())}, at each of {REPLICAS} replicas",
        "first build": f"{build / base.build:.1f}; the line misses by {off(sizes, BUILD):.0%}",
        "read at the start": f"{read / MB:.0f} MB",
        "all Envoys are new": f"{envoys * visits.full:.0f} MB, {ENVOYS * visits.join / base.build:.1f}",
        "all come again": f"{envoys * visits.asked:.0f} MB, {ENVOYS * visits.again / base.build:.1f}",
        "one route changes": f"{base.said} bytes are heard",
        "one endpoint changes": f"{base.told} bytes are heard",
    }
    for what, took in visits.told.items():
        parts[f"{what}, each Envoy"] = f"{visits.news[what]} bytes, 1/{base.build / took:.0f}"
    print(f"{ROUTES} routes, {ENVOYS} Envoys; times as parts of the build of {base.routes} routes")
    for what, takes in parts.items():
        print(f"{what:>24}: {takes}")
    churn(sizes, visits)


def churn(sizes: Sequence[World], visits: Visits) -> None:
    """Print what endpoints that change all the time have to be carried."""
    base = sizes[-1]
    told, envoys = base.concerned[ENDPOINT], ENVOYS * ROUTES_EACH // ROUTES
    heard, sent = PER_SECOND * base.told, PER_SECOND * told * envoys * visits.news[ENDPOINT]
    of = of_change(ENDPOINT)
    busy, miss = PER_SECOND * foretold(sizes, ROUTES, of), off(sizes, of)
    telling = PER_SECOND * told * envoys * visits.told[ENDPOINT]
    lines = (
        f"{PER_SECOND} endpoints change in a second",
        f"  the API server sends {heard / 1024:.0f} kB to a replica, {REPLICAS * heard / 1024:.0f} kB to all",
        f"  Envoys of {told} Gateways are told of each, {told * envoys} of {ENVOYS}: {sent / 1024:.0f} kB",
        f"  of one processor here, each replica takes {busy:.1%}; the line misses by {miss:.0%}",
        f"  telling Envoys takes {telling:.1%}, of all replicas together, beside their connections",
    )
    print("\n".join(lines))


def grown(sizes: Sequence[World]) -> None:
    """Print how changes of each kind grow with what else there is, and how far a line foretells that."""
    base = sizes[0]
    print(
        f"{'':>14} {' '.join(f'{each.routes:>8}' for each in sizes)} {ROUTES:>9} {'the line misses by':>19}"
    )
    for what, first in base.changes.items():
        of = of_change(what)
        multiples = " ".join(f"{of(each) / first:>7.2f}x" for each in sizes)
        print(f"{what:>14} {multiples} {foretold(sizes, ROUTES, of) / first:>8.1f}x {off(sizes, of):>19.0%}")
    gateways = (f"{what} {number}" for what, number in sizes[-1].concerned.items())
    parts = (f"{what} 1/{sizes[-1].build / took:.0f}" for what, took in sizes[-1].changes.items())
    print(f"Gateways of which Envoys are told, with {sizes[-1].routes} routes: {', '.join(gateways)}")
    print(f"of the build of {sizes[-1].routes} routes: {', '.join(parts)}")


async def main() -> None:
    """Measure each size, and foretell."""
    took = [await apart(size) for size in SIZES]
    sizes = [each.world for each in took]
    base = sizes[0]
    print(f"{'routes':>8} {'MB':>7} {'kB each':>8} {'build':>8}")
    for each in sizes:
        print(
            f"{each.routes:>8} {each.memory / MB:>7.0f} {each.memory / each.routes / 1024:>8.1f}"
            f" {each.build / base.build:>7.1f}x"
        )
    print(f"one change, the median of {REPEATS}, as multiples of what it takes at {base.routes} routes")
    grown(sizes)
    few = min(ROUTES_EACH, LARGEST)
    visits = (await apart(few)).visits  # where nothing was let go of that they could take
    memory = await held(few, VISITORS)
    holding = ", ".join(f"{each / 1024:.0f} kB {way}" for way, each in memory.items())
    print(
        f"an Envoy of {few} routes: {holding}, of that {visits.memory / 1024:.0f} kB without its connection;"
        f" {visits.full / 1024:.0f} kB sent when new"
    )
    on_paper(sizes, visits, memory)


if __name__ == "__main__":
    if named := sys.argv[1:]:
        sys.stdout.buffer.write(msgspec.json.encode(measure(int(named[0]))))
    else:
        asyncio.run(main())
