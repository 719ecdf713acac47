"""What is known, and all that is made from it, batch by batch."""

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct, structs

from legation.alarm import Alarm
from legation.change import Put, Stated, written
from legation.checks.findings import Finding, Told
from legation.custody import HELD_KINDS, Custody
from legation.deliveries import Heard, delivery
from legation.notebook import Judged, Notebook
from legation.permissions import JUDGED
from legation.pods.wanted import Pods
from legation.pods.wanted import wanted as wanted_pods
from legation.proofs.audit_record import Changed, changed
from legation.proofs.changes import Follower, ProofChanges, RootsChange, Used
from legation.proxies.wanted import Wanted, wanted
from legation.publish import Publisher
from legation.quarantined import Elsewhere, Held, HoldBack, LetGo
from legation.turns import give_way
from legation.written_status import read_status
from translator.envoy.resource import LISTENER
from translator.memo import Rows, Table
from translator.names import Name, Ref
from translator.objects.gateway import Gateway
from translator.objects.x_backend import XBackend
from translator.rules.bundles import Bundles
from translator.rules.gateways import Binding, Delivery
from translator.rules.managed import RUNS_PROXIES, Upkeep
from translator.translate import INDEXES, Mistake, Resources, Translation, Translator, mistakes_in
from translator.world import World
from xds_server.report import Cause
from xds_server.snapshot import Snapshot

FEW = 10  # objects of a batch that are named
UNASKED = Delivery(acknowledged=False)


class Kept(NamedTuple):
    """What stands in the way of a Gateway's proxies; nothing, if it is empty."""

    gateway: Name
    trouble: str


Fact = Stated[datetime] | Stated[Binding] | Stated[bool] | Stated[frozenset[str]] | Stated[Bundles | None]
Change = Put | Fact | Heard | Kept | HoldBack | LetGo | Elsewhere
Batch = Sequence[Change]


class Effort(Struct, frozen=True):
    """What one batch was, and what it took."""

    began: float = 0.0  # by the monotonic clock
    changes: int = 0
    objects: tuple[str, ...] = ()  # the first few of them, as `Kind namespace/name@version`
    queries: int = 0  # that ran
    results: int = 0  # that are remembered since


class Outcome(Struct, frozen=True, eq=False):
    """What one batch led to, complete: what Envoys get and what objects say."""

    snapshots: Mapping[str, Snapshot]
    statuses: Mapping[Ref, bytes]
    broken: Mapping[str, Mistake]
    seconds: float
    judged: Mapping[Ref, Judged] = MappingProxyType({})
    news: frozenset[Ref] = frozenset()  # whose status or generation is not that of the outcome before
    found: tuple[Finding, ...] = ()  # what objects say is wrong with them
    proxies: Mapping[Name, Wanted | None] = MappingProxyType({})
    pods: Mapping[Name, Pods | None] = MappingProxyType({})  # by XBackend
    effort: Effort = Effort()
    records: tuple[Changed, ...] = ()  # what the batch changed of what backends prove
    roots: tuple[RootsChange, ...] = ()  # and of what is trusted
    ends: Mapping[Used, datetime] = MappingProxyType({})
    cause: Cause | None = None  # if a source had news
    held_back: Mapping[Ref, Held] = MappingProxyType({})  # because an Envoy refuses them
    once_refused: frozenset[Ref] = frozenset()  # routes of which that was said before we began


