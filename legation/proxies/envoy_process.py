"""One Envoy process on this machine: started with what it must know, drained, and always ended."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
from msgspec import Struct

from legation.addresses import Socket
from legation.bootstrap import Start, as_fields, bootstrap
from legation.proxies import leash
from legation.proxies.envoy_admin import EnvoyAdmin
from translator.names import Name

LEASH = (sys.executable, "-I", "-S", leash.__file__)
FLAGS = ("--disable-hot-restart", "--log-level", "warning", "--log-format", "%l %v")
DRAINING = ("--drain-strategy", "immediate")  # a connection is told to close with its next answer
MOST_WORKERS = 4
LOOK_AGAIN = 0.05  # seconds
TERM_WITHIN = 5.0


class Launch(Struct, frozen=True):
    """How Envoys are started here."""

    binary: Path
    home: Path  # private to this user
    xds: Path
    system_roots: Path | None = None
    drain_within: float = 15.0  # seconds


@asynccontextmanager
async def running(launch: Launch, gateway: Name, home: Path) -> AsyncGenerator[Process]:
    """Run an Envoy for a Gateway; when the block ends before it does, it is killed."""
    bootstrapped = await asyncio.to_thread(_prepare, launch, gateway, home)
    options = (*FLAGS, *DRAINING, "--concurrency", str(_workers()))
    process = await asyncio.create_subprocess_exec(
        *LEASH,
        str(launch.binary),
        "--config-path",
        str(bootstrapped),
        *options,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,  # Ctrl-C is ours to pass on, after a drain
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def admin_socket(home: Path) -> Path:
    """Say where an Envoy with this home answers."""
    return home / "admin"


async def end(process: Process, home: Path, within: float) -> None:
    """Let what is in flight finish, then terminate; what does not end in time is left to be killed."""
    admin = EnvoyAdmin(admin_socket(home))
    # One that does not answer has nothing to finish.
    with suppress(TimeoutError, OSError, aiohttp.ClientError):
        async with asyncio.timeout(within):
            await admin.drain()
            while await admin.busy():  # noqa: ASYNC110  # another process sets no event of ours
                await asyncio.sleep(LOOK_AGAIN)
    with suppress(ProcessLookupError):
        process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(TERM_WITHIN):
            await process.wait()


def _prepare(launch: Launch, gateway: Name, home: Path) -> Path:
    home.mkdir(mode=0o700, exist_ok=True)
    admin = admin_socket(home)
    admin.unlink(missing_ok=True)
    start = Start(gateway, _node_id(), Socket(launch.xds), Socket(admin), system_roots=launch.system_roots)
    written = home / "bootstrap.json"
    written.write_text(json.dumps(as_fields(bootstrap(start))))
    return written


def _node_id() -> str:
    return f"{os.uname().nodename}-{os.getpid()}"


def _workers() -> int:
    return min(MOST_WORKERS, len(os.sched_getaffinity(0)))
