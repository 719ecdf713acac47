"""What one change costs against a full build, and how both grow with routes: time as ratios, work as counts.

Every figure is taken in this one run. Time is that of the processor, which others on the machine hardly add
to, and for changes the best of some.
`ROUTES=100,50000` names other sizes. Each size has a process of its own, since memory is not given back.
"""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from multiprocessing import get_context
from time import process_time
from typing import Any, NamedTuple

import msgspec

from bench.cluster.usage import usage
from legation.change import Put
from tests.pki import Authority
from translator.names import Name
from translator.objects.kinds import KINDS
from translator.translate import INDEXES, Translation, Translator
from translator.world import World

SIZES = tuple(int(each) for each in os.environ.get("ROUTES", "100,1000,5000,20000").split(","))
GATEWAYS = 50
SHAPES = (GATEWAYS, 1)  # Gateways that all routes are spread over
REPEATS = 4
LATER = 10**6  # routes from this number on were not there at first
TYPES = {info.kind: info.type for info in KINDS}
ROOTS = [Authority(f"roots {n}").pem for n in range(REPEATS + 1)]

Change = Callable[[World, int, int], None]  # the number of the change, and how many Gateways there are


class Measured(NamedTuple):
    """One kind of change: its best time, and what it made anew."""

    seconds: float
    resources: dict[str, int]
    statuses: int
    bytes: int


class Built(NamedTuple):
    """One size: what it takes to build, and to change."""

    routes: int
    gateways: int
    seconds: float
    memory: int  # bytes, of the world and of all that is made from it
    results: int  # that are kept
    bytes: int  # of all resources
    changes: dict[str, Measured]


def made(kind: str, name: str, **fields: Any) -> Put:  # noqa: ANN401  any JSON
    """Make an object of the one namespace, as it would come from a file."""
    written = {"metadata": {"name": name, "namespace": "shop"} | fields.pop("metadata", {}), **fields}
    thing = msgspec.json.decode(msgspec.json.encode(written), type=TYPES[kind])
    return Put(TYPES[kind], Name("" if kind == "GatewayClass" else "shop", name), thing)


def put(world: World, kind: str, name: str, **fields: Any) -> None:  # noqa: ANN401  any JSON
    """Put such an object."""
    change = made(kind, name, **fields)
    world.put(change.kind, change.name, change.thing)


def gateway(world: World, n: int, *ports: int) -> None:
    """Put a Gateway that listens on these ports."""
    listeners = [{"name": f"http-{port}", "port": port, "protocol": "HTTP"} for port in ports]
    put(world, "Gateway", f"g{n}", spec={"gatewayClassName": "legation", "listeners": listeners})


def route(world: World, n: int, header: str = "", gateways: int = GATEWAYS) -> None:
    """Put one route with three rules, to its own Service and to its neighbour's."""
    changed = {
        "type": "RequestHeaderModifier",
        "requestHeaderModifier": {"set": [{"name": "x", "value": header or "0"}]},
    }
    own = n % LATER  # whoever comes later has no Service of its own
    refs = [{"name": f"s{own}", "port": 8443}, {"name": f"s{own // 2}", "port": 8443}]
    rules = [
        {"matches": [{"path": {"value": path}}], "filters": [changed], "backendRefs": refs}
        for path in ("/", "/a", "/b")
    ]
    parents = [{"name": f"g{n % gateways}"}]
    put(
        world,
        "HTTPRoute",
        f"r{n}",
        spec={"parentRefs": parents, "hostnames": [f"r{n}.shop.test"], "rules": rules},
    )


def endpoints(world: World, n: int, last: int = 1) -> None:
    """Put the ten endpoints of one Service."""
    ready = [{"addresses": [f"198.18.{n % 250}.{i}"]} for i in (*range(10, 19), last)]
    labels = {"labels": {"kubernetes.io/service-name": f"s{n}"}}
    ports = [{"name": "main", "port": 8443}]
    put(world, "EndpointSlice", f"s{n}", metadata=labels, addressType="IPv4", endpoints=ready, ports=ports)


def policy(world: World, n: int, hostname: str = "pay.internal") -> None:
    """Put the policy of one Service."""
    refs = [{"group": "", "kind": "ConfigMap", "name": f"c{n % 10}"}]
    spec = {
        "targetRefs": [{"group": "", "kind": "Service", "name": f"s{n}"}],
        "validation": {"hostname": hostname, "caCertificateRefs": refs},
    }
    put(world, "BackendTLSPolicy", f"p{n}", spec=spec)


def roots(world: World, n: int, pem: str) -> None:
    """Put one of the ten ConfigMaps that the policies share."""
    put(world, "ConfigMap", f"c{n}", data={"ca.crt": pem})


def build(size: int, gateways: int = GATEWAYS) -> World:
    """Make a world of so many routes, every second Service with a policy."""
    world = World(INDEXES)
    put(world, "GatewayClass", "legation", spec={"controllerName": "legation.dev/gateway-controller"})
    for n in range(gateways):
        gateway(world, n, 80)
    for n in range(10):
        roots(world, n, ROOTS[0])
    for n in range(size):
        put(world, "Service", f"s{n}", spec={"ports": [{"name": "main", "port": 8443}]})
        endpoints(world, n)
        route(world, n, gateways=gateways)
        if n % 2:
            policy(world, n)
    return world


