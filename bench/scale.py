"""What 100,000 routes and 10,000 Envoys would take, from lines through sizes that can be built here.

Each Gateway has a hundred routes, whatever the size. Every size is built in a process of its own.
How far a line can be trusted is measured: it is drawn without the largest size, and has to foretell that.
`ROUTES=2000` names another largest number of routes.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from statistics import linear_regression
from time import process_time
from types import MappingProxyType

import msgspec
from msgspec import Struct

from bench.cluster.usage import usage
from bench.loop import shop
from legation.change import Put
from legation.pump import the_time
from legation.workbench import Change, Workbench
from translator.names import Name
from translator.objects.kinds import KINDS
from xds_server.hub import Hub, Seat
from xds_server.messages import DeltaAsk, delta_frame
from xds_server.report import Envoy
from xds_server.snapshot import CDS, LDS, SERVED, Snapshot

LARGEST = int(os.environ.get("ROUTES", "8000").split(",")[-1])
SIZES = tuple(LARGEST // part for part in (8, 4, 2, 1))
ROUTES, ENVOYS = 100_000, 10_000
ROUTES_EACH = 100  # of a Gateway
REPEATS = 5
TYPES = {info.kind: info.type for info in KINDS}
GROUP = "shop/g0"
VISITORS = min(500, LARGEST)
MB = 1 << 20
MEMORY, BUILD, READ = attrgetter("memory"), attrgetter("build"), attrgetter("read")
NOTHING: Mapping[str, Mapping[str, str]] = MappingProxyType({})

CLASS = {"metadata": {"name": "legation"}, "spec": {"controllerName": "legation.dev/gateway-controller"}}
LISTENS = {
    "gatewayClassName": "legation",
    "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
}


class Place(Struct):
    """Where an object lies."""

    name: str
    namespace: str = ""


class Said(Struct):
    """What kind of object it is, and where."""

    kind: str
    metadata: Place


class World(Struct, frozen=True):
    """What one size took; memory in bytes, processor time in seconds."""

    routes: int
    read: int  # bytes of JSON that the API server sends at the start
    said: int  # bytes of JSON of the largest object, which is a route
    build: float
    memory: int  # resident, with everything that is made of it
    change: float  # of one route, from its new object to snapshots and statuses


class Visits(Struct, frozen=True):
    """What one Envoy takes at a replica, without its connection."""

    memory: int
    full: int  # bytes that a new one is sent
    join: float  # seconds of processor for that
    asked: int  # bytes of versions that one says that comes again
    again: float  # seconds for one that comes again and has everything
    told: float  # seconds for it to have a changed route
    news: int  # bytes that it is sent then


class Took(Struct, frozen=True):
    """Both, of one size."""

    world: World
    visits: Visits


def put(text: bytes) -> Put:
    """Read an object as it comes from an API server."""
    said = msgspec.json.decode(text, type=Said)
    kind = TYPES[said.kind]
    thing = msgspec.json.decode(text, type=kind)
    return Put(kind, Name(said.metadata.namespace, said.metadata.name), thing)


def gateways(number: int) -> Iterable[dict[str, object]]:
    """Make the class, and Gateways of it."""
    yield {"kind": "GatewayClass", **CLASS}
    for n in range(number):
        yield {"kind": "Gateway", "metadata": {"name": f"g{n}", "namespace": "shop"}, "spec": LISTENS}


class Visitor:
    """An Envoy of the first Gateway, as far as the hub sees it."""

    def __init__(self, hub: Hub, held: Mapping[str, Mapping[str, str]] = NOTHING) -> None:
        """Come, with what is held, and take everything else."""
        seat = hub.join(Envoy(GROUP, "envoy"), "here", whole=False, wake=lambda: None)
        assert isinstance(seat, Seat)
        self._hub, self._seat, self.received, self.resources = hub, seat, 0, 0
        for type_url in SERVED:
            names = () if type_url in (CDS, LDS) else tuple(hub.offered()[GROUP].names(type_url))
            hub.receive(seat, DeltaAsk(type_url, names, versions=held.get(type_url, {})))
        self.take()

    def take(self) -> None:
        """Take whatever there is, as Envoy does."""
        while (response := self._hub.next(self._seat)) is not None:
            self.received += len(delta_frame(response, "legation"))
            self.resources += len(response.entries)
            self._hub.receive(self._seat, DeltaAsk(response.type_url, nonce=response.nonce))


def measure(routes: int) -> Took:
    """Build so many routes here, and have some Envoys come."""
    number = max(1, routes // ROUTES_EACH)
    bench, batch, sizes = Workbench(), list[Change]((the_time(),)), list[int]()
    for thing in chain(gateways(number), *(shop(n, number) for n in range(routes))):
        text = msgspec.json.encode(thing)
        sizes.append(len(text))
        batch.append(put(text))
    began = process_time()
    outcome = bench.work(batch)
    build, memory = process_time() - began, usage(os.getpid()).memory
    hub = Hub(lambda _report: None)
    for group, snapshot in outcome.snapshots.items():
        hub.publish(group, snapshot)
    changes = [altered(bench, number, n) for n in range(REPEATS)]
    change = min(took for took, _ in changes)
    world = World(routes, sum(sizes), max(sizes), build, memory, change)
    return Took(world, visit(hub, changes[-1][1]))


def altered(bench: Workbench, gateways: int, turn: int) -> tuple[float, Snapshot]:
    """Change one route; say what that took, and what its Gateway's Envoys are to get."""
    [route] = (each for each in shop(0, gateways) if each["kind"] == "HTTPRoute")
    spec = msgspec.convert(route["spec"], dict[str, object])
    changed = put(msgspec.json.encode({**route, "spec": {**spec, "hostnames": [f"r{turn}.other.test"]}}))
    began = process_time()
    outcome = bench.work([changed])
    return process_time() - began, outcome.snapshots[GROUP]


