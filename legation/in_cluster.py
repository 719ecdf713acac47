"""`legation run`, put together: every part and every task of one replica of the control plane."""

import asyncio
import os
import signal
import socket
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from secrets import token_hex

import structlog

from k8s_watch import api_server
from k8s_watch.api_server import ApiServer, Load, NoAccessError
from k8s_watch.kind import Place
from k8s_watch.reader import Reader
from k8s_watch.writer import Writer
from legation.change import written
from legation.cluster import Batch, Cluster, Ears
from legation.engine import CannotStartError, Engine, Surroundings
from legation.events import Events
from legation.leader import Leader
from legation.pump import Outcome, Workbench, the_time
from legation.settings import RunSettings
from legation.status_writer import StatusWriter
from translator.rules.gateways import CONTROLLER

LEASE = "legation"
SPREAD = 3.0  # seconds over which streams end, so that Envoys do not all call another replica at once
SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def run(settings: RunSettings) -> None:
    """Serve as one replica until a signal."""
    try:
        async with ApiServer(access(settings)) as server:
            await Replica(settings, server).run()
    except NoAccessError as error:
        message = f"there is no way to an API server: {error}"
        raise CannotStartError(message) from error


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
        self._statuses = StatusWriter(writer, self._api_version, _now, told=self._events.note)
        self._cluster = Cluster(Reader(server), Ears(self._read, self._statuses.overhear), settings.watched)
        lease = Place("coordination.k8s.io/v1", "leases", settings.namespace, LEASE)
        self._leader = Leader(writer, lease, f"{socket.gethostname()}-{token_hex(4)}")
        workbench = Workbench(keeps_what_is_written=True)
        self._engine = Engine(workbench, Surroundings(goodbye=SPREAD), [self._take])
        self._engine.standing.lacks = lambda: self._cluster.lacks
        self._begun = False
        self._translated = asyncio.Event()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Serve until there is a reason to stop; the Lease is let go before streams are ended."""
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self._stopping.set)
        async with AsyncExitStack() as doors:
            await self._engine.open_admin(doors, self._settings.admin)
            await self._engine.open_xds(doors, self._settings.xds, self._settings.xds_files)
            await self._until_stopped((*self._engine.work(), self._cluster.run(), self._lead()))
            self._log.info("says goodbye to Envoys")

    async def _until_stopped(self, parts: tuple[Coroutine[None, None, None], ...]) -> None:
        async with asyncio.TaskGroup() as tasks:
            working = [tasks.create_task(part) for part in parts]
            await self._stopping.wait()
            for task in working:
                task.cancel()

    async def _lead(self) -> None:
        """Stand for election once there is something to say."""
        await self._translated.wait()
        await self._leader.run(self._tell)

    async def _tell(self) -> None:
        """Do what only one replica does."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._events.run())
            tasks.create_task(self._statuses.run())

    def _read(self, batch: Batch) -> None:
        if batch or not self._begun:
            self._engine.put((*(() if self._begun else (the_time(),)), *batch))
            self._begun = True

    def _take(self, outcome: Outcome) -> None:
        self._statuses.take(outcome.judged)
        self._events.take(outcome)
        self._translated.set()

    def _api_version(self, kind: type) -> str:
        return self._cluster.api_version(kind)


def _now() -> str:
    return written(datetime.now(UTC))
