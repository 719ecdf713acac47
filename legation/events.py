"""Tells people by Events what they have to repair, and that it is well again; only who leads runs this.

What a status says is told when a write of ours made it say so: so nothing is told again after a restart, a
resync or by another replica. Too much at once is left out and counted in the log; statuses have all of it.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec
import structlog
from msgspec import Struct

from k8s_watch.answers import Failed, Item
from k8s_watch.writer import Happening, Missing, Writer
from k8s_watch.writer import Outcome as Answer
from legation.checks.findings import Fault, faults, in_words
from legation.checks.table import EXPIRY, MISTAKE
from legation.kinds import place
from legation.proofs.changes import RootsChange
from legation.proofs.trust_news import ACTION, happening
from legation.status_writer import Wrote
from legation.telemetry.rations import Ration, Rations
from legation.workbench import Outcome
from legation.written_status import read_status
from translator.names import Ref
from translator.rules.expiry import CONDITION as EXPIRING
from translator.rules.expiry import told
from translator.translate import Mistake

RECOVERED = "Recovered"
BUG = "InternalError"
OF_A_NAMESPACE = Ration(at_once=25, every=10.0)
OF_ALL = Ration(at_once=100, every=1.0)
MOST_WAITING = 200  # while an API server does not answer
UNLED = 30.0  # seconds: for how long nobody may have led
SUMMARY = 30.0  # seconds between two lines about what was left out

_NONE: Mapping[str, Mistake] = MappingProxyType({})


class _Metadata(Struct, frozen=True):
    uid: str = ""


class _Object(Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class Events:
    """What has to be told, and how much may be."""

    def __init__(self, writer: Writer) -> None:
        """Begin with nothing to tell."""
        self._writer = writer
        self._log = structlog.get_logger()
        self._waiting: deque[Happening] = deque()
        self._news = asyncio.Event()
        self._rations = Rations(OF_A_NAMESPACE, OF_ALL, 0.0)
        self._leads = False
        self._left_out = 0
        self._mistakes = _NONE
        self._classes: tuple[Ref, ...] = ()
        self._failure = ""
        self._untold: deque[tuple[float, RootsChange]] = deque(maxlen=MOST_WAITING)  # while others lead

    def note(self, wrote: Wrote) -> None:
        """Take in what whoever leads made an object's status say."""
        for each in happenings(wrote):
            self._add(each)

    def take(self, outcome: Outcome) -> None:
        """Take in what no status can say: mistakes of ours, and who is trusted from now on."""
        self._hear(outcome.roots)
        before, self._mistakes = self._mistakes, outcome.broken
        if outcome.broken:
            self._classes = tuple(sorted(ref for ref in outcome.judged if ref.kind == "GatewayClass"))
            new = {what: each for what, each in outcome.broken.items() if what not in before}
            self._confess(new if self._leads else _NONE)

    async def run(self) -> None:
        """Tell, until cancelled; mistakes that another replica told of already are not told again."""
        self._leads = True
        self._confess(self._mistakes)
        self._catch_up()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._tell_all())
                tasks.create_task(self._sum_up())
        finally:
            self._leads = False

    def _hear(self, changes: Iterable[RootsChange]) -> None:
        for each in changes:
            if not self._leads:
                self._untold.append((_clock(), each))
            elif self._has_room(each.owner.name.namespace):  # else it is not even put in words
                self._put(happening(each))

    def _catch_up(self) -> None:
        """Tell what changed while perhaps nobody led; where somebody did, the Event is there already."""
        oldest = _clock() - UNLED
        for at, each in self._untold:
            if at >= oldest:
                self._add(happening(each, once=True))
        self._untold.clear()

    def _confess(self, mistakes: Mapping[str, Mistake]) -> None:
        for what, mistake in mistakes.items():
            about = mistake.about or next(iter(self._classes), None)
            if about is not None:
                self._add(_confession(what, mistake, about))

    def _add(self, happening: Happening) -> None:
        """Have something told, if it is not too much."""
        if self._has_room(happening.regarding.namespace):
            self._put(happening)

    def _has_room(self, namespace: str) -> bool:
        full = len(self._waiting) >= MOST_WAITING
        may_be_told = not full and self._rations.allow(namespace, _clock())
        self._left_out += not may_be_told
        return may_be_told

    def _put(self, happening: Happening) -> None:
        self._waiting.append(happening)
        self._news.set()

    async def _tell_all(self) -> None:
        while True:
            while self._waiting:
                await self._tell(self._waiting.popleft())
            self._news.clear()
            await self._news.wait()

    async def _tell(self, happening: Happening) -> None:
        if not happening.uid:
            found = await self._writer.read(happening.regarding)
            if isinstance(found, Missing):
                return
            if isinstance(found, Item):
                uid = msgspec.json.decode(found.body, type=_Object).metadata.uid
                happening = msgspec.structs.replace(happening, uid=uid)
        self._note(happening, await self._writer.announce(happening))

    def _note(self, happening: Happening, outcome: Answer) -> None:
        """Say once that Events cannot be written, and nothing more until one is or it fails otherwise."""
        why = outcome.reason if isinstance(outcome, Failed) else ""
        if why and why != self._failure:
            about = f"{happening.kind} {happening.regarding.namespace}/{happening.regarding.name}"
            self._log.warning("an Event was not written", object=about, why=why)
        self._failure = why

    async def _sum_up(self) -> None:
        while True:
            await asyncio.sleep(SUMMARY)
            if self._left_out:
                remedy = "`legation check` and the statuses have all of it"
                self._log.warning("too much for Events", left_out=self._left_out, remedy=remedy)
                self._left_out = 0


