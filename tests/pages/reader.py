"""Somebody who follows a page from the top: writes its manifests, runs its commands, makes its requests."""

import asyncio
import os
import re
import secrets
import shlex
import ssl
import sys
from contextlib import AsyncExitStack
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.handshakes.clients import Place, Security, call, get
from tests.handshakes.manifests import EDGE, Json, manifest
from tests.legation.running import Legation, environment, legation_up
from tests.looking import eventually
from tests.pages.blocks import Block, blocks
from tests.pages.cast import Cast
from tests.pages.folder import Folder
from tests.real_envoy import ENVOY, until

OFFSET = 10_000  # so that no port needs a permission
WITHIN = 180.0  # seconds; the machine may do much else
SIGNS = "http://127.0.0.1:8080"  # a listener that every Gateway has which pages promise answers of
NOBODY = -1  # as an answer: there is nobody to connect to
LOCAL = re.compile(r"\b127\.0\.0\.1:(\d+)")
SERVED = re.compile(r"(?P<url>\S+) (?P<status>\d{3}|closed)(?: from (?P<backend>\S+))?")
EXIT = re.compile(r"# exit (\d)$")
ASKS = re.compile(r"^legation (?:status|audit|check|explain)\b(?!.* shop/)")
STARTS = "legation up shop/"
FOR_OTHERS = f"{STARTS} --no-envoy"
BOOTSTRAP, ENVOY_STARTS = "legation bootstrap", "envoy "


class Served(NamedTuple):
    """A request that a page promises an answer to."""

    url: str
    status: int | None
    backend: str | None


