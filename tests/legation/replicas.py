"""Replicas of the control plane in one process, each with a port by which others may follow it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic

from legation.channel.authority import Credential, Lifetime, issue, make_root, server
from legation.channel.badge import Badge, refusal
from legation.channel.rotation import bundle
from legation.deliveries import Deliveries, Heard
from legation.journal import Journal
from legation.peers import Peers
from tests.looking import SOON
from tests.xds_server.honest_envoy import GROUP, HonestEnvoy, listener
from translator.names import Name
from xds_server.feed import Feed
from xds_server.hub import Hub
from xds_server.report import Report
from xds_server.service import Address, Proof, Terms, mutual_tls, serving
from xds_server.snapshot import LDS, Resource, Snapshot

SERVER_NAME = "legation.legation-system.svc"
EDGE = Name(*GROUP.split("/"))


class Clock:
    """Time that passes by itself, and more when a test says so."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return monotonic() + self.ahead


class Replica:
    """One replica; what its Gateway's status would be made from is in `heard`."""

    def __init__(self, roots: tuple[Credential, ...]) -> None:
        self.roots = roots
        self.clock = Clock()
        self.reports: list[Report] = []
        self.hub = Hub(self._told, clock=self.clock)
        self.journal = Journal()
        badge = Badge(lambda: self.roots, SERVER_NAME)
        self.peers = Peers(self.journal.teller, badge.show, self._noted, self.clock)
        self.deliveries = Deliveries(self.peers.others, self.journal.keep)
        self.heard: list[Heard] = []
        self.address = ""
        self._news = asyncio.Event()

    def offer(self, version: str) -> None:
        """Offer one listener."""
        self.offer_listeners({"web": listener(version)})

    def offer_listeners(self, listeners: dict[str, Resource]) -> None:
        """Offer these listeners, and nothing else."""
        self.hub.publish(GROUP, Snapshot.of({LDS: listeners}, self.hub.snapshot(GROUP)))
        self.deliveries.note()

    def envoy(self) -> HonestEnvoy:
        """Connect one more Envoy, which does nothing by itself."""
        made = HonestEnvoy(self.hub, self.reports, whole=False, names_culprits=True)
        made.connect()
        return made

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for news that make something true."""
        async with asyncio.timeout(SOON):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def until_heard(self, heard: Heard) -> None:
        """Wait until this is what was heard last."""
        await self.until(lambda: self.heard[-1:] == [heard])

    @asynccontextmanager
    async def running(self, *more: Address) -> AsyncIterator[None]:
        """Serve, follow and listen until the block ends."""
        async with asyncio.TaskGroup() as tasks:
            parts = (self.peers.run(), self.deliveries.run(self.hub, self._take))
            working = [tasks.create_task(part) for part in parts]
            try:
                async with self.serving(*more):
                    yield
            finally:
                for task in working:
                    task.cancel()

    @asynccontextmanager
    async def serving(self, *more: Address) -> AsyncIterator[None]:
        """Let other replicas follow this one until the block ends."""
        leaf = issue(self.roots[-1], server([SERVER_NAME]), day())
        proof = Proof(leaf.certificate.encode(), leaf.key.encode(), bundle(self.roots).encode())
        door = Address("127.0.0.1:0", mutual_tls(lambda: proof))
        feed = Feed(refusal, self.journal.follow)
        async with serving(self.hub, [door, *more], Terms(drain=0.0), feed) as [port, *_]:
            self.address = f"127.0.0.1:{port}"
            yield

    def _told(self, report: Report) -> None:
        self.reports.append(report)
        self.deliveries.note(report)
        self._news.set()

    def _noted(self) -> None:
        self.deliveries.note()
        self._news.set()

    def _take(self, news: tuple[Heard, ...]) -> None:
        self.heard += news
        self._news.set()


class Relay:
    """A way to a replica that can be cut, as a cable is."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._open: list[asyncio.StreamWriter] = []
        self.address = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Carry bytes until the block ends."""
        listening = await asyncio.start_server(self._carry, "127.0.0.1", 0)
        host, port = listening.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        async with listening:
            try:
                yield
            finally:
                self.cut()

    def cut(self) -> None:
        """End every connection without a goodbye."""
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            other_reader, other_writer = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._open += [writer, other_writer]
        await asyncio.gather(_pump(reader, other_writer), _pump(other_reader, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.transport.abort()


def day() -> Lifetime:
    """Give a lifetime that is long enough for a test."""
    now = datetime.now(UTC).replace(microsecond=0)
    return Lifetime(now, now + timedelta(days=1))


@asynccontextmanager
async def two_replicas() -> AsyncIterator[tuple[Replica, Replica]]:
    """Run two replicas that offer the same and do not know of each other."""
    roots = (make_root(day()),)
    both = (Replica(roots), Replica(roots))
    async with AsyncExitStack() as running:
        for each in both:
            each.offer("v1")
            await running.enter_async_context(each.running())
        yield both
