"""What one change costs against a full build, at 100, 1,000 and 5,000 routes: time as ratios, work as counts.

Every figure is taken in this one run; times are the best of several: a noisy machine only ever adds to them.
"""

import gc
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import msgspec

from tests.pki import Authority
from translator.names import Name
from translator.objects.kinds import KINDS
from translator.translate import INDEXES, Translation, Translator
from translator.world import World

SIZES = (100, 1000, 5000)
GATEWAYS = 50
REPEATS = 7
TYPES = {info.kind: info.type for info in KINDS}
ROOTS = [Authority(f"roots {n}").pem for n in range(REPEATS + 1)]

Change = Callable[[World, int], None]


class Measured(NamedTuple):
    """One kind of change: its best time, and what it made anew."""

    seconds: float
    resources: dict[str, int]
    statuses: int
    bytes: int


def put(world: World, kind: str, name: str, **fields: Any) -> None:  # noqa: ANN401  any JSON
    """Put an object of the one namespace, as it would come from a file."""
    written = {"metadata": {"name": name, "namespace": "shop"} | fields.pop("metadata", {}), **fields}
    thing = msgspec.json.decode(msgspec.json.encode(written), type=TYPES[kind])
    world.put(TYPES[kind], Name("" if kind == "GatewayClass" else "shop", name), thing)


def route(world: World, n: int, header: str = "", gateways: int = GATEWAYS) -> None:
    """Put one route with three rules, to its own Service and to its neighbour's."""
    changed = {
        "type": "RequestHeaderModifier",
        "requestHeaderModifier": {"set": [{"name": "x", "value": header or "0"}]},
    }
    refs = [{"name": f"s{n}", "port": 8443}, {"name": f"s{n // 2}", "port": 8443}]
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
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    for n in range(gateways):
        put(world, "Gateway", f"g{n}", spec={"gatewayClassName": "legation", "listeners": listeners})
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
    "one route": lambda world, n: route(world, 7, header=f"v{n}"),
    "one endpoint": lambda world, n: endpoints(world, 7, last=n + 20),
    "one policy": lambda world, n: policy(world, 7, hostname=f"pay{n}.internal"),
    "one CA of a tenth of the policies": lambda world, n: roots(world, 7, ROOTS[n]),
    "nothing": lambda _world, _n: None,
}


def clocked(work: Callable[[], Translation]) -> tuple[float, Translation]:
    """Time one translation, the collector of garbage at rest meanwhile, as `legation` has it."""
    gc.collect()
    gc.disable()
    begun = perf_counter()
    translation = work()
    seconds = perf_counter() - begun
    gc.enable()
    return seconds, translation


def fresh(size: int) -> tuple[float, Translation]:
    """Time a translation from nothing."""
    world = build(size)
    return clocked(lambda: Translator(world).translate())


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


def measure(world: World, translator: Translator, change: Change) -> Measured:
    """Make one kind of change several times; what it makes anew must be the same each time."""
    best, size, statuses = float("inf"), 0, 0
    counts: dict[str, int] = {}
    before = translator.translate()
    for n in range(1, REPEATS + 1):
        change(world, n)
        seconds, after = clocked(translator.translate)
        best = min(best, seconds)
        news = list(changed(before, after))
        counts = {kind: sum(each == kind for each, _ in news) for kind, _ in news}
        size = sum(length for _, length in news)
        statuses = sum(after.statuses[ref] is not before.statuses.get(ref) for ref in after.statuses)
        before = after
    return Measured(best, counts, statuses, size)


def report(title: str, found: Measured, full: float, whole: int) -> None:
    """Print one line."""
    made = ", ".join(f"{count} {kind}" for kind, count in found.resources.items()) or "nothing"
    print(
        f"  {title:34} 1/{full / found.seconds:<6.0f} of the build; made anew: {made};"
        f" {found.statuses} statuses; {found.bytes} bytes, 1/{whole / max(found.bytes, 1):.0f} of all"
    )


def main() -> None:
    """Print a table for each size, then how the full build grows."""
    builds = {}
    for size in SIZES:
        builds[size] = min(fresh(size)[0] for _ in range(2 if size > SIZES[0] else REPEATS))
        world = build(size)
        translator = Translator(world)
        whole = weight(translator.translate())
        print(f"\n{size} routes in {GATEWAYS} Gateways: {whole} bytes, {len(world.memory)} results kept")
        for title, change in CHANGES.items():
            report(title, measure(world, translator, change), builds[size], whole)
    for less, more in pairwise(SIZES):
        print(
            f"\nFull build of {more // less}x the routes: {builds[more] / builds[less]:.1f}x the time", end=""
        )
    print()


if __name__ == "__main__":
    main()
