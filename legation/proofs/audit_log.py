"""Writes the audit record to a file or to standard output; docs/audit-record.md says what is in it.

A file is opened anew for each write, so it may be moved away at any time. A write that fails is said in the
log and in a metric, and tried again; it never keeps anybody from being served.
"""

import asyncio
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from threading import Lock
from time import monotonic

import structlog
from msgspec import structs
from prometheus_client.core import CounterMetricFamily, Metric

from legation.proofs.audit_record import Changed, Record, beginning, line
from legation.proofs.hops import audited
from legation.turns import aside
from legation.workbench import Outcome
from xds_server.snapshot import Snapshot

STDOUT = "-"
MOST_WAITING = 10_000  # lines, while they cannot be written
PORTION = 1 << 20  # bytes; the last line that is written at once begins before
MOST_INHERITED = 1000  # changes
INHERITED = 30.0  # seconds: for how long nobody may have led
AGAIN = 5.0  # seconds after a write that failed
PATIENCE = 1.0  # seconds, at the end, with a write that somebody else has begun

Append = Callable[[bytes], None]


class Unled:
    """What changed while this replica did not lead, and may be in nobody's record; so much at the most."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: deque[tuple[float, Changed]] = deque()
        self._given_up: Counter[float] = Counter()  # how many, by when they were added

    def add(self, records: Iterable[Changed]) -> None:
        """Keep these; of what is too much the oldest are given up."""
        now = monotonic()
        self._forget(now - INHERITED)
        self._kept.extend((now, each) for each in records)
        while len(self._kept) > MOST_INHERITED:
            at, _ = self._kept.popleft()
            self._given_up[at] += 1

    def take(self) -> tuple[list[Changed], int]:
        """Hand over what nobody may have written, and how much of that was given up."""
        self._forget(monotonic() - INHERITED)
        taken, given_up = [each for _, each in self._kept], self._given_up.total()
        self._kept.clear()
        self._given_up.clear()
        return taken, given_up

    def _forget(self, oldest: float) -> None:
        while self._kept and self._kept[0][0] < oldest:
            self._kept.popleft()
        for at in [at for at in self._given_up if at < oldest]:
            del self._given_up[at]


class AuditLog:
    """The lines of one replica; only whoever leads writes any."""

    def __init__(self, append: Append) -> None:
        """Begin without lines."""
        self._append = append
        self._log = structlog.get_logger()
        self._waiting: deque[Record] = deque()
        self._unled = Unled()
        self._snapshots: Mapping[str, Snapshot] | None = None
        self._news = asyncio.Event()
        self._leads = False
        self._writing = Lock()
        self._failure = ""
        self._written = self._failed = self._lost = 0

    def take(self, outcome: Outcome) -> None:
        """Take in what a batch changed."""
        self._snapshots = outcome.snapshots
        if self._leads:
            self._put(outcome.records)
        else:
            self._unled.add(outcome.records)
        self._news.set()

    async def run(self) -> None:
        """Write until cancelled, beginning with how things stand and what nobody may have written."""
        while self._snapshots is None:
            await self._awaited()
        hops = await aside(partial(audited, self._snapshots))
        unled, given_up = self._unled.take()
        self._lost += given_up
        inherited = (structs.replace(each, inherited=True) for each in unled)
        self._put((*inherited, *beginning(hops, datetime.now(UTC))))
        self._leads = True
        try:
            await self._write_all()
        finally:
            self._leads = False
            self._write()  # little is left, and nobody else has it

    def collect(self) -> Iterable[Metric]:
        """Say how writing goes."""
        said = (
            ("legation_audit_record_lines", "Lines of the audit record that were written", self._written),
            ("legation_audit_record_failures", "Writes of the audit record that failed", self._failed),
            ("legation_audit_record_lost", "Lines of the audit record that were given up", self._lost),
        )
        return [CounterMetricFamily(name, says, value=value) for name, says, value in said]

    def _put(self, records: Iterable[Record]) -> None:
        for each in records:
            if len(self._waiting) < MOST_WAITING:
                self._waiting.append(each)
            else:
                self._lost += 1

    async def _awaited(self) -> None:
        self._news.clear()
        await self._news.wait()

    async def _write_all(self) -> None:
        while True:
            while self._waiting:
                if not await asyncio.to_thread(self._write):
                    await asyncio.sleep(AGAIN)
            await self._awaited()

    def _write(self) -> bool:
        """Write all that waits; what could not be written waits on, as it does behind another write."""
        if not self._writing.acquire(timeout=PATIENCE):
            return False
        try:
            return self._write_due()
        finally:
            self._writing.release()

    def _write_due(self) -> bool:
        for lines in _portions(list(self._waiting)):  # others add to it meanwhile
            try:
                self._append(b"".join(lines))
            except OSError as error:
                self._failed += 1
                self._complain(str(error))
                return False
            for _ in lines:
                self._waiting.popleft()
            self._written += len(lines)
            self._complain("")
        return True

    def _complain(self, failure: str) -> None:
        """Say once that nothing can be written, and nothing more until something is or it fails otherwise."""
        if failure and failure != self._failure:
            remedy = "make room, or name another file with --audit-log"
            self._log.error("the audit record was not written", why=failure, remedy=remedy)
        self._failure = failure


def _portions(records: Iterable[Record]) -> Iterator[list[bytes]]:
    """Make lines, so many at a time as are written at once: each may name a thousand fingerprints."""
    lines, size = list[bytes](), 0
    for each in records:
        lines.append(line(each))
        size += len(lines[-1])
        if size >= PORTION:
            yield lines
            lines, size = [], 0
    if lines:
        yield lines


def appending(where: str) -> Append:
    """Write to a file, or to standard output."""
    return _to_stdout if where == STDOUT else AppendedFile(where).append


class AppendedFile:
    """A file that whole lines are added to, whatever became of those before."""

    def __init__(self, path: str) -> None:
        """Add to the file of this path."""
        self._path = path
        self._torn = False

    def append(self, lines: bytes) -> None:
        """Add these; half a line that an earlier failure left is ended first."""
        if not lines:
            return
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            rest = memoryview(b"\n" + lines if self._torn else lines)
            while rest:
                rest = rest[os.write(file, rest) :]
                self._torn = bool(rest)
        finally:
            os.close(file)


def _to_stdout(lines: bytes) -> None:
    sys.stdout.buffer.write(lines)
    sys.stdout.buffer.flush()