CHANGES: dict[str, Change] = {
    "one endpoint": lambda world, n, _: endpoints(world, 7, last=n + 20),
    "one policy": lambda world, n, _: policy(world, 7, hostname=f"pay{n}.internal"),
    "one route": lambda world, n, gateways: route(world, 7, header=f"v{n}", gateways=gateways),
    "a route more": lambda world, n, gateways: route(world, LATER + n * gateways, gateways=gateways),
    "one CA of a tenth of the policies": lambda world, n, _: roots(world, 7, ROOTS[n]),
    "a second listener": lambda world, n, _: gateway(world, 0, 80, 9000 + n),
    "nothing": lambda _world, _n, _gateways: None,
}


def clocked(work: Callable[[], Translation]) -> tuple[float, Translation]:
    """Time one translation, the collector of garbage at rest meanwhile, as `legation` has it."""
    gc.collect()
    gc.disable()
    begun = process_time()
    translation = work()
    seconds = process_time() - begun
    gc.enable()
    return seconds, translation


def changed(before: Translation, after: Translation) -> Iterator[tuple[str, int]]:
    """Name each resource that is new, once, with its size."""
    seen = set()
    for gateway, types in after.gateways.items():
        for type_url, named in types.items():
            old = before.gateways[gateway].get(type_url, {})
            for name, resource in named.items():
                if old.get(name) is not resource and (type_url, name) not in seen:
                    seen.add((type_url, name))
                    yield type_url.rpartition(".")[2], len(resource.body)


def weight(translation: Translation) -> int:
    """Add up all bytes of all Gateways."""
    resources = (named for types in translation.gateways.values() for named in types.values())
    return sum(len(each.body) for named in resources for each in named.values())


def measure(translator: Translator, change: Callable[[int], None]) -> Measured:
    """Make one kind of change several times; what is told of it is what the last one made."""
    best, size, statuses = float("inf"), 0, 0
    counts: dict[str, int] = {}
    before = translator.translate()
    for n in range(1, REPEATS + 1):
        change(n)
        seconds, after = clocked(translator.translate)
        best = min(best, seconds)
        news = list(changed(before, after))
        counts = {kind: sum(each == kind for each, _ in news) for kind, _ in news}
        size = sum(length for _, length in news)
        statuses = sum(after.statuses[ref] is not before.statuses.get(ref) for ref in after.statuses)
        before = after
    return Measured(best, counts, statuses, size)


def measured(routes: int, gateways: int) -> Built:
    """Build one size, and make every kind of change to it."""
    before = usage(os.getpid()).memory
    world = build(routes, gateways)
    translator = Translator(world)
    seconds, translation = clocked(translator.translate)
    memory = usage(os.getpid()).memory - before
    gc.freeze()  # what stays is looked through no more, as `legation` has it
    whole, results = weight(translation), len(world.memory)
    changes = {
        title: measure(translator, partial(_made, change, world, gateways))
        for title, change in CHANGES.items()
    }
    return Built(routes, gateways, seconds, memory, results, whole, changes)


def _made(change: Change, world: World, gateways: int, number: int) -> None:
    change(world, number, gateways)


def apart(routes: int, gateways: int) -> Built:
    """Measure one size in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(measured, routes, gateways).result()


def report(built: Built) -> None:
    """Print what one size takes."""
    place = f"{built.routes} routes in {built.gateways} Gateways"
    print(f"\n{place}: {built.bytes} bytes, {built.results} results kept")
    for title, found in built.changes.items():
        made = ", ".join(f"{count} {kind}" for kind, count in found.resources.items()) or "nothing"
        print(
            f"  {title:34} 1/{built.seconds / found.seconds:<6.0f} of the build; made anew: {made};"
            f" {found.statuses} statuses;"
            f" {found.bytes} bytes, 1/{built.bytes / max(found.bytes, 1):.0f} of all"
        )


def compare(less: Built, more: Built) -> None:
    """Print how everything grows from one size to another."""
    seconds, memory = more.seconds / less.seconds, more.memory / less.memory
    print(f"\n{more.routes / less.routes:.0f}x the routes in {more.gateways} Gateways:")
    print(f"  {'full build':34} {seconds:.1f}x the time, {memory:.1f}x the memory")
    for title, found in more.changes.items():
        print(f"  {title:34} {found.seconds / less.changes[title].seconds:.1f}x the time")


def everything() -> list[list[Built]]:
    """Measure and print every size, first in many Gateways, then in one."""
    found = []
    for gateways in SHAPES:
        found.append([apart(routes, gateways) for routes in SIZES])
        report_all(found[-1])
    return found


def report_all(sizes: Sequence[Built]) -> None:
    """Print a table for each size, then how everything grows."""
    for built in sizes:
        report(built)
    for less, more in pairwise(sizes):
        compare(less, more)


if __name__ == "__main__":
    everything()
