"""What one changed route costs a real Envoy, by how many routes share a route table with it.

Envoy makes a table anew whenever one entry differs. A port that speaks HTTP has one table for all of its
hostnames; each HTTPS listener has one of its own. What is measured is from the push of a table to Envoy's
answer, and how many bytes that is; only what one shape is of the first says something. `ROUTES=100,50000`
names other sizes.
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.changes import put
from legation.addresses import Socket
from legation.bootstrap import Start, as_fields, bootstrap
from legation.publish import Offers, Publisher
from tests.legation.running import free_port
from tests.pki import Authority
from tests.real_envoy import running_envoy
from translator.names import Name
from translator.rules.gateways import BINDING, Binding
from translator.translate import INDEXES, Translator
from translator.world import World
from xds_server.hub import Hub
from xds_server.report import Accepted, Report, Sent
from xds_server.service import Address, Terms, serving
from xds_server.snapshot import RDS

SIZES = tuple(int(each) for each in os.environ.get("ROUTES", "100,1000,5000,20000").split(","))
LISTENERS = 50  # on one port, by hostname
CHANGES = 11
SERVICES = 10
WITHIN = 600.0  # seconds
EDGE = Name("shop", "edge")


class Shape(NamedTuple):
    """So many routes, at one HTTP listener or spread over HTTPS listeners with a hostname each."""

    routes: int
    listeners: int = 1

    def host(self, number: int) -> str:
        """Return the hostname of a route."""
        return f"r{number}.z{number % self.listeners}.test"


class Cost(NamedTuple):
    """What the change of one route takes."""

    seconds: float  # from the push to the answer
    bytes: int


class Desk:
    """One shape as it is served, and what was told of its route tables."""

    def __init__(self, shape: Shape) -> None:
        """Serve it from now on."""
        self.costs: asyncio.Queue[Cost] = asyncio.Queue()
        self.hub = Hub(self._told)
        self._shape = shape
        self._world = built(shape)
        self._translator, self._publisher, self._offers = (
            Translator(self._world),
            Publisher(),
            Offers(self.hub),
        )
        self._size = 0
        self._offer()

    async def change(self, number: int) -> Cost:
        """Have one route set another header; return what its table took."""
        route(self._world, self._shape, self._shape.routes // 2, header=f"v{number}")
        self._offer()
        return await self.costs.get()

    def _offer(self) -> None:
        self._offers.offer(self._publisher.snapshots(self._translator.translate().gateways))

    def _told(self, report: Report) -> None:
        if isinstance(report, Sent) and report.type_url == RDS:
            self._size = report.size
        if isinstance(report, Accepted) and report.type_url == RDS:
            for _ in report.versions:
                self.costs.put_nowait(Cost(report.waited, self._size))


def built(shape: Shape) -> World:
    """Make a world of one Gateway."""
    world, port, ready = World(INDEXES), free_port(), [{"addresses": ["127.0.0.1"]}]
    world.state(BINDING, Binding("127.0.0.1", is_exclusive=True))
    put(world, "GatewayClass", "legation", spec={"controllerName": "legation.dev/gateway-controller"})
    issued = Authority("public").issue(dns=["*.test"])
    shown = {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem}
    put(world, "Secret", "shown", type="kubernetes.io/tls", stringData=shown)
    listeners = list(_listeners(shape, port))
    put(world, "Gateway", EDGE.name, spec={"gatewayClassName": "legation", "listeners": listeners})
    for n in range(SERVICES):
        put(world, "Service", f"s{n}", spec={"ports": [{"name": "main", "port": 8080}]})
        labels, ports = {"kubernetes.io/service-name": f"s{n}"}, [{"name": "main", "port": 9}]
        fields = {"addressType": "IPv4", "endpoints": ready, "ports": ports}
        put(world, "EndpointSlice", f"s{n}", metadata={"labels": labels}, **fields)
    for n in range(shape.routes):
        route(world, shape, n)
    return world


def _listeners(shape: Shape, port: int) -> Iterator[dict[str, object]]:
    if shape.listeners == 1:
        yield {"name": "http", "port": port, "protocol": "HTTP"}
        return
    tls = {"certificateRefs": [{"name": "shown"}]}
    for n in range(shape.listeners):
        place = {"name": f"z{n}", "port": port, "protocol": "HTTPS", "hostname": f"*.z{n}.test"}
        yield {**place, "tls": tls}


def route(world: World, shape: Shape, number: int, header: str = "") -> None:
    """Put one route with a rule that sets a header."""
    change = {"set": [{"name": "x", "value": header or "0"}]}
    rule = {
        "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": change}],
        "backendRefs": [{"name": f"s{number % SERVICES}", "port": 8080}],
    }
    spec = {"parentRefs": [{"name": EDGE.name}], "hostnames": [shape.host(number)], "rules": [rule]}
    put(world, "HTTPRoute", f"r{number}", spec=spec)


async def measured(shape: Shape) -> Cost:
    """Serve one shape to an Envoy, and change one route again and again; return what is usual."""
    desk = Desk(shape)
    with tempfile.TemporaryDirectory() as home:
        own, admin = Path(home, "xds"), Path(home, "admin")
        start = as_fields(bootstrap(Start(EDGE, "edge-1", Socket(own), Socket(admin))))
        del start["admin"]  # the harness has its own
        places = [Address(f"unix:{own}")]
        async with (
            asyncio.timeout(WITHIN),
            serving(desk.hub, places, Terms(drain=0.0)),
            running_envoy(start, wait_ready=False),
        ):
            for _ in range(shape.listeners):  # each has a table
                await desk.costs.get()
            costs = [await desk.change(number) for number in range(CHANGES)]
    return Cost(median(each.seconds for each in costs), costs[-1].bytes)


def shapes() -> Iterator[Shape]:
    """Return every size, at one HTTP listener, and at many HTTPS listeners."""
    for listeners in (1, LISTENERS):
        yield from (Shape(routes, listeners) for routes in SIZES)


async def answered() -> list[tuple[Shape, Cost]]:
    """Measure every shape."""
    return [(shape, await measured(shape)) for shape in shapes()]


def report(found: Sequence[tuple[Shape, Cost]]) -> None:
    """Print each shape beside the first."""
    _, base = found[0]
    print("\none of so many routes is changed: from the push of its table to Envoy's answer, and bytes")
    for shape, cost in found:
        place = "one HTTP listener" if shape.listeners == 1 else f"{shape.listeners} HTTPS listeners"
        seconds, size = cost.seconds / base.seconds, cost.bytes / base.bytes
        print(f"  {shape.routes:>6} at {place:18} {seconds:6.1f}x the time {size:6.1f}x the bytes")
    print(base)


if __name__ == "__main__":
    report(asyncio.run(answered()))
