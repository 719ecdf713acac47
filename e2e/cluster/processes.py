"""Processes that outlive the command that started them, known by their id and start time, never by name."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

WITH_US = (
    "setpriv",
    "--pdeathsig",
    "KILL",
)  # begins a command that ends with us, even if we are killed
START_TIME = 19  # place in /proc/PID/stat, counted from the state
ZOMBIE = "Z"
KILLED_WITHIN = 10.0  # seconds; the kernel may have a lot to clear up


class Recorded(NamedTuple):
    """A process that may have ended; its id alone could be another process by now."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> Self:
        """Record a process that runs now; raises OSError if there is none."""
        return cls(pid, int(_stat(pid)[START_TIME]))

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """Read what was written down, if anything was."""
        try:
            pid, started = path.read_text().split()
        except FileNotFoundError:
            return None
        return cls(int(pid), int(started))

    def save(self, path: Path) -> None:
        """Write it down."""
        path.write_text(f"{self.pid} {self.started}\n")

    @property
    def runs(self) -> bool:
        """Whether this very process still runs."""
        try:
            state = _stat(self.pid)
        except OSError:
            return False
        return int(state[START_TIME]) == self.started and state[0] != ZOMBIE

    def end(self, within: float) -> None:
        """Ask it to end, wait, and kill it when it takes too long."""
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.runs:  # and from here on the handle stands for it, whatever becomes of its id
                _end(handle, within)
        finally:
            os.close(handle)
        with suppress(ChildProcessError):  # it may have been started by somebody else
            os.waitpid(self.pid, os.WNOHANG)


def start(arguments: Sequence[str | Path], log: Path, variables: Mapping[str, str], folder: Path) -> Recorded:
    """Start a process in a session of its own, so that Ctrl-C is not for it."""
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603  our own programs, without a shell
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=variables,
            cwd=folder,
            start_new_session=True,
        )
    recorded = Recorded.of(process.pid)
    process.returncode = 0  # it is not for this object to wait for
    return recorded


def wait_for(what: str, holds: Callable[[], bool], process: Recorded, within: float) -> None:
    """Wait until something holds, as long as the process that shall bring it about runs."""
    deadline = time.monotonic() + within
    while not holds():
        if not process.runs:
            message = f"{what}: the process has ended"
            raise RuntimeError(message)
        if time.monotonic() > deadline:
            message = f"{what}: not within {within:.0f} s"
            raise TimeoutError(message)
        time.sleep(0.1)


def _stat(pid: int) -> list[str]:
    """Read the fields after the name, which alone may hold spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _end(handle: int, within: float) -> None:
    signal.pidfd_send_signal(handle, signal.SIGTERM)
    if not _ended(handle, within):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        _ended(handle, within=KILLED_WITHIN)


def _ended(handle: int, within: float) -> bool:
    readable, _, _ = select.select([handle], [], [], within)
    return bool(readable)
