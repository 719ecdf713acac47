"""`legation up` or `legation run` as a process, as a user starts it."""

import asyncio
import atexit
import json
import os
import random
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
from msgspec import Struct

from legation.standing import Overview, read_overview
from tests.real_envoy import until

STARTS_WITHIN = 120.0
STOPS_WITHIN = 120.0
ENDS_WITHIN = 240.0
UNASSIGNED = range(20_000, 30_000)  # ports that no kernel gives to whoever asks for any, nor Kubernetes
TRIES = 100
KEPT = 300  # claims: more than tests need at a time, and fewer than the files that a process may open


class Legation(Struct, frozen=True):
    """A running `legation`, and every line of its log so far."""

    process: Process
    lines: list[str]

    async def logged(self, event: str, within: float = STARTS_WITHIN) -> dict[str, str]:
        """Wait for a line of the log, and return the newest one."""

        async def there() -> bool:
            assert self.process.returncode is None, "\n".join(self.lines)
            return any(entry.get("event") == event for entry in self.entries())

        await until(there, within=within)
        return [entry for entry in self.entries() if entry.get("event") == event][-1]

    def entries(self) -> list[dict[str, str]]:
        """Read the log."""
        return [json.loads(line) for line in self.lines if line.startswith("{")]

    async def admin(self) -> str:
        """Return where the admin port is."""
        return (await self.logged("admin port"))["url"].rstrip("/")

    async def overview(self) -> Overview:
        """Ask how things stand."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{await self.admin()}/api/v1/status") as answer,
        ):
            return read_overview(await answer.read())

    async def metric(self, series: str) -> float:
        """Return what Prometheus is told of a series by its name and labels; nothing told is none."""
        async with aiohttp.ClientSession() as session, session.get(f"{await self.admin()}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        values = [line.rpartition(" ")[2] for line in lines if line.rpartition(" ")[0] == series]
        return sum(map(float, values))

    async def is_held(self) -> bool:
        """Say whether the Envoys of its only Gateway have taken all that they are offered."""
        [gateway] = (await self.overview()).gateways
        return bool(gateway.envoys) and all(envoy.current for envoy in gateway.envoys)

    async def pids(self) -> list[int]:
        """Return the processes of its Envoys."""
        processes = [gateway.process for gateway in (await self.overview()).gateways]
        return [process.pid for process in processes if process and process.pid]

    def stop(self) -> None:
        """Ask it to end, as an init system does."""
        self.process.send_signal(signal.SIGTERM)


@asynccontextmanager
async def legation_up(folder: Path, *flags: str) -> AsyncIterator[Legation]:
    """Run until the block ends; then it must end by itself, with every Envoy it started."""
    async with serving("up", str(folder), *flags) as running:
        yield running


@asynccontextmanager
async def serving(*arguments: str, module: str = "legation") -> AsyncIterator[Legation]:
    """Run `up` or `run` until the block ends; then it must end by itself.

    Another module may run it, with something beside.
    """
    command = [sys.executable, "-m", module, *arguments, "--admin", "127.0.0.1:0"]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=environment())
    running = Legation(process, [])
    async with asyncio.TaskGroup() as tasks:
        assert process.stderr is not None
        tasks.create_task(_collect(process.stderr, running.lines))
        try:
            yield running
        finally:
            await _ended(running)


async def run(*arguments: str) -> tuple[int, str, str]:
    """Run a command to its end; return its exit code and what it wrote."""
    return await run_module("legation", *arguments)


async def run_module(
    module: str, *arguments: str, within: float = ENDS_WITHIN, **variables: str
) -> tuple[int, str, str]:
    """Run a module to its end; return its exit code and what it wrote."""
    command, surroundings = [sys.executable, "-m", module, *arguments], {**environment(), **variables}
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, env=surroundings)
    try:
        out, err = await asyncio.wait_for(process.communicate(), within)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, out.decode(), err.decode()


def environment() -> dict[str, str]:
    """Let a child find the packages that the tests are about, installed or not."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TERM": "dumb"}


class Ports:
    """Ports that are given away, each to one process of tests at a time.

    Two Envoys may listen at one port, and neither is told: who names an address takes all that was meant for
    who has every address. So it is not enough that nobody is there when a port is given. Whose it is says a
    name that the kernel gives once, and takes back when this process ends.
    """

    def __init__(self, among: Sequence[int] = UNASSIGNED) -> None:
        """Begin with none given."""
        self._among = among
        self._claims = deque[socket.socket]()

    def give(self) -> int:
        """Return a port that nobody has just now, and that no connection gets by itself until it is used."""
        for port in random.SystemRandom().sample(self._among, min(TRIES, len(self._among))):
            claim = socket.socket(socket.AF_UNIX)
            with suppress(OSError), socket.socket() as probe:
                claim.bind(f"\0legation-test-port-{port}")
                probe.bind(("127.0.0.1", port))
                self._claims.append(claim)
                if len(self._claims) > KEPT:
                    self._claims.popleft().close()
                return port
            claim.close()
        message = "every port is taken"
        raise OSError(message)

    def close(self) -> None:
        """Let others have all of them."""
        while self._claims:
            self._claims.popleft().close()


PORTS = Ports()
atexit.register(PORTS.close)
free_port = PORTS.give


def is_alive(pid: int) -> bool:
    """Say whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _collect(stream: asyncio.StreamReader, lines: list[str]) -> None:
    while line := await stream.readline():
        lines.append(line.decode(errors="replace").rstrip("\n"))


async def _ended(running: Legation) -> None:
    process = running.process
    if process.returncode is None:
        running.stop()
    try:
        await asyncio.wait_for(process.wait(), STOPS_WITHIN)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
