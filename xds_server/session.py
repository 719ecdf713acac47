"""One resource type on one stream, without IO or clock: offered, held, refused, in flight."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol

from msgspec import Struct, structs

from xds_server.culprits import blamed, halves
from xds_server.memory import Memory
from xds_server.messages import Ask, DeltaAsk, Response
from xds_server.snapshot import CDS, EDS, LDS, SDS, Entry, Snapshot, content_version, no_endpoints
from xds_server.strangers import Offered, Strangers
from xds_server.subscription import Amendment, Subscription

DELETES_BY_ABSENCE = frozenset({CDS, LDS})  # in state of the world only these two can delete


class Foreign(Struct, frozen=True, gc=False):
    """Held since an earlier stream, in a version whose content we do not know."""

    version: str


class Change(Struct, frozen=True):
    """What one response brings: entries the client lacks or needs again, and names that go."""

    updates: dict[str, Entry]
    removed: frozenset[str] = frozenset()
    for_now: frozenset[str] = frozenset()  # updates that say again what was, until the news may be told
    instead: frozenset[str] = frozenset()  # updates that stand in for what was refused


class Flight(Struct, frozen=True):
    """A response that was sent and not yet answered."""

    nonce: str
    change: Change


class Verdict(Struct, frozen=True):
    """What a client said of a response: taken, or refused for a reason, and by whose fault if known."""

    change: Change
    error: str | None = None
    culprits: frozenset[str] = frozenset()
    cured: frozenset[str] = frozenset()  # taken now, where the last answer was a refusal


class Gate(Protocol):
    """Who knows, over all types of the stream, what may go now."""

    def may_arrive(self, entry: Entry) -> bool:
        """Whether all that the entry sends traffic to is in place."""

    def may_leave(self, type_url: str, name: str) -> bool:
        """Whether nothing that the client may hold still needs the name."""

    def stand_in(self, type_url: str, name: str) -> Entry | None:
        """What to say of a name that is not offered, but that the client would wait for."""


class Session:
    """What one client wants of one type, what it has, and what it would not have."""

    def __init__(self, type_url: str, *, whole: bool, memory: Memory) -> None:
        self.type_url = type_url
        self.subscription = Subscription(type_url)
        self.strangers = Strangers()
        self.held: dict[str, Entry | Foreign] = {}
        self.flight: Flight | None = None
        self.opened = False
        self.returned = False  # came with something of an earlier stream
        self._whole = whole
        self._deletes_by_absence = whole and type_url in DELETES_BY_ABSENCE
        self._memory = memory
        self._pending: set[str] = set()  # to be looked at
        self._due: set[str] = set()  # to be sent even if equal
        self._refused: dict[str, set[str]] = {}
        self._ill: set[str] = set()  # a version was refused, and none taken since
        self._suspects: dict[str, Entry] = {}  # of a refused response, perhaps live all the same
        self._groups: list[frozenset[str]] = []  # to be offered apart, in search of a culprit
        self._sent_once = False
        self._owes_answer = False
        self._estranged = False  # came with a set whose content we do not know, and lacks some of ours still
        self._came_with = ""  # the version of that set

    # what the client says

    def receive(self, ask: Ask | DeltaAsk, snapshot: Snapshot | None) -> Verdict | None:
        """Take a request in: its verdict on what is in flight, then its names."""
        verdict = self._judge(ask)
        amendment = self._subscribe(ask)
        is_offered = self._offered_by(snapshot)
        self.strangers.ask(amendment.deliver, is_offered)
        deliver = amendment.deliver
        if not self.opened:
            self._open(ask, is_offered)
            deliver -= self.held.keys()
        self._amend(amendment, deliver, snapshot)
        self.strangers.keep(self.subscription.names, self.held)
        return verdict

    def _subscribe(self, ask: Ask | DeltaAsk) -> Amendment:
        match ask:
            case Ask():
                return self.subscription.replace(ask.names)
            case DeltaAsk():
                return self.subscription.amend(ask.subscribe, ask.unsubscribe)

    def _offered_by(self, snapshot: Snapshot | None) -> Offered:
        return lambda name: snapshot is not None and snapshot.find(self.type_url, name) is not None

    def _open(self, ask: Ask | DeltaAsk, is_offered: Offered) -> None:
        self.opened = True
        match ask:
            case Ask():
                self._came_with = ask.version
                self._estranged = self.returned = bool(ask.version)
            case DeltaAsk():
                self.returned = bool(ask.versions)
                self.strangers.claim(ask.versions, is_offered)
                self._recall({name: Foreign(version) for name, version in ask.versions.items()})

    def _recall(self, before: Mapping[str, Entry | Foreign]) -> None:
        wanted = {name: entry for name, entry in before.items() if self.subscription.wants(name)}
        self.held = {**wanted, **self.held}
        self._pending |= wanted.keys()

    def _amend(self, amendment: Amendment, deliver: frozenset[str], snapshot: Snapshot | None) -> None:
        ended = self.held.keys() | self._pending if amendment.everything_ended else frozenset()
        for name in amendment.forget | ended:
            if not self.subscription.wants(name):
                self._forget(name)
        self._due |= deliver
        self._pending |= amendment.deliver
        if amendment.everything_began and snapshot is not None:
            self._pending |= snapshot.names(self.type_url)
        self._owes_answer |= amendment.everything_began or (self._deletes_by_absence and bool(deliver))

    def _forget(self, name: str) -> None:
        for names in (self._pending, self._due, self._ill):
            names.discard(name)
        for entries in (self.held, self._refused, self._suspects):
            entries.pop(name, None)

    def _judge(self, ask: Ask | DeltaAsk) -> Verdict | None:
        if self.flight is None or ask.nonce != self.flight.nonce:
            return None
        change, self.flight = self.flight.change, None
        if ask.error is None:
            self._memory.accept(change.updates.values())
            self._settle(change)
            cured = self._ill & change.updates.keys()
            self._ill -= cured
            return Verdict(change, cured=frozenset(cured))
        return Verdict(change, ask.error, self._reject(change, ask.error))

    def _settle(self, change: Change) -> None:
        self._estranged = self._estranged and bool(self._due) and not self._deletes_by_absence
        if self._deletes_by_absence:
            self._suspects.clear()
        for name, entry in change.updates.items():
            self._suspects.pop(name, None)
            if self._version(name) != entry.version and name not in change.instead:  # else it stays refused
                self._refused.pop(name, None)
            if self.subscription.wants(name):
                self.held[name] = entry
        for name in change.removed:
            self._suspects.pop(name, None)
            self.held.pop(name, None)

    def _reject(self, change: Change, error: str) -> frozenset[str]:
        news = {name: entry for name, entry in change.updates.items() if self._version(name) != entry.version}
        if not news:  # it complains of what it already has, or of a removal: nothing to hold back
            self._settle(change)
            return frozenset()
        culprits = frozenset(news) if len(news) == 1 else blamed(error, news)
        if not culprits:
            self._groups[:0] = halves(news)
        self._ill |= culprits
        for name in culprits:
            self._refused.setdefault(name, set()).add(news[name].version)
            if self._unless_refused(self._suspects.get(name)) is None:
                self._suspects.pop(name, None)
        if self.type_url == SDS:  # Envoy keeps what it refuses, and would refuse all that refers to it
            self._due |= culprits & self.held.keys()
        if self._estranged:  # nothing of the full set may have been taken, removals included
            self._owes_answer = True
            self._recall({name: good for name in news if (good := self._last_good(name)) is not None})
        self._suspects.update((name, entry) for name, entry in news.items() if name not in culprits)
        self._due |= (change.updates.keys() - news.keys()) | change.removed  # which may be gone, or not
        again = change.updates.keys() | change.removed
        self._pending |= self.subscription.among(again)
        return culprits

    # what is offered

    def begin(self, snapshot: Snapshot) -> None:
        """Nothing was offered until now: all of this is new, and what the client has may not be in it."""
        self.strangers.recognize(self._offered_by(snapshot))
        self.offer(snapshot.names(self.type_url) | self.held.keys())

    def offer(self, names: Iterable[str]) -> None:
        """Some names have other content now, or none."""
        self._pending |= self.subscription.among(names)

    def forgive(self) -> None:
        """Offer again what was refused: it may have been for the sake of what it refers to."""
        for name in [*self._refused]:
            self.pardon(name)

    def pardon(self, name: str) -> None:
        """Offer one of them again: it may have been for the sake of Envoy's machine."""
        if self._refused.pop(name, None) is not None:
            self._pending |= self.subscription.among((name,))

    def owe(self, name: str) -> None:
        """Send a name again although it is equal: what refers to it was replaced."""
        self._due.add(name)  # kept for a first request that is still on its way
        if self.subscription.wants(name):
            self._pending.add(name)

    def outdated(self, snapshot: Snapshot) -> list[Entry]:
        """What is on its way, would not be sent any more, and can be taken back before it is answered."""
        if self.flight is None or self._estranged or not self._deletes_by_absence:
            return []
        sent = self.flight.change.updates
        wanted = ((sent[name], self._wanted(name, snapshot)) for name in self._pending & sent.keys())
        return [entry for entry, now in wanted if now is None or now.version != entry.version]

    def take_back(self, flight: Flight) -> None:
        """Wait no more for an answer, which may come late: the next full set replaces what is on its way."""
        self.flight = None
        for name in flight.change.removed:
            self.held.pop(name, None)
        self._suspects.update(flight.change.updates)
        self._pending |= self.subscription.among(flight.change.updates)

    def plan(self, snapshot: Snapshot, gate: Gate) -> Change | None:
        """What the next response should bring, if there should be one."""
        change = self._news(snapshot, gate)
        is_all_news = self._estranged and self._deletes_by_absence
        return self._with_all(change) if change is not None and is_all_news else change

    def _news(self, snapshot: Snapshot, gate: Gate) -> Change | None:
        if self._estranged and not self._sent_once:
            self._recall(self._memory.left_behind(self.type_url, self._came_with))
        while self._groups:
            apart = self._compose(self._pending & self._groups.pop(0), snapshot, gate)
            if apart.updates:
                return apart
        change = self._compose(frozenset(self._pending), snapshot, gate)
        if self._first_full_set() and self._waiting(change, snapshot):
            return None  # to leave out what must wait would delete it
        if change.updates or change.removed:
            return change
        return change if self._owes_answer and not self._waiting(change, snapshot) else None

    def _with_all(self, change: Change) -> Change:
        """The same for a client that may have anything of the full set in another version."""
        moot = change.removed | self._suspects.keys()
        kept = {name: each for name, each in self._known().items() if name not in moot}
        for_now = change.for_now | (self._pending - change.updates.keys() - change.removed)
        return structs.replace(change, updates={**kept, **change.updates}, for_now=for_now)

    def launch(self, change: Change, nonce: str) -> Response:
        """The response that brings a change; it is in flight until the client answers."""
        self.flight = Flight(nonce, change)
        self._done_with(change.updates.keys() | change.removed)
        self._pending |= change.for_now
        self._sent_once, self._owes_answer = True, False
        entries = {**self._known(), **change.updates} if self._whole else change.updates
        sent = tuple(entries[name] for name in sorted(entries.keys() - change.removed))
        version = content_version("".join(f"{entry.name}\n{entry.version}\n" for entry in sent).encode())
        if self._deletes_by_absence:
            self._memory.sent(self.type_url, version, entries.keys() - change.removed)
        removed = () if self._whole else tuple(sorted(change.removed))
        return Response(self.type_url, nonce, version, sent, removed)

    def _compose(self, names: AbstractSet[str], snapshot: Snapshot, gate: Gate) -> Change:
        updates: dict[str, Entry] = {}
        removed: set[str] = set()
        for_now: list[str] = []
        for name in names:
            wanted = self._wanted(name, snapshot)
            if wanted is None and name not in self.held:
                wanted = gate.stand_in(self.type_url, name)
            if wanted is None:
                removed |= self._part_with(name, gate)
            elif isinstance(wanted, Foreign) or self._has(wanted):
                self.held[name] = wanted
                self._done_with({name})
            elif gate.may_arrive(wanted):
                updates[name] = wanted
            if self._is_awaited(name) and name not in updates and name not in removed:
                updates[name] = self._as_before(name)
                for_now.append(name)
        instead = frozenset(name for name in updates if self._is_refused(name, snapshot))
        return Change(updates, frozenset(removed), frozenset(for_now), instead)

    def _is_awaited(self, name: str) -> bool:
        """Whether these are endpoints that a cluster must hear of, be it as they were, or stay cold."""
        return self.type_url == EDS and name in self._due

    def _as_before(self, name: str) -> Entry:
        nobody, held = no_endpoints(name), self.held.get(name)
        if self._version(name) == nobody.version:
            return nobody
        known = held if isinstance(held, Entry) else self._unless_refused(self._memory.before_emptied(name))
        return known or nobody

    def _part_with(self, name: str, gate: Gate) -> set[str]:
        holds = name in self.held or name in self._suspects
        if holds and not gate.may_leave(self.type_url, name):
            return set()
        if (holds and self._deletes_by_absence) or (not self._whole and (holds or name in self._due)):
            return {name}
        self._done_with({name})
        entry = self.held.pop(name, None)
        if isinstance(entry, Entry):
            self._suspects[name] = entry  # nothing can be said of its end, so the client still has it
        return set()

    def _is_refused(self, name: str, snapshot: Snapshot) -> bool:
        if name not in self._refused:
            return False
        desired = snapshot.find(self.type_url, name)
        return desired is not None and desired.version in self._refused[name]

    def _wanted(self, name: str, snapshot: Snapshot) -> Entry | Foreign | None:
        if not self._is_refused(name, snapshot):
            return snapshot.find(self.type_url, name)
        return self.held.get(name) or self._unless_refused(self._suspects.get(name)) or self._last_good(name)

    def _last_good(self, name: str) -> Entry | None:
        return self._unless_refused(self._memory.good(self.type_url, name))

    def _unless_refused(self, entry: Entry | None) -> Entry | None:
        return entry if entry and entry.version not in self._refused.get(entry.name, ()) else None

    def _first_full_set(self) -> bool:
        return self._deletes_by_absence and not self._sent_once

    def _waiting(self, change: Change, snapshot: Snapshot) -> bool:
        return any(snapshot.find(self.type_url, name) for name in self._pending - change.updates.keys())

    def _done_with(self, names: AbstractSet[str]) -> None:
        self._pending -= names
        self._due -= names
        if not self._pending:
            self._pending = set()  # the old one would stay as large as it ever was

    def _has(self, entry: Entry) -> bool:
        return entry.name not in self._due and self._version(entry.name) == entry.version

    def _version(self, name: str) -> str | None:
        if name in self._suspects or name not in self.held:
            return None
        return self.held[name].version

    def _known(self) -> dict[str, Entry]:
        return {name: entry for name, entry in self.held.items() if isinstance(entry, Entry)}

    # what the order over all types must know

    @property
    def unsettled(self) -> AbstractSet[str]:
        """Names that are not yet sent, or not yet answered."""
        return self._pending | self.flight.change.updates.keys() if self.flight else self._pending

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to be sent, and nothing to be answered."""
        return self.flight is None and not self._pending

    @property
    def owed(self) -> AbstractSet[str]:
        """Names that must be sent again."""
        return self._due

    def held_back(self, snapshot: Snapshot) -> int:
        """How many names have content now that the client refused."""
        return sum(self._is_refused(name, snapshot) for name in self._refused)

    @property
    def estranged(self) -> bool:
        """Whether the client may hold something whose content we do not know."""
        return self._estranged or any(isinstance(entry, Foreign) for entry in self.held.values())

    def replaces_unknown(self, snapshot: Snapshot) -> bool:
        """Whether something is being replaced of which nobody here knows what it says."""
        if self._estranged:
            return self._owes_answer or not self.is_settled
        held = ((name, self.held.get(name)) for name in self.unsettled)
        foreign = (
            (snapshot.find(self.type_url, n), each.version) for n, each in held if isinstance(each, Foreign)
        )
        return any(offered is None or offered.version != version for offered, version in foreign)

    def perhaps_held(self) -> Iterator[Entry]:
        """Every entry that the client may act on now."""
        yield from self._known().values()
        yield from self._suspects.values()
        if self.flight is not None:
            yield from self.flight.change.updates.values()
