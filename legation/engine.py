"""From changes to what Envoys and people are given: the parts that every way to run has."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import TypeVar

import structlog
from msgspec import Struct, structs
from prometheus_client.registry import Collector

from legation.addresses import HostPort
from legation.admin.expiry_metrics import Expiries
from legation.admin.gauges import Traffic
from legation.admin.maps import Count
from legation.admin.metrics import Telemetry
from legation.admin.server import AdminPort, answering, nobody_counts
from legation.announce import Announcer
from legation.channel.identity import flaw, proven_group, read_proof
from legation.deliveries import Deliveries
from legation.peers import Others, alone
from legation.proofs import trust_news
from legation.proxies.local import Proxy
from legation.publish import Offers
from legation.pump import Pump, Taker
from legation.quarantine import Quarantine
from legation.quarantined import Held
from legation.second_tries import SecondTries
from legation.settings import ServerFiles
from legation.standing import Standing
from legation.telemetry.otlp import Exporter
from legation.telemetry.otlp_settings import Traces
from legation.telemetry.overtime import Overtime
from legation.telemetry.watchdog import Watchdog
from legation.telling import Telling
from legation.workbench import Batch, Outcome, Workbench
from translator.names import Name, Ref
from translator.world import World
from xds_server.admission import GroupOf
from xds_server.feed import Feed
from xds_server.hub import Hub
from xds_server.report import Report
from xds_server.service import Address, Proof, Terms, mutual_tls, serving

T = TypeVar("T")


class CannotStartError(Exception):
    """A port, a file or a server that is needed and not to be had."""

    def __init__(self, what: str, remedy: str) -> None:
        """Say why, and what helps."""
        super().__init__(what)
        self.remedy = remedy


class Guard(Struct, frozen=True):
    """What the xDS port proves itself with, and whom it lets in; and what it tells other replicas there."""

    proof: Callable[[], Proof]
    group_of: GroupOf = proven_group
    feed: Feed | None = None


def guard_by(files: ServerFiles | None) -> Guard | None:
    """Guard the port by files, read anew for each connection."""
    if files is None:
        return None
    if why := flaw(files):
        what = f"--xds proves nothing: {why}"
        raise CannotStartError(what, "give a certificate, its key and a CA, all as PEM")
    return Guard(partial(read_proof, files))


class Surroundings(Struct, frozen=True):
    """What differs from one way to run to the other, seen from here."""

    proxies: Callable[[], Mapping[Name, Proxy]] = dict
    port_offset: int = 0
    goodbye: float = 0.5  # seconds in which Envoys spread over other replicas, where there are any
    connection_age: float | None = None  # seconds after which they spread anew, where there are any
    others: Callable[[], Others] = alone
    confide: Callable[[Mapping[str, Telling], Mapping[str, Held]], None] = lambda _here, _held: None
    traces: Traces | None = None


class Engine:
    """Translates, offers to Envoys, says how things stand; where objects come from is not its business."""

    def __init__(self, workbench: Workbench, around: Surroundings, takers: Sequence[Taker] = ()) -> None:
        """Make the parts and connect them; nothing runs yet. Takers are told after everyone here."""
        self._around = around
        self._log = structlog.get_logger()
        self._telemetry = Telemetry()
        self._traces = Exporter(around.traces) if around.traces else None
        self._deliveries = Deliveries(around.others, self._confide)
        self.hub = Hub(self._told)
        self._offers = Offers(self.hub)
        self._untraced: list[Report] | None = None  # heard before all was offered that it may be about
        self.standing = Standing(self.hub, around.proxies, around.port_offset)
        self.standing.others = around.others
        self._announcer = Announcer(self.standing)
        self._pump = Pump(workbench, (self._offer, self._tell, self._telemetry.take, *takers))
        self._quarantine = Quarantine(self._pump.put, may_have_others=True)
        self._second_tries = SecondTries()
        self._overtime = Overtime(lambda: self._pump.running)
        self.standing.overdue = self._overtime.findings
        self.measure(self._overtime)
        self._watchdog = Watchdog(self._telemetry.registry)
        self.measure(Expiries(lambda: self.standing.outcome.ends))
        self.measure(Traffic(self.hub, lambda: self._pump.waiting))

    def put(self, batch: Batch, received: float | None = None) -> None:
        """Add to the next batch; what is news of a source says when it was received."""
        self._pump.put(batch, received)

    async def announce(self) -> None:
        """Say in the log what changed for the better or the worse."""
        await self._announcer.announce()

    def wrote(self, about: Ref) -> None:
        """Hear that a status was written."""
        if self._traces:
            self._traces.tracer.wrote(about)

    def ask_again(self) -> None:
        """Ask what Envoys made of what they were sent: other replicas have news of theirs."""
        self._deliveries.note()

    async def ask(self, question: Callable[[World], T]) -> T:
        """Answer about the world as it was last translated."""
        return await self._pump.ask(question)

    def measure(self, collector: Collector) -> None:
        """Have Prometheus told of one more part."""
        self._telemetry.registry.register(collector)

    def work(self) -> tuple[Coroutine[None, None, None], ...]:
        """Give what has to run, each until cancelled."""
        watching = (self._watchdog.run(), self._overtime.run())
        delivering = self._deliveries.run(self.hub, self._pump.put)
        trying = self._second_tries.run(self.hub)
        tracing = (self._traces.run(),) if self._traces else ()
        return (self._pump.run(), self._pump.tell_time(), delivering, trying, *watching, *tracing)

    async def open_admin(self, doors: AsyncExitStack, admin: HostPort, count: Count = nobody_counts) -> None:
        """Open the port for people and probes."""
        names = frozenset({"localhost", admin.host})
        port = AdminPort(self.standing, self._telemetry, names, count, self.ask)
        number = await opened(doors, answering(port, admin), f"--admin {admin}")
        self._log.info("admin port", url=f"http://{HostPort(admin.host, number)}/")

    async def open_xds(self, doors: AsyncExitStack, xds: HostPort, guard: Guard | None) -> None:
        """Open a port for Envoys: certificates prove whose they are; without any, all are on loopback."""
        credentials = mutual_tls(guard.proof) if guard else None
        terms = Terms(drain=self._around.goodbye, longest_connection=self._around.connection_age)
        if guard is not None:
            terms = structs.replace(terms, group_of=guard.group_of)
        feed = guard.feed if guard else None
        others = serving(self.hub, [Address(str(xds), credentials)], terms, feed)
        [number] = await opened(doors, others, f"--xds {xds}")
        self._log.info("xDS port", address=str(HostPort(xds.host, number)))

    async def _offer(self, outcome: Outcome) -> None:
        self._quarantine.take(outcome)
        reports = self._untraced = []
        try:
            concerned = await self._offers.offer(outcome.snapshots, outcome.cause)
        finally:
            self._untraced = None
        if self._traces:
            self._traces.tracer.offered(outcome, concerned)
            for report in reports:
                self._traces.tracer.note(report)

    async def _tell(self, outcome: Outcome) -> None:
        self.standing.take(outcome)
        await asyncio.sleep(0)  # what went with the outcome before may have taken a while
        await self._announcer.announce(outcome.news)
        await trust_news.log(outcome.roots)
        self._deliveries.note()

    def _confide(self, here: Mapping[str, Telling]) -> None:
        """Tell other replicas how things stand with Envoys here, and hear what they hold back."""
        others = self._around.others()
        self._quarantine.hear(others.held, everybody=not others.incomplete)
        self._around.confide(here, self._quarantine.told())

    def _told(self, report: Report) -> None:
        self._telemetry.note(report)
        if self._untraced is not None:
            self._untraced.append(report)
        elif self._traces:
            self._traces.tracer.note(report)
        self._deliveries.note(report)
        self._quarantine.note(report)
        self._second_tries.note(report)


async def opened(doors: AsyncExitStack, door: AbstractAsyncContextManager[T], what: str) -> T:
    """Open something for as long as all doors are open."""
    try:
        return await doors.enter_async_context(door)
    except (OSError, RuntimeError) as error:
        why = f"{what} cannot be opened: {error}"
        raise CannotStartError(why, "choose another address or port, or end who has it") from error
