"""Replicas behind a Service: how Envoys spread over them by the age of connections, and what that costs.

`legation run` runs as it is, at an API server that is small. A Service is here what it is to a connection:
one of its replicas at random. First there are two, then a third joins, then the first one ends, which led.
After each step every Envoy has to have come again once. Shares differ by chance, too. Replicas do not hear of
each other here. `ENVOYS=30` names another number of Envoys, `ROUTES=100` of the routes that each of them has.
"""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import choice
from time import monotonic
from typing import NamedTuple

import aiohttp
import grpc

from bench.api_server import Scene
from bench.cluster.usage import usage
from bench.envoys import AT_ONCE
from bench.fleet.door import Door, plain
from bench.fleet.envoy import WITHIN, Envoy, complete
from legation.settings import CONNECTION_AGE
from tests.k8s_watch.faulty_api import FaultyApi, serving, write_kubeconfig
from tests.legation import running
from tests.legation.running import Legation
from tests.looking import eventually
from tests.real_envoy import until

ENVOYS = int(os.environ.get("ENVOYS", "300").split(",")[0])
AGE = max(4, ENVOYS // 15)  # seconds; at most 30 of them come again in a second
QUIET = 5.0  # seconds, in which replicas have no Envoys
THOUSAND = 1000


class Replica(NamedTuple):
    """A control plane, and where it serves Envoys."""

    legation: Legation
    door: Door


class Service:
    """Where connections go: to any replica of those that are there, as kube-proxy has it."""

    def __init__(self) -> None:
        """Begin without any."""
        self.replicas: list[Replica] = []

    def processor(self) -> float:
        """Return the seconds that these replicas used so far."""
        return sum(usage(each.legation.process.pid).cpu for each in self.replicas)


class Way:
    """How one Envoy comes to a Service, and to which replica it came last."""

    def __init__(self, service: Service) -> None:
        """Come to none yet."""
        self._service = service
        self.to: Replica | None = None

    def channel(self, gateway: str) -> grpc.aio.Channel:
        """Connect to some replica."""
        self.to = choice(self._service.replicas)  # noqa: S311  # no secret
        return self.to.door.channel(gateway)


class Fleet(NamedTuple):
    """All Envoys, the way of each, and what they come to."""

    service: Service
    ways: Sequence[Way]
    envoys: Sequence[Envoy]

    @classmethod
    def of(cls, number: int, service: Service) -> "Fleet":
        """Make so many, of which none has come."""
        ways = [Way(service) for _ in range(number)]
        return cls(service, ways, [Envoy("shop/g0", f"envoy-{n}", way) for n, way in enumerate(ways)])

    def counted(self) -> "Counted":
        """Add up what all of them saw so far."""
        seen = [(each.opened, each.taken, each.lost) for each in self.envoys]
        return Counted(*(sum(each) for each in zip(*seen, strict=True)))


class Counted(NamedTuple):
    """What Envoys count, all together."""

    streams: int
    resources: int
    lost: int

    def since(self, before: "Counted") -> "Counted":
        """Say what was added."""
        return Counted(*(now - then for now, then in zip(self, before, strict=True)))


class Step(NamedTuple):
    """What happened until every Envoy had come again."""

    replicas: int
    shares: Sequence[float]  # of each replica, as multiples of the fair one
    seen: Counted
    processor: float  # seconds, of all replicas, beyond what they use without Envoys


@asynccontextmanager
async def replica(config: Path) -> AsyncIterator[Replica]:
    """Run one until the block ends; it is yielded when it is ready."""
    door = plain()
    flags = ("--kubeconfig", str(config), "--namespace", "shop", "--xds", door.target)
    async with running.serving("run", *flags, "--connection-age", f"{AGE}s") as legation:
        await legation.logged("xDS port")
        async with aiohttp.ClientSession(await legation.admin()) as session:
            await until(lambda: _is_ready(session), within=WITHIN)
        yield Replica(legation, door)


async def _is_ready(session: aiohttp.ClientSession) -> bool:
    async with session.get("/readyz") as answer:
        return answer.ok


async def renewed(fleet: Fleet, quiet: float) -> Step:
    """Wait until each Envoy has come once more, and say what that was; replicas use so much by themselves."""
    service, envoys = fleet.service, fleet.envoys
    before, opened = fleet.counted(), [each.opened for each in envoys]
    began, used = monotonic(), service.processor()
    await eventually(lambda: all(e.opened > then for e, then in zip(envoys, opened, strict=True)), WITHIN)
    shares = Counter(id(way.to) for way in fleet.ways)
    for each in envoys:
        await each.is_complete()
    took, used = monotonic() - began, service.processor() - used
    replicas = service.replicas
    multiples = [shares[id(each)] * len(replicas) / len(envoys) for each in replicas]
    by_themselves = quiet * took * len(replicas)
    return Step(len(replicas), multiples, fleet.counted().since(before), used - by_themselves)


async def idle(service: Service) -> float:
    """Say what one replica uses in a second without any Envoy."""
    before = service.processor()
    await asyncio.sleep(QUIET)
    return (service.processor() - before) / QUIET / len(service.replicas)


async def measure(config: Path) -> tuple[float, dict[str, Step]]:
    """Return what it takes to have an Envoy come for the first time, and what each step was."""
    service, steps = Service(), dict[str, Step]()
    fleet = Fleet.of(ENVOYS, service)
    async with AsyncExitStack() as doors:
        for _ in range(2):
            service.replicas.append(await doors.enter_async_context(replica(config)))
        quiet = await idle(service)
        began, used = monotonic(), service.processor()
        async with complete(fleet.envoys, AT_ONCE):
            took = monotonic() - began
            joined = service.processor() - used - quiet * took * len(service.replicas)
            steps["all have come again"] = await renewed(fleet, quiet)
            service.replicas.append(await doors.enter_async_context(replica(config)))
            steps["a third one joined"] = await renewed(fleet, quiet)
            ends = service.replicas.pop(0).legation
            ends.stop()
            steps["one ended"] = await renewed(fleet, quiet)
            await ends.process.wait()
            steps["all have come again since"] = await renewed(fleet, quiet)
    return joined, steps


def report(joined: float, steps: dict[str, Step]) -> None:
    """Print shares, counts, and what a stream costs beside one that is the first of its Envoy."""
    print(f"{ENVOYS} Envoys behind a Service; a stream ends when it is {AGE / 2:.0f} to {AGE} seconds old")
    print(
        f"{'':>26} {'replicas':>8} {'least':>6} {'most':>6} {'streams':>8} {'lost':>5} {'sent again':>11}"
        f" {'processor':>10}"
    )
    for what, each in steps.items():
        cost = each.processor / each.seen.streams / (joined / ENVOYS)
        print(
            f"{what:>26} {each.replicas:>8} {min(each.shares):>5.2f}x {max(each.shares):>5.2f}x"
            f" {each.seen.streams:>8} {each.seen.lost:>5} {each.seen.resources:>11} {cost:>9.2f}x"
        )
    one = [each.processor / each.seen.streams for each in steps.values()]
    streams = THOUSAND / (CONNECTION_AGE * 3 / 4)
    print(
        "shares are multiples of the fair one; the processor is for a stream, of what an Envoy's first takes"
    )
    print(
        f"{THOUSAND} Envoys, each renewed after {CONNECTION_AGE * 3 / 4 / 60:.1f} minutes on average:"
        f" {min(one) * streams:.2%} to {max(one) * streams:.2%} of one processor, of all replicas together"
    )


async def main() -> None:
    """Measure, and print."""
    with tempfile.TemporaryDirectory() as folder:
        async with serving(FaultyApi()) as api:
            scene = Scene(api)
            await scene.fill()
            report(*await measure(write_kubeconfig(Path(folder), f"http://127.0.0.1:{api.port}")))


if __name__ == "__main__":
    asyncio.run(main())
