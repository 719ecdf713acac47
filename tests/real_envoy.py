"""A real Envoy for a test: started from a bootstrap, waited for, and always stopped."""

import asyncio
import http.client
import json
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import envoy._bin
from msgspec import Struct

ENVOY = Path(envoy._bin.__file__).with_name("envoy")
STARTS_WITHIN = 120.0  # seconds, of which all pass in failure only
STOPS_WITHIN = 30.0
LOOK_AGAIN_AFTER = 0.02
LAST_WORDS = 4000  # characters of each thing that is told of an Envoy after a failure
TOLD = ("/listeners", "/init_dump", "/certs", "/stats?filter=control_plane|listener_manager|sds")  # then
EPHEMERAL_ADMIN = {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}}


class RunningEnvoy(Struct, frozen=True):
    """One live Envoy process and the admin port it answers on."""

    process: asyncio.subprocess.Process
    admin_port: int
    log: Path

    async def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        """Status and body of one admin request."""
        return await asyncio.to_thread(_request, self.admin_port, method, path)

    async def stats(self, prefix: str = "") -> dict[str, int]:
        """Every counter and gauge whose name starts with the prefix."""
        _, body = await self.get("/stats?format=json&type=Counters")
        _, gauges = await self.get("/stats?format=json&type=Gauges")
        entries = [entry for text in (body, gauges) for entry in json.loads(text)["stats"]]
        return {e["name"]: e["value"] for e in entries if e.get("name", "").startswith(prefix)}

    async def config_dump(self) -> dict[str, object]:
        """What Envoy holds, endpoints included, as its admin page shows it."""
        _, body = await self.get("/config_dump?include_eds")
        dump: dict[str, object] = json.loads(body)
        return dump

    async def ready(self) -> bool:
        """Whether Envoy says it is live, which xDS clients are only after the first answers."""
        status, _ = await self.get("/ready")
        return status == http.HTTPStatus.OK

    async def standing(self) -> str:
        """What it listens at, waits for and shows, and what it said last: for who looks into a failure."""
        told = [f"{path}: {(await self.get(path))[1][-LAST_WORDS:]}" for path in TOLD]
        return "\n".join([*told, self.log.read_text()[-LAST_WORDS:]])

    async def listener_port(self, name: str) -> int:
        """The port that a listener bound to port 0 was given."""
        _, body = await self.get("/listeners?format=json")
        for listener in json.loads(body).get("listener_statuses", []):
            if listener["name"] == name:
                return int(listener["local_address"]["socket_address"]["port_value"])
        raise LookupError(name)


@asynccontextmanager
async def running_envoy(
    bootstrap: Mapping[str, object], *arguments: str, wait_ready: bool = True
) -> AsyncIterator[RunningEnvoy]:
    """Run Envoy until the block ends; the admin address is added when the bootstrap names none."""
    with tempfile.TemporaryDirectory(prefix="envoy-") as folder:
        home = Path(folder)
        (home / "bootstrap.json").write_text(json.dumps({"admin": EPHEMERAL_ADMIN, **bootstrap}))
        with (home / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *_command(home, arguments), stdout=log, stderr=log, cwd=home
            )
        try:
            running = await _started(process, home)
            if wait_ready:
                await until(running.ready, within=STARTS_WITHIN)
            async with _told_of(running):
                yield running
        finally:
            await _stop(process)


@asynccontextmanager
async def _told_of(running: RunningEnvoy) -> AsyncIterator[None]:
    """Print how an Envoy stands if the block fails: pytest shows it beside the failure."""
    try:
        yield
    except Exception:
        if running.process.returncode is None:
            print(await running.standing())  # noqa: T201  # see above
        raise


async def until(holds: Callable[[], Awaitable[bool]], within: float = STARTS_WITHIN) -> None:
    """Wait for something that only asking can tell, such as a number on an admin page."""
    async with asyncio.timeout(within):
        while not await holds():  # noqa: ASYNC110 - another process sets no event of ours
            await asyncio.sleep(LOOK_AGAIN_AFTER)


def _command(home: Path, arguments: tuple[str, ...]) -> list[str]:
    alone = () if "--restart-epoch" in arguments else ("--disable-hot-restart",)
    options = ["--concurrency", "1", "--log-level", "warning"]
    paths = ["-c", str(home / "bootstrap.json"), "--admin-address-path", str(home / "admin")]
    return [str(ENVOY), *options, *alone, *paths, *arguments]


async def _started(process: asyncio.subprocess.Process, home: Path) -> RunningEnvoy:
    address = home / "admin"

    async def answers() -> bool:
        if process.returncode is not None:
            raise ChildProcessError((home / "log").read_text()[-LAST_WORDS:])
        return address.exists() and ":" in address.read_text()

    await until(answers, within=STARTS_WITHIN)
    return RunningEnvoy(process, int(address.read_text().rpartition(":")[2]), home / "log")


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOPS_WITHIN)
    except TimeoutError:
        process.kill()
        await process.wait()


def _request(port: int, method: str, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=STARTS_WITHIN)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()