def happenings(wrote: Wrote) -> tuple[Happening, ...]:
    """Say what is wrong since a write and was not before it; or, at once, that nothing is any more."""
    before, after = (_faults(wrote.ref, status) for status in (wrote.before, wrote.after))
    if before and not after and _speaks(wrote.after):
        note = f"no longer: {'; '.join(map(_in_words, before.values()))}"
        return (_happening(wrote, "Normal", RECOVERED, note),)
    new = [fault for said, fault in after.items() if said not in before]
    warned = [
        _happening(wrote, "Warning", fault.condition.reason, _in_words(fault))
        for fault in new
        if fault.condition.type != EXPIRING
    ]
    return (*warned, *_notices(wrote, _expiring(before.values()), _expiring(new)))


def _expiring(found: Iterable[Fault]) -> dict[str, str]:
    """Return what is said of certificates that end soon, whichever Gateways say it, each with its reason."""
    said = (told(fault.condition.message) for fault in found if fault.condition.type == EXPIRING)
    return {words: reason for each in said for reason, words in each}


def _notices(wrote: Wrote, before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Happening]:
    """Give notice of each certificate once at each step, whatever else is said together with it."""
    for words, reason in after.items():
        if words not in before:
            happening = _happening(wrote, "Warning", reason, f"{words} ({EXPIRY.remedy})")
            yield msgspec.structs.replace(happening, once=True)


def _faults(ref: Ref, status: bytes) -> dict[tuple[str, str, str], Fault]:
    """Index what is wrong by what people are told of it: it may make another condition bad than before."""
    found = faults(ref.name.namespace, read_status(status))
    return {(each.where, each.condition.reason, each.condition.message): each for each in found}


def _speaks(status: bytes) -> bool:
    """Say whether anything of ours is left: who turns away from us has not repaired anything."""
    told = read_status(status)
    return bool(told.conditions or told.ours)


def _in_words(fault: Fault) -> str:
    condition = fault.condition
    where = f"{fault.where}: " if fault.where else ""
    remedy = f" ({fault.remedy})" if fault.remedy else ""
    return f"{where}{condition.type}={condition.status}: {condition.message}{remedy}"


def _happening(wrote: Wrote, type_: str, reason: str, note: str) -> Happening:
    return Happening(wrote.place, wrote.ref.kind, wrote.uid, type_, reason, ACTION, note)


def _confession(what: str, mistake: Mistake, about: Ref) -> Happening:
    note = f"{what}: {in_words(mistake)} ({MISTAKE.remedy})"
    return Happening(place(about), about.kind, "", "Warning", BUG, ACTION, note, once=True)


def _clock() -> float:
    return asyncio.get_running_loop().time()
