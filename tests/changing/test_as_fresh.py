"""Whatever an Envoy has gone through, at last it holds what one holds that has only begun.

Streams end at any answer, the control plane ends and comes again without a memory, Envoy falls silent for a
while, and refuses what it is offered beside the rest.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from signal import SIGCONT, SIGSTOP
from typing import Any

import pytest
from msgspec import structs

from legation.publish import Publisher
from tests.changing.changes import ALL
from tests.changing.scene import HIRED, LULL, START, vouched
from tests.changing.shop import ASIDE, PLAIN, SECURE, SPARE, Grounds, Shop
from tests.changing.told import resources
from tests.legation.running import free_port
from tests.real_envoy import RunningEnvoy, running_envoy, until
from tests.xds_server.honest_envoy import GROUP
from tests.xds_server.test_with_envoy import BOTH, bootstrap, out_of_range
from translator.names import Name
from xds_server.hub import Hub
from xds_server.report import Report, Sent
from xds_server.service import Address, Terms, serving
from xds_server.snapshot import CDS, LDS, Resource

pytestmark = pytest.mark.envoy

CHANGES = 120
WITHIN = 120.0
LOST = 0.1  # of all answers, and the stream with them
SILENT = 0.5  # seconds at most
DRAINS = ("--drain-time-s", "1", "--drain-strategy", "immediate")
EVENTS = ("end", "fall silent", "refuse", "agree", *("go on",) * 6)
BAD: tuple[Mapping[str, Mapping[str, Resource]], ...] = (
    {CDS: {"bad": out_of_range()}},  # nothing of the answer is taken
    {LDS: {"bad": Resource(b"\x0a\x03bad")}},  # all of it but this
)
TOLD = (
    "ClustersConfigDump",
    "ListenersConfigDump",
    "RoutesConfigDump",
    "SecretsConfigDump",
    "EndpointsConfigDump",
)
ITS_OWN = ("last_updated", "version_info")  # a listener whose chains are replaced keeps the version it had

Json = Any  # as an admin page writes it
Held = dict[tuple[str, str], Json]


class StreamLostError(Exception):
    """Ends a stream."""


class Plane:
    """A control plane to which things happen."""

    def __init__(self, socket: Path, grounds: Grounds, chance: Random) -> None:
        self.is_calm = False
        self.ends = asyncio.Event()
        self._address = Address(f"unix:{socket}")
        self._grounds = grounds
        self._chance = chance
        self._offered = resources(START, grounds)
        self._bad: Mapping[str, Mapping[str, Resource]] = {}
        self._begin()

    def _begin(self) -> None:
        self.hub, self._publisher = Hub(self._told), Publisher()
        self._publish()

    async def run(self) -> None:
        """Serve, and begin anew whenever it ends."""
        while True:
            async with serving(self.hub, [self._address], Terms(drain=0.0)):
                await self.ends.wait()
                self.ends.clear()
            self._begin()

    def offer(self, shop: Shop) -> None:
        """Offer a shop as it is now."""
        self._offered = resources(shop, self._grounds)
        self._publish()

    def offer_beside(self, bad: Mapping[str, Mapping[str, Resource]]) -> None:
        """Offer something that Envoy refuses, or nothing of the kind."""
        self._bad = bad
        self._publish()

    def _publish(self) -> None:
        [snapshot] = self._publisher.snapshots({Name("shop", "edge"): self._offered}).values()
        self.hub.publish(GROUP, snapshot.amended(self._bad))

    def _told(self, report: Report) -> None:
        if isinstance(report, Sent) and not self.is_calm and self._chance.random() < LOST:
            raise StreamLostError


async def happen(event: str, plane: Plane, envoy: RunningEnvoy, chance: Random) -> None:
    """Have something happen beside the changes."""
    match event:
        case "end":
            plane.ends.set()
        case "fall silent":
            envoy.process.send_signal(SIGSTOP)
            await asyncio.sleep(SILENT * chance.random())
            envoy.process.send_signal(SIGCONT)
        case "refuse":
            plane.offer_beside(chance.choice(BAD))
        case "agree":
            plane.offer_beside({})
        case _:
            pass


@asynccontextmanager
async def begun(folder: Path, chance: Random) -> AsyncIterator[Plane]:
    """Have a control plane of an open shop, of which nobody visits anything."""
    roots, certificates, _ = vouched()
    ports = {name: free_port() for name in (PLAIN, SECURE, SPARE, ASIDE)}
    pods = {each.name: structs.replace(each, port=number) for number, each in enumerate(HIRED, 9000)}
    plane = Plane(folder / "xds", Grounds(pods, roots, certificates, ports), chance)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(plane.run())
        yield plane
        running.cancel()


def entries(dump: Json) -> Iterator[tuple[tuple[str, str], Json]]:
    """Give everything that an Envoy was told, by its state and its name."""
    for section in dump["configs"]:
        if section["@type"].endswith(TOLD):
            for state, found in section.items():
                for each in found if isinstance(found, list) else ():
                    said = each if "name" in each else next(filter(is_message, each.values()))
                    yield (state, said.get("name", said.get("cluster_name"))), plain(each)


def is_message(said: Json) -> bool:
    """Say whether this is a part with a type of its own."""
    return isinstance(said, dict) and "@type" in said


def plain(said: Json) -> Json:
    """Leave out what each Envoy says for itself."""
    match said:
        case dict():
            return {key: plain(each) for key, each in said.items() if key not in ITS_OWN}
        case list():
            return [plain(each) for each in said]
        case _:
            return said


async def held(envoy: RunningEnvoy) -> Held:
    """Return all that an Envoy holds, also what it waits with, drains or was refused for."""
    return dict(entries(await envoy.config_dump()))


async def hold_the_same(one: RunningEnvoy, other: RunningEnvoy) -> bool:
    """Say whether two Envoys do, and it is something."""
    has = await held(one)
    return bool(has) and has == await held(other)


@BOTH
async def test_an_envoy_holds_at_last_what_a_fresh_one_does_whatever_happened(
    tmp_path: Path, api: str
) -> None:
    chance = Random(4)  # noqa: S311  not for secrets
    async with begun(tmp_path, chance) as plane:
        served = partial(bootstrap, tmp_path / "xds", api)
        async with running_envoy(served("old"), *DRAINS) as old:
            shop = START
            for number in range(CHANGES):
                shop = structs.replace(chance.choice(ALL)(shop, chance), number=number)
                plane.offer(shop)
                await asyncio.sleep(LULL * chance.random())
                await happen(chance.choice(EVENTS), plane, old, chance)
            plane.is_calm = True
            plane.offer_beside({})
            async with running_envoy(served("fresh"), *DRAINS) as fresh:
                with suppress(TimeoutError):  # what differs is said below
                    await until(partial(hold_the_same, old, fresh), within=WITHIN)
                assert await held(old) == await held(fresh)