class Reader:
    """One page, one folder, and at most one running Legation."""

    def __init__(self, folder: Path, cast: Cast, stack: AsyncExitStack) -> None:
        """Begin with an empty desk."""
        self._desk = folder
        self._cast = cast
        self._stack = stack
        self._folder = Folder(folder / "shop", cast)
        cast.hand_out(folder)
        self._address = ".".join(["127", *(str(1 + secrets.randbelow(254)) for _ in range(3))])
        self._running: Legation | None = None
        self._of_running = AsyncExitStack()
        stack.push_async_exit(self._of_running)
        self._printed = ""
        self._steps = 0

    async def follow(self, block: Block) -> None:
        """Do what a block says, and find what it promises."""
        for page in block.said("shop"):
            self._folder.take(blocks(page)[0])
        match block.language:
            case "yaml":
                await self._write(block)
            case "console":
                await self._run(block)
            case "text":
                missing = [line for line in block.text.splitlines() if line.strip() not in self._printed]
                assert missing == [], f"{block}: the command before it prints\n{self._printed}"
            case _:
                pytest.fail(f"{block}: nobody knows what to do with {block.language!r}")

    async def _write(self, block: Block) -> None:
        if block.said("anew"):
            self._folder.begin_again()
        self._folder.take(block)
        told = {f"{each.object}: {each.message}" for each in self._folder.findings() if each.is_problem}
        unsaid = {line for line in told if not any(each in line for each in block.said("told"))}
        assert unsaid == set(), f"{block}: {unsaid}"
        untold = [each for each in block.said("told") if not any(each in line for line in told)]
        assert untold == [], f"{block}: {told}"
        for each in block.said("served"):
            await self._ask(block, _served(each))

    async def _ask(self, block: Block, served: Served) -> None:
        await self._up_to_date()
        before = len(self._cast.of(served.backend or "").told)
        place, url = self._place(served.url), urlsplit(served.url)
        got: list[int | None] = []

        async def answered() -> bool:
            path = f"{url.path}?{url.query}" if url.query else url.path
            got.append(await self._request(url.scheme, place, url.hostname or "", path))
            return got[-1] == served.status

        try:
            await until(answered, within=WITHIN)
            if served.backend:  # a mirror hears of it later than the client
                heard = self._cast.of(served.backend)
                await eventually(lambda: len(heard.told) > before)
        except TimeoutError:
            pytest.fail(f"{block}: {served} was answered {got[-1]}")

    async def _request(self, scheme: str, place: Place, host: str, path: str = "/") -> int | None:
        try:
            match scheme:
                case "grpc":
                    return await call(place, host)
                case "https" | "tls":
                    roots = ssl.create_default_context(cadata=self._cast.clients.pem)
                    return await get(place, host, Security(roots, host), path)
                case _:
                    return await get(place, host, path=path)
        except OSError:
            return NOBODY

    def _place(self, url: str) -> Place:
        return Place(self._address, (urlsplit(url).port or 80) + OFFSET)

    async def _up_to_date(self) -> None:
        """Wait until Envoy has all that is in the folder: a route of ours, made after the rest, is served."""
        self._steps += 1
        host = f"step-{self._steps}.test"
        self._folder.put(_signpost(host))
        await self._started()

        async def there() -> bool:
            return await self._request("http", self._place(SIGNS), host) == HTTPStatus.FOUND

        await until(there, within=WITHIN)

    async def _started(self, *flags: str) -> Legation:
        if self._running is None:
            self._running = await self._of_running.enter_async_context(
                legation_up(self._folder.path, *self._elsewhere(), *flags)
            )
        return self._running

    async def _for_others(self, command: str) -> None:
        """End the Legation that runs, as Ctrl-C does, and start one for Envoys that the page starts."""
        await self._of_running.aclose()
        self._running = None
        await self._started(*shlex.split(self._moved(command.removeprefix(STARTS))))

    async def _envoy(self, command: str) -> None:
        """Start an Envoy as the page does, beside others of this machine."""
        flags = (*command.split()[1:], "--disable-hot-restart", "--concurrency", "1", "--log-level", "error")
        process = await asyncio.create_subprocess_exec(str(ENVOY), *flags, cwd=self._desk)
        self._stack.push_async_callback(process.wait)
        self._stack.callback(process.terminate)

    def _elsewhere(self) -> tuple[str, ...]:
        """Have listeners where nobody else has any."""
        return ("--address", self._address, "--port-offset", str(OFFSET))

    async def _run(self, block: Block) -> None:
        self._printed = ""
        for line in filter(None, map(str.strip, block.text.splitlines())):
            command = line.partition(" #")[0].strip()
            if command == STARTS:
                await self._started()
            elif command.startswith(FOR_OTHERS):
                await self._for_others(command)
            elif command.startswith(ENVOY_STARTS):
                await self._envoy(command)
            else:
                await self._command(block, line)
        for each in block.said("served"):
            await self._ask(block, _served(each))

    async def _command(self, block: Block, line: str) -> None:
        wanted = int(found[1]) if (found := EXIT.search(line)) else 0
        pipe, merged = asyncio.subprocess.PIPE, asyncio.subprocess.STDOUT
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        process = await asyncio.create_subprocess_exec(
            "bash",
            "-c",
            await self._here(line),
            cwd=self._desk,
            env=environment() | {"PATH": path, "COLUMNS": "200"},
            stdout=pipe,
            stderr=merged,
        )
        output, _ = await asyncio.wait_for(process.communicate(), WITHIN)
        self._printed += output.decode()
        assert process.returncode == wanted, f"{block}: {line}\n{output.decode()}"

    async def _here(self, line: str) -> str:
        """Say the same of what runs here: at other ports, beside a Legation of its own, and with an end."""
        command, _, _ = line.partition(" #")
        if ASKS.match(line):
            admin = (await (await self._started()).admin()).removeprefix("http://")
            return f"{command} --admin {admin}"
        if line.startswith(STARTS):
            return shlex.join(
                [*shlex.split(command), "--check", *self._elsewhere(), "--admin", "127.0.0.1:0"]
            )
        return self._moved(line.replace(BOOTSTRAP, f"{BOOTSTRAP} --admin 127.0.0.1:9000"))

    def _moved(self, line: str) -> str:
        """Say the same of addresses that nobody else here uses."""
        return LOCAL.sub(lambda found: f"{self._address}:{int(found[1]) + OFFSET}", line)


def _served(said: str) -> Served:
    found = SERVED.fullmatch(said)
    assert found, f"not `URL STATUS`, with `from BACKEND` or without: {said}"
    return Served(
        found["url"], None if found["status"] == "closed" else int(found["status"]), found["backend"]
    )


def _signpost(host: str) -> Json:
    redirect = {"type": "RequestRedirect", "requestRedirect": {"hostname": "there.test"}}
    spec = {"parentRefs": [EDGE], "hostnames": [host], "rules": [{"filters": [redirect]}]}
    return manifest("HTTPRoute", "signpost", spec=spec)
