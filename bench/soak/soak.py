"""Rounds of comings and goings at one control plane, and what it holds after each."""

import asyncio
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import msgspec

from bench.cluster.usage import usage
from bench.fleet.door import Door
from bench.fleet.envoy import WITHIN, Envoy, connected
from bench.soak.churn import Changes, marker, passing, save
from bench.soak.levels import Levels
from bench.soak.subject import Inside
from tests.legation.running import environment, free_port

LASTING = "infra/lasting"
STAY, VISITORS = 4, 4  # Envoys that are there all the time, and in one round only
REFUSES = 3  # which of these refuses every listener
QUESTIONS = 16  # of each sort in each round, that nobody asked before
WARM_UP = 12  # rounds until most caches are as full as they get: the answers to 128 questions, say
PAGES = (
    *("", "readyz", "metrics", "api/v1/status", "api/v1/map", f"api/v1/map/{LASTING}", "api/v1/envoys"),
    *("api/v1/trust", "api/v1/audit", "api/v1/findings", "api/v1/names"),
)


class Metrics(NamedTuple):
    """What Prometheus is told, as far as it matters here."""

    series: int
    results: int
    envoys: int


class Subject:
    """A control plane that can be looked at from inside and from outside."""

    def __init__(self, process: Process, admin: str, session: aiohttp.ClientSession) -> None:
        """Know where it answers."""
        self._process = process
        self._admin = admin
        self._session = session

    async def levels(self, envoys: int) -> Levels:
        """Look, once no more than so many Envoys are connected."""
        async with asyncio.timeout(WITHIN):
            while (told := await self._metrics()).envoys != envoys:  # noqa: ASYNC110  nobody tells it
                await asyncio.sleep(0.05)
        inside, place = await self._inside(), Path("/proc", str(self._process.pid))
        files, threads = len(list((place / "fd").iterdir())), len(list((place / "task").iterdir()))
        memory = usage(self._process.pid).memory
        return Levels(
            memory, inside.blocks, files, threads, inside.tasks, told.results, told.series, inside.circles
        )

    async def visit(self, number: int) -> None:
        """Look at every page, as people and Prometheus do, and ask what nobody asked before."""
        searched = [f"api/v1/search?q=h{n}-{number}" for n in range(QUESTIONS)]
        explained = [f"api/v1/explain?of=http://h{n}-{number}.test/" for n in range(QUESTIONS)]
        for path in (*PAGES, *searched, *explained):
            await self._get(path)

    async def _metrics(self) -> Metrics:
        lines = [each for each in (await self._get("metrics")).splitlines() if not each.startswith("#")]
        numbers = {name: float(value) for name, _, value in (each.rpartition(" ") for each in lines)}
        envoys = sum(value for name, value in numbers.items() if name.startswith("legation_envoys{"))
        return Metrics(len(lines), int(numbers["legation_query_results"]), int(envoys))

    async def _inside(self) -> Inside:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(b"\n")
        return msgspec.json.decode(await stdout.readline(), type=Inside)

    async def _get(self, path: str) -> str:
        async with self._session.get(f"{self._admin}/{path}") as answer:
            answer.raise_for_status()
            return await answer.text()


@asynccontextmanager
async def running(folder: Path, port: int) -> AsyncIterator[Subject]:
    """Run a control plane for a folder until the block ends."""
    command = [sys.executable, "-m", "bench.soak.subject", str(folder), str(port)]
    log = folder.parent / "log"
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=out, env=environment()
        )
    try:
        async with asyncio.timeout(WITHIN):
            while not (admin := _admin(log)):
                assert process.returncode is None, log.read_text()
                await asyncio.sleep(0.05)
        async with aiohttp.ClientSession() as session:
            yield Subject(process, admin, session)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _admin(log: Path) -> str:
    """Read where the admin port is, once Envoys may come, too."""
    said = [msgspec.json.decode(line) for line in log.read_bytes().splitlines() if line.endswith(b"}")]
    told = {each["event"]: each for each in said}
    return str(told["admin port"]["url"]).rstrip("/") if {"admin port", "xDS port"} <= told.keys() else ""


class Scene(NamedTuple):
    """A control plane, its folder, where it serves Envoys, and those that stay."""

    subject: Subject
    folder: Path
    door: Door
    lasting: Sequence[Envoy]

    async def round(self, number: int) -> tuple[Changes, Levels]:
        """Change everything, have Envoys come and go, look at every page; say what is left of that."""
        changes = save(self.folder, number)
        for envoy in self.lasting:
            await envoy.has(marker(number))
        visitors = list(self._visitors(number))
        async with connected(*visitors):
            for envoy in visitors:
                await envoy.has(marker(number))
            await self.subject.visit(number)
        return changes, await self.subject.levels(len(self.lasting))

    def _visitors(self, number: int) -> Iterator[Envoy]:
        """Return Envoys that are not seen again; every second one is of a Gateway that is not, either."""
        for n in range(VISITORS):
            gateway = f"infra/{passing(number)}" if n % 2 else LASTING
            yield Envoy(gateway, f"visitor-{number}-{n}", self.door, refuses=n == REFUSES)


class Soaked(NamedTuple):
    """What came of all rounds after the warm-up."""

    levels: Sequence[Levels]  # after each
    changes: Changes  # in all of them


async def soak(rounds: int, warm_up: int = WARM_UP) -> Soaked:
    """Go through so many rounds after those that only warm up."""
    with tempfile.TemporaryDirectory() as home:
        folder, port = Path(home, "served"), free_port()
        save(folder, 0)
        door = Door(f"127.0.0.1:{port}")
        lasting = [Envoy(LASTING, f"lasting-{n}", door) for n in range(STAY)]
        async with running(folder, port) as subject, connected(*lasting):
            scene = Scene(subject, folder, door, lasting)
            for number in range(1, warm_up + 1):
                await scene.round(number)
            found = [await scene.round(warm_up + number) for number in range(1, rounds + 1)]
    changes, levels = zip(*found, strict=True)
    return Soaked(levels, sum(changes, Changes()))
