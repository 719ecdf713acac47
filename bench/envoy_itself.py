"""What Envoy itself needs for 5,000 routes: by our layout, by a cluster for each rule, by Envoy Gateway's.

All come from the same manifests, those of `bench/peers`, and a hub in this process gives them over ADS to one
Envoy, which is started as ours are. Only what one way is of another says something. `ROUTES=500` names
another size.

Envoy Gateway's layout is measured with `ON=peers`, since its translator is built with Go. It is checked first
that it leads every request to the same endpoints by the same TLS. Nothing is taken out of it; one thing is
another, in its layout as in ours: listeners are moved to loopback. Its own bootstrap asks for all statistics,
deferred, and for more tags of them, which are left out.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from bench.cluster.usage import usage
from bench.fleet.real import Changed, real_envoy
from bench.layouts.layout import Layout, by_rule, read
from bench.peers.portrait import portrait
from bench.peers.programs import envoy_gateway, need_go, ourselves
from bench.peers.same import check, whole
from bench.peers.shop import Size
from tests.real_envoy import RunningEnvoy, until
from translator.names import Name
from xds_server.hub import Hub
from xds_server.report import Accepted, Rejected, Report
from xds_server.snapshot import CDS, Resource, Snapshot

SIZE = Size(int(os.environ.get("ROUTES", "5000").split(",")[-1]), 1)
READY_WITHIN = 600.0  # seconds
BESIDE_PEERS = os.environ.get("ON") == "peers"
GATEWAY = Name("shop", "g0")

AS_OURS: Changed = MappingProxyType({})  # few statistics, made when first needed
AT_ONCE: Changed = MappingProxyType({"deferredStatOptions": None})
ALL_LATE: Changed = MappingProxyType({"statsConfig": None})
ALL: Changed = MappingProxyType({**AT_ONCE, **ALL_LATE})


class Needed(NamedTuple):
    """What an Envoy took."""

    clusters: int
    statistics: int
    resident: float  # MB
    allocated: float  # MB, by its own count
    processor: float  # seconds until it had everything and was ready


class RefusedError(Exception):
    """Envoy does not take what it is given."""


class Offer:
    """A layout at a hub, and what of it Envoy has not taken yet."""

    def __init__(self, layout: Layout) -> None:
        """Serve it from now on."""
        self.hub = Hub(self._told)
        self._missing = {(type_url, name) for type_url, named in layout.items() for name in named}
        self._refused: list[str] = []
        resources = {kind: {name: Resource(named[name]) for name in named} for kind, named in layout.items()}
        self.hub.publish(str(GATEWAY), Snapshot.of(resources))

    async def is_taken(self, envoy: RunningEnvoy) -> bool:
        """Tell whether Envoy has taken all of it, and is ready."""
        if self._refused:
            raise RefusedError(*self._refused)
        return not self._missing and await _is_ready(envoy)

    def _told(self, report: Report) -> None:
        if isinstance(report, Rejected):
            self._refused.append(report.error)
        if isinstance(report, Accepted):
            self._missing -= {(report.type_url, name) for name in report.versions}


async def needed(layout: Layout, changed: Changed) -> Needed:
    """Have an Envoy take a layout; say what it took."""
    offer = Offer(layout)
    async with real_envoy(offer.hub, GATEWAY, changed) as envoy:
        await until(partial(offer.is_taken, envoy), within=READY_WITHIN)
        _, told = await envoy.get("/memory")
        used = usage(envoy.process.pid)
        _, statistics = await envoy.get("/stats")
        return Needed(
            len(layout[CDS]),
            len(statistics.splitlines()),
            used.memory / 1024**2,
            int(json.loads(told)["allocated"]) / 1024**2,
            used.cpu,
        )


async def _is_ready(envoy: RunningEnvoy) -> bool:
    with suppress(TimeoutError):  # while it reads, it answers nobody
        return await envoy.ready()
    return False


def ways() -> Iterator[tuple[str, Layout, Changed]]:
    """Give each layout with each choice of statistics."""
    known = [ourselves(), *([envoy_gateway()] if BESIDE_PEERS else [])]
    dumps = [whole(peer, SIZE) for peer in known]
    check({peer: portrait(each) for peer, each in zip(known, dumps, strict=True)}, SIZE)
    ours, *theirs = map(read, dumps)
    yield "as we serve and start it", ours, AS_OURS
    yield "statistics at once", ours, AT_ONCE
    yield "all statistics, deferred", ours, ALL_LATE
    yield "all statistics", ours, ALL
    rules = by_rule(ours)
    yield "a cluster for each rule", rules, AS_OURS
    yield "a cluster for each rule, all statistics", rules, ALL
    for each in theirs:
        yield "Envoy Gateway's layout", each, AS_OURS
        yield "Envoy Gateway's layout, all, deferred", each, ALL_LATE
        yield "Envoy Gateway's layout, all statistics", each, ALL


def report(found: Mapping[str, Needed]) -> None:
    """Print each way beside ours."""
    base = next(iter(found.values()))
    print(f"{SIZE}, three rules each; memory, the same by Envoy's count, processor until it has everything")
    for name, each in found.items():
        print(
            f"  {name:40} {each.resident / base.resident:5.2f}x {each.allocated / base.allocated:5.2f}x"
            f" {each.processor / base.processor:5.2f}x;"
            f" {each.clusters} clusters, {each.statistics} statistics"
        )
    if not BESIDE_PEERS:
        print("  Envoy Gateway's layout is left out: `make bench ON=peers` has it, which needs Go")


async def main() -> None:
    """Measure each way."""
    if BESIDE_PEERS:
        need_go()
    report({name: await needed(layout, changed) for name, layout, changed in ways()})


if __name__ == "__main__":
    asyncio.run(main())
