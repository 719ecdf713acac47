"""Writes what objects are to say about themselves into the cluster: once for each object and change.

What goes on changing, such as the number of a Gateway's routes, is written less often the longer it does.
Nothing is sent where the status is as it should be, so a resync costs no write. What others write in between
is read again and kept. After a write of ours, an object is not judged by what was known before it.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import structlog
from msgspec import MsgspecError, Struct

from k8s_watch.answers import Failed
from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import Place
from k8s_watch.list_watch import Pace
from k8s_watch.versions import is_older
from k8s_watch.writer import Missing, Outcome, Unchanged, Writer, Written
from k8s_watch.writer import Status as Known
from legation.due import Due
from legation.notebook import Judged
from legation.permissions import JUDGED
from legation.spacing import Spacing
from legation.statuses import Moment, merged
from translator.names import Name, Ref
from translator.objects.kinds import BY_KIND, Object
from translator.rules.status import BackendStatus, PolicyStatus, RouteStatus

GATHER = 0.1  # seconds: what is judged twice within them is written once
AT_ONCE = 8  # writes at the same time
NO_STATUS = b"{}"
SILENCE = (RouteStatus(()), PolicyStatus(()), BackendStatus(()))  # of what is none of our business

_NOTHING: Mapping[Ref, Judged] = MappingProxyType({})


class Wrote(Struct, frozen=True):
    """A status that we wrote: whose, and what it said before and says since."""

    ref: Ref
    place: Place
    uid: str
    before: bytes
    after: bytes


def nobody_asks(_: Wrote) -> None:
    """Let it pass."""


class _Seen(Struct, frozen=True):
    """An object as it was told last: its status, and what tells it from others of its name."""

    uid: str
    known: Known


class StatusWriter:
    """What should be written, what is known to be written, and what is due because they differ."""

    def __init__(
        self,
        writer: Writer,
        api_version: Callable[[type], str],
        now: Callable[[], str],
        pace: Pace | None = None,
        told: Callable[[Wrote], None] = nobody_asks,
    ) -> None:
        """Write by this writer, to objects under the version that somebody knows; say what was written."""
        self._writer = writer
        self._api_version = api_version
        self._now = now
        self._pace = pace or Pace()
        self._told = told
        self._log = structlog.get_logger()
        self.writes: Counter[tuple[str, str]] = Counter()  # by kind, and what became of them
        self._judged = _NOTHING
        self._seen: dict[Ref, _Seen] = {}
        self._awaited: dict[Ref, str] = {}  # the version that a write of ours made and nobody told us of yet
        self._due: Due[Ref] = Due()
        self._failures: dict[Ref, int] = {}
        self._spacing: Spacing[Ref] = Spacing()

    def overhear(self, kind: type, changes: Sequence[Change[Object]]) -> None:
        """Learn what objects say about themselves now, if they are told something by us."""
        if kind not in JUDGED:
            return
        for change in changes:
            match change:
                case Put(name=name, version=version, thing=thing):
                    said = bytes(getattr(thing, "status", b"")) or NO_STATUS
                    seen = _Seen(thing.metadata.uid, Known(version, said, thing.metadata.generation))
                    self._learn(Ref(kind.__name__, Name(*name)), seen)
                case Gone(name=name):
                    self._forget(Ref(kind.__name__, Name(*name)))
                case Unreadable() | Synced() | Absent():
                    pass

    def take(self, judged: Mapping[Ref, Judged], news: Iterable[Ref]) -> None:
        """Take in what objects are to say, and of which that is another thing than before."""
        self._judged = judged
        for ref in news:
            self._mark(ref)

    async def run(self) -> None:
        """Write whatever is due, until cancelled; at first everything is looked at."""
        for ref in self._judged:
            self._mark(ref)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            async with self._due.next() as ref:
                await self._settle(ref)
            await asyncio.sleep(0)  # of thousands, most are as they should be: others have their turn

    async def _settle(self, ref: Ref) -> None:
        """Write one status, if what is known of it is not what it should be."""
        judged, seen = self._judged.get(ref), self._seen.get(ref)
        if judged is None or seen is None:
            return
        if left := self._spacing.left(ref, asyncio.get_running_loop().time()):
            self._mark(ref, left)
            return
        found = seen.known
        if found.status == NO_STATUS and judged.status in SILENCE:
            return  # it is nobody's, or others have not spoken yet
        draft = _Draft(partial(self._made, judged))
        current = None if ref in self._awaited else found
        try:
            if draft.make(found) != found.status:
                outcome = await self._writer.write_status(self._place(ref), draft.make, current)
                self._note(ref, outcome)
                if isinstance(outcome, Written):
                    self._told(Wrote(ref, self._place(ref), seen.uid, draft.before, draft.after))
        except MsgspecError as error:
            self._log.warning("what a status says now cannot be read", object=str(ref), why=str(error))

    def _made(self, judged: Judged, found: Known) -> bytes:
        moment = Moment(self._now(), judged.generation, found.generation)
        return merged(found.status, judged.status, moment)

    def _note(self, ref: Ref, outcome: Outcome) -> None:
        self.writes[ref.kind, type(outcome).__name__.lower()] += 1
        match outcome:
            case Written(version=version):
                self._failures.pop(ref, None)
                if ref in self._seen:
                    self._spacing.wrote(ref, asyncio.get_running_loop().time())
                    self._await(ref, version)
            case Unchanged() | Missing():
                self._failures.pop(ref, None)
            case Failed() if ref not in self._seen:
                pass  # it went meanwhile
            case Failed(reason=why):
                self._failures[ref] = failures = self._failures.get(ref, 0) + 1
                self._log.warning("a status was not written", object=str(ref), why=why)
                wait = self._pace.after(failures, outcome.retry_after)
                self._mark(ref, wait)

    def _learn(self, ref: Ref, seen: _Seen) -> None:
        """Believe the newest; what was before our own last write is history."""
        if is_older(seen.known.version, self._awaited.get(ref, "")):
            return
        self._awaited.pop(ref, None)
        self._seen[ref] = seen
        self._mark(ref)

    def _await(self, ref: Ref, version: str) -> None:
        """Wait to be told of what we wrote, unless that was quicker than the answer."""
        if is_older(self._seen[ref].known.version, version):
            self._awaited[ref] = version

    def _forget(self, ref: Ref) -> None:
        self._due.forget(ref)
        self._spacing.forget(ref)
        for each in (self._seen, self._awaited, self._failures):
            each.pop(ref, None)

    def _mark(self, ref: Ref, after: float = GATHER) -> None:
        if ref in self._judged and ref in self._seen:
            self._due.mark(ref, after)

    def _place(self, ref: Ref) -> Place:
        info = BY_KIND[ref.kind]
        return Place(self._api_version(info.type), info.plural, *ref.name)


class _Draft:
    """Makes a status, and remembers the last one that was made, and of what."""

    def __init__(self, make: Callable[[Known], bytes]) -> None:
        self._make = make
        self.before = self.after = b""

    def make(self, existing: Known) -> bytes:
        self.before, self.after = existing.status, self._make(existing)
        return self.after
