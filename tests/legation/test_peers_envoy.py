"""Real Envoys at two replicas: a Gateway is programmed when all of them say so, wherever they connect."""

import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from legation.addresses import HostPort, Socket
from legation.bootstrap import Start, as_fields, bootstrap
from legation.change import Stated
from legation.channel.authority import make_root
from legation.deliveries import Heard
from legation.folder import Folder, read
from legation.publish import Offers
from legation.telling import tell_of
from legation.workbench import Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, together
from tests.legation.replicas import Replica, day
from tests.legation.running import free_port
from tests.real_envoy import running_envoy
from translator.names import Name
from translator.rules.gateways import BINDING, Binding
from xds_server.service import Address

EDGE = Name("infra", "edge")
HELD, PENDING = Heard(EDGE, acknowledged=True), Heard(EDGE)
NOBODYS = "192.0.2.1"  # no machine has it


class Site(Struct, frozen=True):
    """A replica that translates by itself, and the socket at which it serves Envoys."""

    replica: Replica
    folder: Folder
    workbench: Workbench
    offers: Offers
    socket: Path

    async def apply(self, port: int, binding: Binding) -> None:
        """Have the Gateway's one listener on a port."""
        self.folder.take("a.yaml", read(together(LEGATION_CLASS, gateway("edge", port)), "a.yaml"))
        outcome = self.workbench.work([Stated(BINDING, binding), *self.folder.changes()])
        await self.offers.offer(outcome.snapshots)
        self.replica.deliveries.note()

    def knows_of_both(self) -> bool:
        """Say whether an Envoy is known here and one there."""
        others = self.replica.peers.others().about(str(EDGE))
        return len(others) == 1 and tell_of(self.replica.hub, str(EDGE)) is not None

    def is_newest_here(self) -> bool:
        """Say whether the Envoys that are connected here hold all that is offered here."""
        told = tell_of(self.replica.hub, str(EDGE))
        return told is not None and all(each.newest for each in told.holdings)

    @asynccontextmanager
    async def envoy(self, node: str) -> AsyncIterator[None]:
        """Run an Envoy that is connected here."""
        start = Start(EDGE, node, Socket(self.socket), HostPort("127.0.0.1", 0))
        async with running_envoy(as_fields(bootstrap(start)), wait_ready=False):
            yield


@pytest.fixture
async def sites(tmp_path: Path) -> AsyncIterator[tuple[Site, Site]]:
    """Two replicas that follow each other."""
    roots = (make_root(day()),)
    made = []
    async with AsyncExitStack() as running:
        for number in range(2):
            replica, socket = Replica(roots), tmp_path / str(number)
            made.append(Site(replica, Folder(), Workbench(), Offers(replica.hub), socket))
            await running.enter_async_context(replica.running(Address(f"unix:{socket}")))
        for site in made:
            site.replica.peers.find([each.replica.address for each in made])
        yield made[0], made[1]


async def test_a_gateway_is_programmed_once_the_envoys_of_both_replicas_listen(
    sites: tuple[Site, Site],
) -> None:
    here, there = sites
    address = ".".join(["127", *(str(1 + secrets.randbelow(254)) for _ in range(3))])
    shared, first, second = Binding(address), free_port(), free_port()
    for site in sites:
        await site.apply(first, shared)
    async with here.envoy("a"), there.envoy("b"):
        for site in sites:
            await site.replica.until_heard(HELD)
            await site.replica.until(site.knows_of_both)
        await here.apply(second, shared)
        await here.replica.until_heard(PENDING)
        await here.replica.until(here.is_newest_here)
        assert here.replica.deliveries.news(here.replica.hub) == ()
        assert here.replica.heard[-1] == PENDING
        await there.apply(second, shared)
        for site in sites:
            await site.replica.until_heard(HELD)


async def test_what_an_envoy_of_another_replica_refuses_is_told_in_its_words(
    sites: tuple[Site, Site],
) -> None:
    here, there = sites
    port = free_port()
    for site in sites:
        await site.apply(port, Binding(NOBODYS))
    async with there.envoy("b"):
        await here.replica.until(lambda: any(heard.refusals for heard in here.replica.heard))
    [refusal] = here.replica.heard[-1].refusals
    assert "Cannot assign requested address" in refusal.words
