"""How late the event loop is while thousands of routes are built and a hundred Envoys are served.

The delays are the product's own, as it tells Prometheus: `legation_loop_delay_seconds`, and for how long of
each it computed, and did not wait for a processor: `legation_loop_computed_seconds`. Routes come and go,
Envoys have changes all the while, and somebody asks for metrics and for the status. Beside it a process that
does nothing looks at its own loop in the same way: what the machine has it wait for is not the product's.
`ROUTES=500` names another size.
"""

import asyncio
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from time import monotonic, process_time
from typing import NamedTuple

import aiohttp
import msgspec
import structlog
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.parser import text_string_to_metric_families

from bench.envoys import AT_ONCE, GATEWAYS, change, fleet, lay_out
from bench.fleet.door import plain
from bench.fleet.envoy import Envoy, complete
from legation.admin.metrics import exposition
from legation.telemetry.watchdog import STALL, Watchdog
from tests.legation.running import serving

ROUTES = int(os.environ.get("ROUTES", "5000").split(",")[-1])
ENVOYS = int(os.environ.get("ENVOYS", "100").split(",")[0])
ROUNDS = int(os.environ.get("ROUNDS", "3"))
BOUNDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)  # seconds
LOOK = 1.0  # seconds between two questions of whoever collects metrics
WITHIN = 600.0  # seconds for anything
DELAYS, COMPUTED = "legation_loop_delay_seconds", "legation_loop_computed_seconds"
IDLE, LOOKING = "idle", "looking"


class Seen(NamedTuple):
    """What metrics say so far."""

    looks: float  # at the event loop: each stall, and each period without one
    late: dict[float, float]  # how many of them were no later than so many seconds
    computed: dict[float, float]  # and in how many it computed for no longer
    batches: float = 0.0  # seconds that all translations took
    clusters: float = 0.0  # that are offered now
    idle: float = 0.0  # share of a processor that looking takes where nothing else is done


def manifests(routes: int) -> Iterator[str]:
    """Write routes of three rules, each with a Service of its own, every second one with a policy."""
    for n in range(routes):
        yield from map(document, shop(n))


def document(thing: Mapping[str, object]) -> str:
    """Write a manifest that others may follow."""
    return f"---\n{msgspec.json.encode(thing).decode()}\n"


def shop(n: int, gateways: int = len(GATEWAYS)) -> Iterator[dict[str, object]]:
    """Make a route of three rules, its Service with ten endpoints, and for every second one a policy."""
    port = {"name": "main", "port": 8443}
    refs = [{"name": f"s{n}", "port": 8443}, {"name": f"s{n // 2}", "port": 8443}]
    rules = [{"matches": [{"path": {"value": path}}], "backendRefs": refs} for path in ("/", "/a", "/b")]
    ready = [{"addresses": [f"198.18.{n % 250}.{last}"]} for last in range(10, 20)]
    labels = {"kubernetes.io/service-name": f"s{n}"}
    yield _thing("v1", "Service", f"s{n}", spec={"ports": [port]})
    yield _thing(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        f"s{n}",
        labels,
        addressType="IPv4",
        endpoints=ready,
        ports=[port],
    )
    yield _thing(
        "gateway.networking.k8s.io/v1",
        "HTTPRoute",
        f"r{n}",
        spec={"parentRefs": [{"name": f"g{n % gateways}"}], "hostnames": [f"r{n}.test"], "rules": rules},
    )
    if n % 2:
        target = {"group": "", "kind": "Service", "name": f"s{n}"}
        proof = {"hostname": "pay.internal", "wellKnownCACertificates": "System"}
        spec = {"targetRefs": [target], "validation": proof}
        yield _thing("gateway.networking.k8s.io/v1", "BackendTLSPolicy", f"p{n}", spec=spec)


def _thing(
    version: str, kind: str, name: str, labels: dict[str, str] | None = None, **fields: object
) -> dict[str, object]:
    metadata = {"name": name, "namespace": "shop", "labels": labels or {}}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


class Operator:
    """Whoever collects metrics and looks at the status."""

    def __init__(self, session: aiohttp.ClientSession, admin: str) -> None:
        """Ask this admin port."""
        self._session = session
        self._admin = admin

    async def look(self) -> Seen:
        """Read the metrics as Prometheus does."""
        return read(await self._get("/metrics"))

    async def until(self, holds: Callable[[float], bool]) -> Seen:
        """Look, and ask for the status, until so many clusters are offered."""
        async with asyncio.timeout(WITHIN):
            while not holds((seen := await self.look()).clusters):
                await self._get("/api/v1/status")
                await asyncio.sleep(LOOK)
        return seen

    async def _get(self, path: str) -> str:
        async with self._session.get(f"{self._admin}{path}") as answer:
            return await answer.text()