def visit(hub: Hub, changed: Snapshot) -> Visits:
    """Have Envoys come to the first Gateway, come again, and be told of a change."""
    Visitor(hub)  # whatever is made once is made now
    before, began = usage(os.getpid()).memory, process_time()
    visitors = [Visitor(hub) for _ in range(VISITORS)]
    join, memory = process_time() - began, usage(os.getpid()).memory - before
    full, held = visitors[0].received, hub.connected_of(GROUP)[0].versions
    began = process_time()
    visitors += (Visitor(hub, held) for _ in range(VISITORS))
    again = process_time() - began
    assert not visitors[-1].resources, "what an Envoy has was sent again"
    before, began = sum(each.received for each in visitors), process_time()
    hub.publish(GROUP, changed)
    for each in visitors:
        each.take()
    told = process_time() - began
    return Visits(
        memory // VISITORS,
        full,
        join / VISITORS,
        sum(len(name) + len(version) for named in held.values() for name, version in named.items()),
        again / VISITORS,
        told / len(visitors),
        (sum(each.received for each in visitors) - before) // len(visitors),
    )


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


def on_paper(sizes: Sequence[World], visits: Visits) -> None:
    """Print what the whole would take; times as parts of what the largest size took to build."""
    base, envoys = sizes[-1], ENVOYS / MB
    memory, build, read = (foretold(sizes, ROUTES, of) for of in (MEMORY, BUILD, READ))
    parts = {
        "memory for routes": f"{memory / MB:.0f} MB; the line misses by {off(sizes, MEMORY):.0%}",
        "memory for Envoys": f"{envoys * visits.memory:.0f} MB, beside their connections",
        "first build": f"{build / base.build:.1f}; the line misses by {off(sizes, BUILD):.0%}",
        "read at the start": f"{read / MB:.0f} MB",
        "all Envoys are new": f"{envoys * visits.full:.0f} MB, {ENVOYS * visits.join / base.build:.1f}",
        "all come again": f"{envoys * visits.asked:.0f} MB, {ENVOYS * visits.again / base.build:.1f}",
        "one route changes": f"{base.said} bytes are heard, 1/{base.build / base.change:.0f}",
        "each of its Envoys": f"{visits.news} bytes, 1/{base.build / visits.told:.0f}",
    }
    print(f"{ROUTES} routes, {ENVOYS} Envoys; times as parts of the build of {base.routes} routes")
    for what, takes in parts.items():
        print(f"{what:>20}: {takes}")


async def main() -> None:
    """Measure each size, and foretell."""
    took = [await apart(size) for size in SIZES]
    base = took[0].world
    print(f"{'routes':>8} {'MB':>7} {'kB each':>8} {'build':>8} {'one change':>11}")
    for each in (one.world for one in took):
        print(
            f"{each.routes:>8} {each.memory / MB:>7.0f} {each.memory / each.routes / 1024:>8.1f}"
            f" {each.build / base.build:>7.1f}x {each.change / base.change:>10.1f}x"
        )
    visits = (await apart(ROUTES_EACH)).visits  # where nothing was let go of that they could take
    print(f"an Envoy: {visits.memory / 1024:.0f} kB, {visits.full / 1024:.0f} kB sent when new")
    on_paper([each.world for each in took], visits)


if __name__ == "__main__":
    if sizes := sys.argv[1:]:
        sys.stdout.buffer.write(msgspec.json.encode(measure(int(sizes[0]))))
    else:
        asyncio.run(main())
