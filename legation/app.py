"""`legation up`, put together: every part is made here, and every task is born and dies here."""

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from pathlib import Path

import structlog

from legation.change import Stated
from legation.engine import Engine, Surroundings, guard_by, opened
from legation.files import Update, watch
from legation.proofs.audit_log import AuditLog, appending
from legation.proxies.envoy_process import Launch
from legation.proxies.local import Fleet
from legation.pump import the_time
from legation.roots import system_roots
from legation.settings import Settings
from legation.standing import Overview
from legation.workbench import Change, Outcome, Workbench
from translator.names import Name
from translator.rules.backend_tls import SYSTEM_ROOTS
from translator.rules.gateways import BINDING, Binding
from xds_server.service import Address, Terms, serving
from xds_server.snapshot import LDS

CHECK_WITHIN = 60.0  # seconds
LOCAL_GOODBYE = 0.5  # seconds; nobody needs to spread over other replicas here


async def up(settings: Settings) -> Overview:
    """Run everything on this machine until a signal, or until the check is done; return how things stood."""
    with tempfile.TemporaryDirectory(prefix="legation-") as home:
        roots = system_roots()
        if roots is None:
            structlog.get_logger().warning("this machine has no trusted roots; set SSL_CERT_FILE to a bundle")
        return await Everything(settings, Path(home), roots).run()


class Everything:
    """Every part of one run."""

    def __init__(self, settings: Settings, home: Path, roots: Path | None) -> None:
        """Make the parts and connect them; nothing runs yet."""
        self._settings = settings
        self._roots = roots
        self._socket = home / "xds"
        binary = settings.envoy or Path()
        self._fleet = Fleet(Launch(binary, home, self._socket, system_roots=roots))
        asks = settings.envoy is not None or settings.xds is not None
        around = Surroundings(
            self._fleet.proxies, settings.port_offset, LOCAL_GOODBYE, traces=settings.traces
        )
        self._engine = Engine(Workbench(asks_envoys=asks), around, [self._take])
        self._audit_log = AuditLog(appending(settings.audit_log)) if settings.audit_log else None
        if self._audit_log:
            self._engine.measure(self._audit_log)
        self._news = asyncio.Event()
        self._stopping = asyncio.Event()
        self._begun = self._held = False
        self._proxies: asyncio.Task[None] | None = None

    async def run(self) -> Overview:
        """Read the folder, then serve it until there is a reason to stop."""
        self._heed_signals()
        async with aclosing(watch(self._settings.folder)) as updates:
            await self._read(await anext(updates))
            async with AsyncExitStack() as doors:
                await self._open(doors)
                return await self._serve(updates)

    async def _serve(self, updates: AsyncIterator[Update]) -> Overview:
        """Run every part; at the end Envoys are drained while all else still serves."""
        recording = (self._audit_log.run(),) if self._audit_log else ()
        async with asyncio.TaskGroup() as tasks:
            parts = (*self._engine.work(), self._follow(updates), *recording)
            serving = [tasks.create_task(part) for part in parts]
            self._proxies = tasks.create_task(self._fleet.run())
            await self._until_done()
            overview = self._engine.standing.overview()
            self._fleet.stop()
            await asyncio.wait([self._proxies])
            for task in serving:
                task.cancel()
        return overview

    def _heed_signals(self) -> None:
        """Stop when asked, and when the terminal is closed unless that is ignored, as `nohup` has it."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            loop.add_signal_handler(signal.SIGHUP, self._begin_to_stop)

    def _stop(self) -> None:
        """Begin to stop; asked a second time, do not wait for anybody."""
        if self._stopping.is_set() and self._proxies is not None:
            self._proxies.cancel()
        self._begin_to_stop()

    def _begin_to_stop(self) -> None:
        self._stopping.set()
        self._news.set()

    def _facts(self) -> Sequence[Change]:
        asked = self._settings
        here = Binding(asked.address, asked.port_offset, is_exclusive=True, has_all=asked.envoy is not None)
        return (the_time(), Stated(BINDING, here), Stated(SYSTEM_ROOTS, self._roots is not None))

    async def _read(self, update: Update) -> None:
        """Pass on what the folder says; until it is safe for the first time, nothing is served."""
        self._engine.standing.problems = update.problems
        self._held = update.held
        batch = (*(() if self._begun else self._facts()), *update.changes)
        if batch and not update.held:
            self._engine.put(batch, update.seen)
            self._begun = True
        await self._engine.announce()
        self._news.set()

    async def _follow(self, updates: AsyncIterator[Update]) -> None:
        async for update in updates:
            await self._read(update)

    def _take(self, outcome: Outcome) -> None:
        """Have an Envoy for each Gateway that has something to listen for."""
        if self._audit_log:
            self._audit_log.take(outcome)
        if self._settings.envoy is not None:
            listening = (group for group, snapshot in outcome.snapshots.items() if snapshot.entries[LDS])
            self._fleet.want({Name.read(group) for group in listening})
        self._news.set()

    async def _open(self, doors: AsyncExitStack) -> None:
        """Open the ports that others come in by."""
        await self._engine.open_admin(doors, self._settings.admin, self._fleet.handshakes)
        own = Address(f"unix:{self._socket}")
        await opened(
            doors, serving(self._engine.hub, [own], Terms(drain=LOCAL_GOODBYE)), "the socket for Envoys"
        )
        if (xds := self._settings.xds) is not None:
            await self._engine.open_xds(doors, xds, guard_by(self._settings.xds_files))

    async def _until_done(self) -> None:
        """Wait for a signal, or until every Gateway is programmed or refused if that is all that is asked."""
        if not self._settings.check:
            await self._stopping.wait()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(CHECK_WITHIN):
                while not (self._stopping.is_set() or self._held or self._is_settled()):
                    self._news.clear()
                    await self._news.wait()

    def _is_settled(self) -> bool:
        standing = self._engine.standing
        return standing.ready and all(gateway.is_settled for gateway in standing.gateways())
