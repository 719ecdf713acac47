"""One Envoy per Gateway on this machine: started when wanted, restarted when it ends, drained when not."""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic

import structlog
from msgspec import Struct
from structlog.typing import FilteringBoundLogger

from legation.proxies.envoy_admin import EnvoyAdmin
from legation.proxies.envoy_log import relay
from legation.proxies.envoy_process import Launch, admin_socket, end, running
from translator.names import Name

SETTLED = 10.0  # seconds; who lives this long did not crash from the start
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0  # between two starts


class Proxy(Struct, frozen=True, rename="camel"):
    """One Envoy as it stands; without a process while it waits to be started again."""

    pid: int | None
    starts: int
    last_exit: str = ""


class Fleet:
    """The Envoys of all Gateways."""

    def __init__(self, launch: Launch) -> None:
        """Begin without any."""
        self._launch = launch
        self._wanted: frozenset[Name] = frozenset()
        self._news = asyncio.Event()
        self._stopping = False
        self._leaving: dict[Name, asyncio.Event] = {}
        self._proxies: dict[Name, Proxy] = {}
        self._admins: dict[Name, EnvoyAdmin] = {}
        self._numbers = count(1)
        self._log = structlog.get_logger()

    def want(self, gateways: Collection[Name]) -> None:
        """Have exactly one Envoy for each of these Gateways."""
        if gateways != self._wanted:
            self._wanted = frozenset(gateways)
            self._news.set()

    def stop(self) -> None:
        """Drain all of them, and then end `run`."""
        self._stopping = True
        self._news.set()

    def proxies(self) -> Mapping[Name, Proxy]:
        """Say what runs now."""
        return dict(self._proxies)

    async def handshakes(self) -> Mapping[Name, Mapping[str, int]]:
        """Ask every Envoy what became of TLS with its backends."""
        admins = dict(self._admins)
        answers = await asyncio.gather(*(admin.handshakes() for admin in admins.values()))
        return dict(zip(admins, answers, strict=True))

    async def run(self) -> None:
        """Start and stop Envoys as they are wanted, until told to stop; a cancelled fleet is killed."""
        async with asyncio.TaskGroup() as tasks:
            while not self._stopping:
                await self._news.wait()
                self._news.clear()
                wanted = self._due()
                for name in self._leaving.keys() - wanted:
                    self._leaving[name].set()
                for name in sorted(wanted - self._leaving.keys()):
                    leaving = self._leaving[name] = asyncio.Event()
                    tasks.create_task(self._keep(name, leaving))

    def _due(self) -> frozenset[Name]:
        return frozenset() if self._stopping else self._wanted

    async def _keep(self, name: Name, leaving: asyncio.Event) -> None:
        """Run one Gateway's Envoy until it is not wanted any more."""
        home = self._launch.home / str(next(self._numbers))  # short: a socket's path has little room
        self._admins[name] = EnvoyAdmin(admin_socket(home))
        log = self._log.bind(gateway=str(name))
        crashes = 0
        for starts in count(1):
            begun = monotonic()
            ended = await self._lived(name, home, starts, leaving)
            if leaving.is_set():
                break
            crashes = 0 if monotonic() - begun > SETTLED else crashes + 1
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** max(0, crashes - 1))
            self._proxies[name] = Proxy(None, starts, _said(log, ended, starts, pause))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await leaving.wait()
                break
        del self._leaving[name]
        self._proxies.pop(name, None)
        self._admins.pop(name, None)
        self._news.set()  # it may be wanted again by now

    async def _lived(self, name: Name, home: Path, starts: int, leaving: asyncio.Event) -> int | OSError:
        """Return how a process ended, or why there was none: a disk may be full, and others go on."""
        try:
            return await self._live(name, home, starts, leaving)
        except OSError as error:
            return error

    async def _live(self, name: Name, home: Path, starts: int, leaving: asyncio.Event) -> int:
        """Run one process; return its exit code, after a drain if it was asked to leave."""
        async with running(self._launch, name, home) as process, asyncio.TaskGroup() as tasks:
            last = self._proxies.get(name)
            self._proxies[name] = Proxy(process.pid, starts, last.last_exit if last else "")
            tasks.create_task(relay(process, self._log.bind(gateway=str(name))))
            if not await _ends_first(process, leaving):
                self._log.info("draining", gateway=str(name))
                await end(process, home, self._launch.drain_within)
                if process.returncode is None:
                    process.kill()
        assert process.returncode is not None, "its output ended, and then it was waited for"
        return process.returncode


def _said(log: FilteringBoundLogger, ended: int | OSError, starts: int, pause: float) -> str:
    """Write into the log how a process ended, and return it in words."""
    if isinstance(ended, OSError):
        log.warning("Envoy cannot be started; it is tried again", why=str(ended), starts=starts, pause=pause)
        return f"cannot be started: {ended}"
    log.warning("Envoy ended; it is started again", code=ended, starts=starts, pause=pause)
    return f"ended with code {ended}"


async def _ends_first(process: Process, leaving: asyncio.Event) -> bool:
    """Wait for a process to end, or to be asked to; say whether it ended by itself."""
    ended = asyncio.ensure_future(process.wait())
    asked = asyncio.ensure_future(leaving.wait())
    try:
        await asyncio.wait([ended, asked], return_when=asyncio.FIRST_COMPLETED)
        return ended.done()
    finally:
        ended.cancel()
        asked.cancel()
