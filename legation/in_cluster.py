"""`legation run`, put together: every part and every task of one replica of the control plane."""

import asyncio
import os
import signal
import socket
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from secrets import token_hex

import structlog
from msgspec import structs

from k8s_watch import api_server
from k8s_watch.api_server import ApiServer, Load, NoAccessError
from k8s_watch.change import Change
from k8s_watch.kind import Place
from k8s_watch.reader import Reader
from k8s_watch.writer import Writer
from legation import workbench
from legation.admin.cluster_metrics import ClusterMetrics, Sources
from legation.change import Stated, written
from legation.channel.authority import Credential
from legation.cluster import Batch, Cluster, Ears
from legation.crds import Crds
from legation.engine import CannotStartError, Engine, Guard, Surroundings, guard_by
from legation.events import Events
from legation.leader import Leader
from legation.managed_mode import ManagedMode
from legation.other_replicas import OtherReplicas, own_service
from legation.permissions import LEASE
from legation.proofs.audit_log import AuditLog, appending
from legation.proxies.ways import Ways
from legation.pump import Taker, the_time
from legation.settings import RunSettings
from legation.status_writer import StatusWriter, Wrote
from legation.workbench import Outcome, Workbench
from translator.objects.kinds import Object
from translator.rules.bundles import Bundles
from translator.rules.gateways import BINDING, CONTROLLER, WATCHED, Binding

POD = "POD_NAME"  # a variable, by which a pod knows itself
SPREAD = 3.0  # seconds over which streams end, so that Envoys do not all call another replica at once
SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def run(settings: RunSettings) -> None:
    """Serve as one replica until a signal."""
    try:
        async with ApiServer(access(settings)) as server:
            await Replica(settings, server).run()
    except NoAccessError as error:
        why = f"there is no way to an API server: {error}"
        raise CannotStartError(why, "run it in a pod of a cluster, or name a --kubeconfig") from error


def access(settings: RunSettings) -> Load:
    """Find the API server as asked; in a pod as pods do, and elsewhere as kubectl does."""
    if settings.kubeconfig is not None:
        return api_server.kubeconfig(str(settings.kubeconfig))
    return api_server.in_cluster() if "KUBERNETES_SERVICE_HOST" in os.environ else api_server.kubeconfig()


