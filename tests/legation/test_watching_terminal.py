"""`legation status --watch` in a real terminal, and where there is none."""

import asyncio
import fcntl
import json
import os
import re
import signal
import struct
import sys
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.legation.running import environment, free_port
from tests.legation.test_whom import FINE, SHOP, admin_port
from tests.looking import eventually

WITHIN = 120.0
OWN_SCREEN, BACK = "\x1b[?1049h", "\x1b[?1049l"
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
CTRL_C = b"\x03"
ROWS, COLUMNS = 24, 100


class Terminal:
    """A terminal with a process in it, and all that it was written."""

    def __init__(self, process: Process, fd: int) -> None:
        self.process = process
        self.written = ""
        self._fd = fd
        asyncio.get_running_loop().add_reader(fd, self._read)

    async def shows(self, *words: str) -> None:
        """Wait until all of this is written; what comes later is looked at by the next one."""
        await eventually(lambda: all(word in self._plain() for word in words), within=WITHIN)
        self.written = ""

    def types(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._fd, keys)

    def close(self) -> None:
        """Look no more."""
        asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)

    def _read(self) -> None:
        try:
            self.written += os.read(self._fd, 65536).decode(errors="replace")
        except OSError:  # the process is gone, and its end with it
            asyncio.get_running_loop().remove_reader(self._fd)

    def _plain(self) -> str:
        return STEERING.sub(lambda found: found[0] if found[0] in (OWN_SCREEN, BACK) else "", self.written)


def _as_in_a_terminal() -> None:
    """Let keys be heard, also where the tests run in the background of a shell, which has them ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@asynccontextmanager
async def watching(*whom: str, rows: int = ROWS) -> AsyncIterator[Terminal]:
    """Watch whoever is named by these flags."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, COLUMNS, 0, 0))
    command = (sys.executable, "-m", "legation", "status", "--watch", *whom)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=its,
        stdout=its,
        stderr=its,
        env={**environment(), "TERM": "xterm"},
        preexec_fn=_as_in_a_terminal,
        start_new_session=True,
    )
    os.close(its)
    terminal = Terminal(process, ours)
    try:
        yield terminal
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        terminal.close()


async def test_a_terminal_shows_changes_waits_for_who_is_away_and_is_given_back() -> None:
    port = free_port()
    async with AsyncExitStack() as doors:
        await doors.enter_async_context(admin_port(FINE, port))
        async with watching("--admin", f"127.0.0.1:{port}") as terminal:
            await terminal.shows(OWN_SCREEN, "infra/edge", "HTTPRoute shop/store", "nothing to look at")
            await doors.aclose()
            await terminal.shows("away since", "nobody answers", "infra/edge")
            await doors.enter_async_context(admin_port(SHOP, port))
            await terminal.shows("*  HTTPRoute shop/store", "BackendNotFound", "1 to look at")
            terminal.types(CTRL_C)
            async with asyncio.timeout(WITHIN):
                assert await terminal.process.wait() == 0
            await terminal.shows(BACK, "infra/edge", "BackendNotFound", "1 to look at: legation check")


async def test_where_there_is_no_terminal_each_change_is_a_line_of_json() -> None:
    async with admin_port(FINE) as port:
        command = ("status", "--watch", "-o", "json", "--admin", f"127.0.0.1:{port}")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "legation", *command, stdout=PIPE, env=environment()
        )
        assert process.stdout is not None
        async with asyncio.timeout(WITHIN):
            line = await process.stdout.readline()
            process.terminate()
            assert await process.wait() == 0
            assert await process.stdout.read() == b""
    assert [each["name"] for each in json.loads(line)["gateways"]] == ["infra/edge"]