class Workbench:
    """A world, and all that is made from it; no two threads may work here at once."""

    def __init__(self, *, asks_envoys: bool = True, keeps_what_is_written: bool = False) -> None:
        """Begin with an empty world; it may ask Envoys before it calls a Gateway programmed.

        Where other replicas serve Envoys, too, that none is connected here says nothing: what a Gateway's
        status said before is kept.
        """
        self.world = World(INDEXES)
        self._asks_envoys = asks_envoys
        self._keeps_what_is_written = keeps_what_is_written
        self._translator = Translator(self.world)
        self._publisher = Publisher()
        self._follower = Follower(self.world)
        self._alarm = Alarm()
        self._notebook = Notebook(self._alarm)
        self._custody = Custody(self.world)
        self._told = Told()
        self._proxies: Table[Wanted | None] = Table(self.world.memory, wanted)
        self._pods: Table[Pods | None] = Table(self.world.memory, wanted_pods)
        self._served: Mapping[Name, Resources] = MappingProxyType({})
        self._news: frozenset[Ref] = frozenset()  # that nobody was told yet
        self._last = Outcome({}, {}, {}, 0.0)
        self._ran = 0

    def work(self, batch: Batch) -> Outcome:
        """Apply a batch and translate; a mistake of ours leaves what it is about as it was, and is named."""
        begun = time.monotonic()
        news: list[Change] = []
        for change in batch:
            give_way()
            with self._alarm.guarding(*_step(change)) as guard:
                if not self._only_speaks(change):
                    news.append(change)
                    self._apply(change)
            if guard.failed and isinstance(change, Put):
                self.world.miss(change.kind, change.name)
        before = self._last
        with self._alarm.guarding("the translation"):
            self._last = self._translated(batch, news, begun)
            self._news = frozenset()
        if self._last is not before:
            return structs.replace(self._last, broken={**self._last.broken, **self._alarm.mistakes})
        return structs.replace(
            self._last,
            broken=dict(self._alarm.mistakes),
            seconds=0.0,
            news=frozenset(),
            effort=self._effort(batch, begun),
            records=(),
            roots=(),
        )

    def _translated(self, batch: Batch, news: Batch, begun: float) -> Outcome:
        translation = self._translate()
        if self._doubts(translation.gateways):
            translation = self._translate()
        proxies = self._wanted(translation.gateways)
        pods = self._pods.keep(self.world.names(XBackend), self.world)
        kept = self._notebook.keep(
            self.world, translation.statuses, translation.doubted, written(datetime.now(UTC))
        )
        self._news |= kept.news
        snapshots = self._publisher.snapshots(translation.gateways)
        found, records = self._compared(news, translation.gateways)
        mistakes = {
            **translation.broken,
            **mistakes_in("proxies of", proxies, "Gateway"),
            **mistakes_in("pods of", pods, "XBackend"),
            **{f"trust of {ref}": Mistake(bug, ref) for ref, bug in found.broken.items()},
        }
        took = time.monotonic() - begun
        return Outcome(
            snapshots,
            kept.statuses,
            mistakes,
            took,
            kept.judged,
            self._news,
            self._findings(kept.statuses),
            proxies.values,
            pods.values,
            self._effort(batch, begun),
            records,
            found.roots,
            found.ends,
            held_back=dict(self._custody.held),
            once_refused=frozenset(self._custody.once_refused),
        )

    def _translate(self) -> Translation:
        translation = self._translator.translate()
        for ref in translation.told:
            self._notebook.touch(ref)
        return translation

    def _effort(self, batch: Batch, began: float) -> Effort:
        before, self._ran = self._ran, self.world.memory.runs.total()
        return Effort(
            began=began,
            changes=len(batch),
            objects=tuple(islice((str(each) for each in batch if isinstance(each, Put)), FEW)),
            queries=self._ran - before,
            results=len(self.world.memory),
        )

    def _findings(self, statuses: Mapping[Ref, bytes]) -> tuple[Finding, ...]:
        """Say what objects say is wrong with them; a mistake of ours there keeps nobody from being served."""
        with self._alarm.guarding("the findings"):
            return self._told.take(statuses, self._news)
        return self._last.found

    def _compared(
        self, news: Batch, gateways: Mapping[Name, Resources]
    ) -> tuple[ProofChanges, tuple[Changed, ...]]:
        """Say what differs in what is proved; a mistake of ours there costs lines of the record only."""
        with self._alarm.guarding("the audit record"):
            found = self._follower.take(self._publisher.moves, gateways)
            records = changed(self.world, found.hops, news, datetime.now(UTC))
            self.world.memory.sweep()  # of what was asked for this alone
            return found, records
        return ProofChanges(ends=self._last.ends), ()

    def _doubts(self, gateways: Mapping[Name, Resources]) -> bool:
        """Call no Gateway programmed whose listeners are others than those its Envoys took."""
        before, self._served = self._served, gateways
        doubtful = [
            name
            for name in before.keys() & gateways.keys()
            if _listen_otherwise(before[name], gateways[name])
        ]
        for name in doubtful:
            if (known := self.world.standing(Delivery, name)) is not None:
                self.world.put(Delivery, name, structs.replace(known, acknowledged=False))
        return bool(doubtful)

    def _wanted(self, gateways: Iterable[Name]) -> Rows[Wanted | None]:
        """Return what Gateways need of whoever runs proxies, if we are to."""
        kept = frozenset(gateways) if self.world.fact(RUNS_PROXIES) else frozenset[Name]()
        return self._proxies.keep(kept, self.world)

    def _apply(self, change: Change) -> None:
        match change:
            case Put():
                self._put(change)
            case Stated():
                change.tell(self.world)
            case Heard(present=False) if self._keeps_what_is_written:
                pass
            case Heard(gateway=name):
                gateway = self.world.standing(Gateway, name)
                self.world.put(Delivery, name, delivery(change, gateway) if gateway else None)
            case Kept(gateway=name, trouble=trouble):
                gateway = self.world.standing(Gateway, name)
                self.world.put(Upkeep, name, Upkeep(trouble) if gateway else None)
            case HoldBack() | LetGo() | Elsewhere():
                self._custody.take(change)

    def _put(self, change: Put) -> None:
        kind, name, thing = change.kind, change.name, change.thing
        ref = Ref(kind.__name__, name)
        if ref.kind in HELD_KINDS:
            self._custody.before_change(ref, thing)
        self.world.put(kind, name, thing)
        if ref.kind in HELD_KINDS:
            self._custody.after_change(ref)
        self._notebook.touch(ref)
        if isinstance(thing, Gateway) and self._asks_envoys:
            self._await_envoys(name, thing)
        if kind is Gateway and thing is None:
            self._forget(name)

    def _only_speaks(self, change: Change) -> bool:
        """Say whether nothing but an object's own status is new: that came of it, and no rule reads it."""
        if not isinstance(change, Put) or not isinstance(thing := change.thing, JUDGED):
            return False
        if (known := self.world.standing(type(thing), change.name)) is None:
            return False
        return structs.replace(thing, status=known.status) == known

    def _await_envoys(self, name: Name, gateway: Gateway) -> None:
        if self.world.standing(Delivery, name) is None:
            believed = self._keeps_what_is_written and _says_programmed(gateway)
            self.world.put(Delivery, name, Delivery(acknowledged=True) if believed else UNASKED)

    def _forget(self, gateway: Name) -> None:
        """Let go of what was said about a Gateway that is gone; another of its name begins anew."""
        self.world.put(Delivery, gateway, None)
        self.world.put(Upkeep, gateway, None)


def _step(change: Change) -> tuple[str, Ref | None]:
    """Name what a change is, and the object that it is about, if it is one."""
    match change:
        case Put(kind=kind, name=name):
            return "Put {}", Ref(kind.__name__, name)
        case Heard(gateway=name) | Kept(gateway=name):
            return f"{type(change).__name__} {{}}", Ref("Gateway", name)
        case Stated() | HoldBack() | LetGo() | Elsewhere():
            return type(change).__name__, None


def _listen_otherwise(before: Resources, after: Resources) -> bool:
    """Compare two sets of listeners; what did not change is the same object."""
    if before is after:
        return False
    old, new = before.get(LISTENER, {}), after.get(LISTENER, {})
    return old.keys() != new.keys() or any(old[name] is not new[name] for name in new)


def _says_programmed(gateway: Gateway) -> bool:
    """Say whether the Gateway's status says of what it is now that its Envoys took what they were sent."""
    found = read_status(bytes(gateway.status) or b"{}").condition("Programmed")
    if found is None or found.observed_generation != gateway.metadata.generation:
        return False
    return found.status == "True"
