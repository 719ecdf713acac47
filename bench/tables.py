"""What one changed route costs a real Envoy, by how many routes share a route table with it.

Envoy makes a table anew whenever one entry differs. A port that speaks HTTP has one table for all of its
hostnames; each HTTPS listener has one of its own. What is measured is from the push of a table to Envoy's
answer, and how many bytes that is; only what one shape is of the first says something. `ROUTES=100,50000`
names other sizes.

Then many routes change within one moment, each told on its own, and what Envoy is sent until it has all of
them is counted.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from statistics import median
from typing import NamedTuple

from bench.changes import made
from bench.fleet.real import real_envoy
from legation.change import Put, Stated
from legation.publish import Offers
from legation.pump import Pump
from legation.workbench import Outcome, Workbench
from tests.legation.running import free_port
from tests.pki import Authority
from translator.names import Name
from translator.rules.gateways import BINDING, Binding
from xds_server.hub import Hub
from xds_server.report import Accepted, Report, Sent
from xds_server.snapshot import RDS

SIZES = tuple(int(each) for each in os.environ.get("ROUTES", "100,1000,5000,20000").split(","))
LISTENERS = 50  # on one port, by hostname
CHANGES = 11
BURST = 1000  # routes that change within one moment, if there are so many
SERVICES = 10
WITHIN = 600.0  # seconds
EDGE = Name("shop", "edge")


class Shape(NamedTuple):
    """So many routes, at one HTTP listener or spread over HTTPS listeners with a hostname each."""

    routes: int
    listeners: int = 1

    def __str__(self) -> str:
        """Say where the routes are."""
        return "one HTTP listener" if self.listeners == 1 else f"{self.listeners} HTTPS listeners"

    def host(self, number: int) -> str:
        """Return the hostname of a route."""
        return f"r{number}.z{number % self.listeners}.test"


class Cost(NamedTuple):
    """What the change of one route takes."""

    seconds: float  # from the push to the answer
    bytes: int


class Burst(NamedTuple):
    """What it takes until Envoy has many changes."""

    routes: int
    batches: int  # translations
    pushes: int  # responses with route tables


class Found(NamedTuple):
    """What one shape takes."""

    cost: Cost
    burst: Burst


class Desk:
    """One shape as it is served, and what was told of its route tables."""

    def __init__(self, shape: Shape) -> None:
        """Serve it once the pump runs."""
        self.costs: asyncio.Queue[Cost] = asyncio.Queue()
        self.hub = Hub(self._told)
        self.pump = Pump(Workbench(asks_envoys=False), (self._take,))
        self._shape = shape
        self._offers = Offers(self.hub)
        self._size = self._taken = self._batches = self._pushes = 0
        self.pump.put([Stated(BINDING, Binding("127.0.0.1", is_exclusive=True)), *objects(shape)])

    async def change(self, number: int) -> Cost:
        """Have one route set another header; return what its table took."""
        self.pump.put([route(self._shape, self._shape.routes // 2, header=f"v{number}")])
        return await self.costs.get()

    async def burst(self) -> Burst:
        """Have many routes set another header; return what it takes until Envoy has all."""
        size, self._taken, self._batches, self._pushes = min(BURST, self._shape.routes), 0, 0, 0
        for number in range(size):
            self.pump.put([route(self._shape, number, header="burst")])
            await asyncio.sleep(
                0
            )  # as they come from an API server: the first may be on its way before the last
        while self._taken < size or not self._is_held():
            await self.costs.get()
        return Burst(size, self._batches, self._pushes)

    async def _take(self, outcome: Outcome) -> None:
        self._taken += outcome.effort.changes
        self._batches += 1
        await self._offers.offer(outcome.snapshots)

    def _is_held(self) -> bool:
        """Tell whether Envoy has taken every table as it is offered."""
        [envoy], offered = self.hub.connected_of(str(EDGE), {RDS}), self.hub.snapshot(str(EDGE))
        assert offered is not None
        return envoy.versions[RDS] == {name: each.version for name, each in offered.entries[RDS].items()}

    def _told(self, report: Report) -> None:
        if isinstance(report, Sent) and report.type_url == RDS:
            self._size = report.size
            self._pushes += 1
        if isinstance(report, Accepted) and report.type_url == RDS:
            for _ in report.versions:
                self.costs.put_nowait(Cost(report.waited, self._size))


def objects(shape: Shape) -> Iterator[Put]:
    """Make all of one Gateway."""
    port, ready = free_port(), [{"addresses": ["127.0.0.1"]}]
    yield made("GatewayClass", "legation", spec={"controllerName": "legation.dev/gateway-controller"})
    issued = Authority("public").issue(dns=["*.test"])
    shown = {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem}
    yield made("Secret", "shown", type="kubernetes.io/tls", stringData=shown)
    listeners = list(_listeners(shape, port))
    yield made("Gateway", EDGE.name, spec={"gatewayClassName": "legation", "listeners": listeners})
    for n in range(SERVICES):
        yield made("Service", f"s{n}", spec={"ports": [{"name": "main", "port": 8080}]})
        labels, ports = {"kubernetes.io/service-name": f"s{n}"}, [{"name": "main", "port": 9}]
        fields = {"addressType": "IPv4", "endpoints": ready, "ports": ports}
        yield made("EndpointSlice", f"s{n}", metadata={"labels": labels}, **fields)
    for n in range(shape.routes):
        yield route(shape, n)


def _listeners(shape: Shape, port: int) -> Iterator[dict[str, object]]:
    if shape.listeners == 1:
        yield {"name": "http", "port": port, "protocol": "HTTP"}
        return
    tls = {"certificateRefs": [{"name": "shown"}]}
    for n in range(shape.listeners):
        place = {"name": f"z{n}", "port": port, "protocol": "HTTPS", "hostname": f"*.z{n}.test"}
        yield {**place, "tls": tls}


def route(shape: Shape, number: int, header: str = "") -> Put:
    """Make one route with a rule that sets a header."""
    change = {"set": [{"name": "x", "value": header or "0"}]}
    rule = {
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": change}],
        "backendRefs": [{"name": f"s{number % SERVICES}", "port": 8080}],
    }
    spec = {"parentRefs": [{"name": EDGE.name}], "hostnames": [shape.host(number)], "rules": [rule]}
    return made("HTTPRoute", f"r{number}", spec=spec)


@asynccontextmanager
async def served(shape: Shape) -> AsyncIterator[Desk]:
    """Serve one shape to an Envoy, which has all of it, until the block ends."""
    desk = Desk(shape)
    async with asyncio.timeout(WITHIN), asyncio.TaskGroup() as tasks:
        pumping = tasks.create_task(desk.pump.run())
        async with real_envoy(desk.hub, EDGE):
            for _ in range(shape.listeners):  # each has a table
                await desk.costs.get()
            yield desk
        pumping.cancel()


async def measured(shape: Shape) -> Found:
    """Change one route again and again, which gives what is usual; then many at once."""
    async with served(shape) as desk:
        costs = [await desk.change(number) for number in range(CHANGES)]
        usual = Cost(median(each.seconds for each in costs), costs[-1].bytes)
        return Found(usual, await desk.burst())


def shapes() -> Iterator[Shape]:
    """Return every size, at one HTTP listener, and at many HTTPS listeners."""
    for listeners in (1, LISTENERS):
        yield from (Shape(routes, listeners) for routes in SIZES)


async def answered() -> dict[Shape, Found]:
    """Measure every shape."""
    return {shape: await measured(shape) for shape in shapes()}


def report(found: Mapping[Shape, Found]) -> None:
    """Print a table of all shapes beside the first, then what many changes at once took."""
    base = next(iter(found.values())).cost
    places = "".join(f"{Shape(1, each)!s:>22}{'':6}" for each in (1, LISTENERS))
    print("\none of so many routes is changed: from the push of its table to Envoy's answer, and bytes")
    print(f"  routes{places}{'HTTP beside HTTPS':>22}")
    for routes in SIZES:
        http, https = (found[Shape(routes, each)].cost for each in (1, LISTENERS))
        cells = "".join(map(_beside, (http, https, http), (base, base, https)))
        print(f"{routes:>8}{cells}")
    print("routes that are changed within one moment, until Envoy has all")
    for shape, (_, burst) in found.items():
        told = f"{burst.routes} of {shape.routes} at {shape}"
        print(f"  {told:36} {burst.batches:>3} translations {burst.pushes:>3} pushes of route tables")


def _beside(cost: Cost, base: Cost) -> str:
    return f"{cost.seconds / base.seconds:>10.2f}x time {cost.bytes / base.bytes:>5.1f}x"


if __name__ == "__main__":
    report(asyncio.run(answered()))