def read(text: str) -> Seen:
    """Read what Prometheus is told."""
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples]
    plain = {each.name: each.value for each in samples if not each.labels}
    late, computed = (
        {float(each.labels["le"]): each.value for each in samples if each.name == f"{name}_bucket"}
        for name in (DELAYS, COMPUTED)
    )
    offered = {s.labels["type"]: s.value for s in samples if s.name == "legation_resources"}
    batches = plain.get("legation_translation_seconds_sum", 0.0)
    found = Seen(plain[f"{DELAYS}_count"], late, computed, batches, offered.get("Cluster", 0.0))
    return found._replace(idle=plain.get(LOOKING, 0.0))


async def idle() -> None:
    """Look at a loop that has nothing else to do, until told to end."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    registry, over = CollectorRegistry(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(Watchdog(registry).run())
        print(IDLE, flush=True)
        began, used = monotonic(), process_time()
        await over.wait()
        share = (process_time() - used) / (monotonic() - began)
        watching.cancel()
    Gauge(LOOKING, "What looking takes of a processor", registry=registry).set(share)
    print(exposition(registry).decode())


@asynccontextmanager
async def beside() -> AsyncIterator[list[Seen]]:
    """Have an idle process look at its loop while the block runs; what it saw is there afterwards."""
    found = list[Seen]()
    command = (sys.executable, "-m", "bench.loop", IDLE)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=DEVNULL)
    assert process.stdout is not None
    await process.stdout.readline()  # from here on it ends as it is told to
    try:
        yield found
    finally:
        process.terminate()
        out, _ = await process.communicate()
    found.append(read(out.decode()))


async def disturb(folder: Path, envoys: list[Envoy]) -> None:
    """Change what all Envoys have, again and again."""
    for number in count(1):
        await change(folder, number, envoys)


async def build(folder: Path, operator: Operator) -> list[float]:
    """Have the routes come and go; say how long each building of them took."""
    before, took = await operator.look(), list[float]()
    there = before.clusters
    for _ in range(ROUNDS):
        (folder / "routes.yaml").write_text("".join(manifests(ROUTES)))
        built = await operator.until((there + ROUTES).__le__)
        took.append(built.batches - before.batches)
        (folder / "routes.yaml").unlink()
        before = await operator.until(there.__eq__)
    return took


async def measure(folder: Path) -> tuple[Seen, Seen, float]:
    """Return what was seen at the product's loop and at the idle one, and how long one building took."""
    lay_out(folder)
    door = plain()
    async with (
        serving("up", str(folder), *door.flags) as running,
        aiohttp.ClientSession() as session,
    ):
        await running.logged("xDS port")
        operator, envoys = Operator(session, await running.admin()), fleet(ENVOYS, door)
        async with complete(envoys, AT_ONCE), beside() as beside_it:
            before = await operator.look()
            disturbing = asyncio.create_task(disturb(folder, envoys))
            took = await build(folder, operator)
            disturbing.cancel()
            after = await operator.look()
    [alone] = beside_it
    looks = after.looks - before.looks
    return Seen(looks, less(after.late, before.late), less(after.computed, before.computed)), alone, min(took)


def less(after: dict[float, float], before: dict[float, float]) -> dict[float, float]:
    """Count what came between."""
    return {bound: number - before[bound] for bound, number in after.items()}


def longest(seen: dict[float, float]) -> tuple[float, float]:
    """Return the bounds that the longest of these is between."""
    most = min(bound for bound, number in seen.items() if number == max(seen.values()))
    return max((bound for bound in seen if bound < most), default=0.0), most


async def main() -> None:
    """Measure, and print shares."""
    with tempfile.TemporaryDirectory() as folder:
        product, alone, built = await measure(Path(folder))
    print(f"{ROUTES} routes built and taken away {ROUNDS} times, {ENVOYS} Envoys served")
    columns = {
        "computed itself": (product.computed, product.looks),
        "late": (product.late, product.looks),
        "an idle process": (alone.late, alone.looks),
    }
    print(" ".join((f"{'for longer than':>16}", *(f"{title:>16}" for title in columns))))
    for bound in BOUNDS:
        shares = (f"{looks - seen[bound]:>16.0f}" for seen, looks in columns.values())
        print(" ".join((f"{bound * 1000:>13.0f} ms", *shares)))
    print(" ".join((f"{'of looks':>16}", *(f"{looks:>16.0f}" for _, looks in columns.values()))))
    for title, unit in ((f"times {STALL * 1000:.0f} ms", STALL), ("times one building", built)):
        found = ([bound / unit for bound in longest(seen)] for seen, _ in columns.values())
        print(f"longest, {title}: " + ", ".join(f"{low:.3g} to {high:.3g}" for low, high in found))
    print(f"looking takes {alone.idle:.2%} of a processor in the idle process")


if __name__ == "__main__":
    asyncio.run(idle() if sys.argv[1:] == [IDLE] else main())
