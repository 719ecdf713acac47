"""Starts a container's program inside its namespaces, and reaches into them."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from e2e.cluster.kubelet import root
from e2e.cluster.kubelet.root import Specification
from e2e.cluster.network import inside
from e2e.cluster.processes import WITH_US, Recorded

OWN_NAMESPACES = (
    "--mount",
    "--pid",
    "--ipc",
    "--uts",
    "--fork",
    "--kill-child=KILL",
    "--propagation",
    "private",
)
FIRST = (sys.executable, "-I", "-S", root.__file__)
ENTER = ("--mount", "--net", "--pid", "--ipc", "--uts", "--root", "--wd")


class Contained(NamedTuple):
    """A running program: the process that waits for it outside, and its own id as seen from here."""

    outside: Process
    pid: int

    def signal(self, number: signal.Signals) -> None:
        """Send the program a signal, unless it has ended."""
        if self.outside.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    async def exec(self, command: Sequence[str]) -> bool:
        """Run a command beside the program, and say whether it succeeded."""
        process = await asyncio.create_subprocess_exec(
            *WITH_US, *entering(self.pid), *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
        )
        try:
            return await process.wait() == 0
        finally:
            if process.returncode is None:  # somebody lost patience
                process.kill()


def entering(pid: int) -> tuple[str, ...]:
    """Give the beginning of a command that runs inside a container."""
    return ("nsenter", "--target", str(pid), *ENTER)


async def contain(specification: Specification, home: Path, namespace: str, log: Path) -> Contained:
    """Start a program in namespaces of its own."""
    specification.save(home / "specification.json")
    output = _Output(log, specification.uid)
    started, tell = os.pipe()
    try:
        outside = await asyncio.create_subprocess_exec(
            *WITH_US,
            *inside(namespace),
            *("unshare", *OWN_NAMESPACES),
            *(*FIRST, str(home / "specification.json"), str(tell)),
            stdin=DEVNULL,
            stdout=output.end,
            stderr=output.end,
            pass_fds=(tell,),
            start_new_session=True,
        )
    finally:
        os.close(tell)
        await output.begin()
    try:
        await _readable(started)  # a line when it begins, nothing when it ended before
    finally:
        os.close(started)
    return Contained(outside, _child(outside.pid, home))


async def _readable(descriptor: int) -> None:
    """Wait until there is something to read, or nobody is left to write; many wait, without a thread each."""
    loop, event = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, event.set)
    try:
        await event.wait()
    finally:
        loop.remove_reader(descriptor)


def _child(outside: int, home: Path) -> int:
    """Find the program behind the process that waits for it, and write it down for who wants to enter."""
    try:
        pid = int(Path(f"/proc/{outside}/task/{outside}/children").read_text())
        Recorded.of(pid).save(home / "pid")
    except (OSError, ValueError):  # it has ended already
        return outside
    return pid


class _Output(asyncio.Protocol):
    """Writes what a program says into a file.

    A pipe that belongs to the program's user, as container runtimes give it: the program may open /dev/stdout
    again, and even truncate it, without harm to what was said.
    """

    def __init__(self, log: Path, owner: int) -> None:
        self._log: BinaryIO = log.open("ab", buffering=0)
        self._begin, self.end = os.pipe()
        os.fchown(self.end, owner, -1)

    async def begin(self) -> None:
        """Read until everybody who holds the other end has ended."""
        os.close(self.end)
        await asyncio.get_running_loop().connect_read_pipe(lambda: self, os.fdopen(self._begin, "rb"))

    def data_received(self, data: bytes) -> None:
        """Write down what was said."""
        self._log.write(data)

    def connection_lost(self, _: Exception | None) -> None:
        """Close the file when nobody is left to say anything."""
        self._log.close()