class Replica:
    """Every part of one run."""

    def __init__(self, settings: RunSettings, server: ApiServer) -> None:
        """Make the parts and connect them; nothing runs yet."""
        self._settings = settings
        self._log = structlog.get_logger()
        writer = Writer(server, CONTROLLER)
        self._events = Events(writer)
        self._statuses = StatusWriter(writer, self._api_version, _now, told=self._wrote)
        reader = Reader(server)
        self._cluster = Cluster(reader, Ears(self._read, self._overhear), settings.watched)
        lease = Place("coordination.k8s.io/v1", "leases", settings.namespace, LEASE)
        self._crds = Crds(reader, self._state)
        self._leader = Leader(writer, lease, _candidate())
        self._others = OtherReplicas(own_service(settings), reader, self._roots, self._ask_again)
        self._audit_log = AuditLog(appending(settings.audit_log)) if settings.audit_log else None
        self._engine = Engine(Workbench(keeps_what_is_written=True), self._around(), self._takers())
        self._engine.standing.lacks = lambda: self._cluster.lacks
        self._engine.standing.stale = self._cluster.stale
        self._engine.measure(ClusterMetrics(self._sources(server)))
        ways = Ways(reader, writer, settings.watched)
        review = self._engine.hub.review
        self._managed = (
            ManagedMode(settings, ways, self._engine.put, review) if settings.is_authority else None
        )
        if self._audit_log:
            self._engine.measure(self._audit_log)
        self._begun = False
        self._translated = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve until there is a reason to stop; the Lease is let go before streams are ended."""
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        async with AsyncExitStack() as doors:
            await self._engine.open_admin(doors, self._settings.admin)
            if await self._is_guarded():
                await self._engine.open_xds(doors, self._settings.xds, self._guard())
                await self._until_stopped((*self._engine.work(), self._watch(), *self._duties()))
                self._log.info("says goodbye to Envoys")

    async def _is_guarded(self) -> bool:
        """Wait for what the port for Envoys is guarded by; if we are stopped first, it is not."""
        if self._managed is None:
            return True
        opening = asyncio.create_task(self._managed.authority.open())
        stopping = asyncio.create_task(self._stopping.wait())
        done, waiting = await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        for task in done:
            task.result()
        return opening in done

    def _around(self) -> Surroundings:
        age, traces = self._settings.connection_age, self._settings.traces
        around = Surroundings(goodbye=SPREAD, connection_age=age, traces=traces)
        if not self._settings.is_authority:
            return around
        return structs.replace(around, others=self._others.known, confide=self._others.confide)

    def _guard(self) -> Guard | None:
        if self._managed is None:
            return guard_by(self._settings.xds_files)
        return structs.replace(self._managed.guard, feed=self._others.feed)

    def _duties(self) -> tuple[Coroutine[None, None, None], ...]:
        own = (self._managed.authority.run(), self._others.run()) if self._managed else ()
        return (self._lead(), *own)

    async def _until_stopped(self, parts: tuple[Coroutine[None, None, None], ...]) -> None:
        async with asyncio.TaskGroup() as tasks:
            working = [tasks.create_task(part) for part in parts]
            await self._stopping.wait()
            for task in working:
                task.cancel()

    async def _watch(self) -> None:
        """Read everything; what the CRDs are first, or a class would be told so one status too late."""
        await self._crds.begin()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._crds.run())
            tasks.create_task(self._cluster.run())

    async def _lead(self) -> None:
        """Stand for election once there is something to say."""
        await self._translated.wait()
        await self._leader.run(self._tell)

    async def _tell(self) -> None:
        """Do what only one replica does."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._events.run())
            tasks.create_task(self._write())
            if self._audit_log:
                tasks.create_task(self._audit_log.run())
            if self._managed:
                tasks.create_task(self._managed.keep())

    async def _write(self) -> None:
        """Write statuses, once what other replicas know was heard or waited for long enough."""
        if self._managed:
            await self._others.complete()
        await self._statuses.run()

    def _roots(self) -> tuple[Credential, ...]:
        return self._managed.authority.roots if self._managed else ()

    def _ask_again(self) -> None:
        self._engine.ask_again()

    def _overhear(self, kind: type, changes: Sequence[Change[Object]]) -> None:
        self._statuses.overhear(kind, changes)
        if self._managed:
            self._managed.overhear(kind, changes)

    def _read(self, batch: Batch, received: float) -> None:
        if batch or not self._begun:
            self._engine.put((*(() if self._begun else self._facts()), *batch), received)
            self._begun = True

    def _facts(self) -> Sequence[workbench.Change]:
        binding = Stated(BINDING, Binding(self._settings.proxies_listen_at))
        own = self._managed.facts if self._managed else ()
        watched = Stated(WATCHED, frozenset(self._settings.watched))
        return (the_time(), self._crds.fact, binding, watched, *own)

    def _state(self, fact: Stated[Bundles | None]) -> None:
        if self._begun:
            self._engine.put([fact])

    def _sources(self, server: ApiServer) -> Sources:
        return Sources(
            contacts=self._cluster.contacts,
            writes=lambda: self._statuses.writes,
            failures=lambda: server.failures,
            leads=lambda: self._leader.leads,
        )

    def _takers(self) -> Sequence[Taker]:
        """Name who takes what a batch led to, each in a turn of the event loop of its own."""
        records = [self._audit_log.take] if self._audit_log else []
        return (self._judge, self._events.take, *records, self._conclude)

    def _judge(self, outcome: Outcome) -> None:
        self._statuses.take(outcome.judged, outcome.news)

    def _conclude(self, outcome: Outcome) -> None:
        if self._managed:
            self._managed.take(outcome)
        self._translated.set()

    def _wrote(self, wrote: Wrote) -> None:
        self._events.note(wrote)
        self._engine.wrote(wrote.ref)

    def _api_version(self, kind: type) -> str:
        return self._cluster.api_version(kind)


def _candidate() -> str:
    """Name this replica: what comes after it in the same pod is the same to others, and goes on at once."""
    return os.environ.get(POD) or f"{socket.gethostname()}-{token_hex(4)}"


def _now() -> str:
    return written(datetime.now(UTC))
