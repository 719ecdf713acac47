"""The newest snapshot of each group of Envoys, and the streams that it wakes."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from secrets import token_hex
from time import monotonic

from msgspec import Struct

from xds_server.admission import Allowance, Limits, Refusal
from xds_server.memory import Memory
from xds_server.messages import Ask, DeltaAsk, Response
from xds_server.order import Patience
from xds_server.progress import Progress, Way
from xds_server.report import Arrived, Begun, Cause, Envoy, Rejected, Report, Sent
from xds_server.snapshot import Snapshot, changed
from xds_server.stream import KNOWN, Stream

PATIENCE = Patience()
LIMITS = Limits()
NOTHING = Snapshot.of({})
TOO_MANY_NAMES, TOO_LONG_NAMES = Refusal("too many names"), Refusal("too long names")
TOO_STRANGE_NAMES = Refusal("too many names that nobody offers")


class Connected(Struct, frozen=True):
    """One Envoy as it stands: what it holds, and what it refused as it is now, by type and name."""

    envoy: Envoy
    address: str
    since: float
    versions: Mapping[str, Mapping[str, str]]
    rejections: Mapping[str, Mapping[str, Rejected]]


class Seat(Struct, eq=False, frozen=True):
    """A stream's place in the hub."""

    stream: Stream
    whole: bool
    address: str
    since: float
    wake: Callable[[], None]


class Group:
    """All that is kept for one group while anybody offers or asks for it."""

    def __init__(self, limits: Limits, now: float) -> None:
        self.snapshot: Snapshot | None = None
        self.memory = Memory()
        self.allowance = Allowance(limits, now)
        self.seats: dict[int, Seat] = {}
        self.progress = Progress()
        self.strange = 0  # bytes that all streams have us keep for names that they are not offered


class Hub:
    """Between who publishes and who is connected; unknown groups get silence, never an empty answer."""

    def __init__(
        self,
        told: Callable[[Report], None],
        *,
        patience: Patience = PATIENCE,
        limits: Limits = LIMITS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.told = told
        self.clock = clock
        self.limits = limits
        self._patience = patience
        self.ready = False  # until something was published
        self._groups: dict[str, Group] = {}

    def snapshot(self, group: str) -> Snapshot | None:
        """What is offered to a group now."""
        return self._groups[group].snapshot if group in self._groups else None

    def publish(self, group: str, snapshot: Snapshot, cause: Cause | None = None) -> bool:
        """Offer a new snapshot; equal content disturbs nobody.

        What becomes of a cause is reported, if it is said that somebody is concerned.
        """
        known = self._group(group)
        names = changed(known.snapshot, snapshot)
        first = known.snapshot is None
        known.snapshot, self.ready = snapshot, True
        known.memory.follow(snapshot, names, self.clock())
        for seat in known.seats.values():
            seat.stream.offer(snapshot, names)
            if names or first:
                seat.wake()
        if first:  # what was strange until now may be what is offered
            known.strange = sum(seat.stream.strange_bytes for seat in known.seats.values())
        if not names or cause is None:
            return False
        behind = {key for key, seat in known.seats.items() if not seat.stream.owes_nothing}
        known.progress.offered(cause, behind)
        return bool(behind)

    def review(self, group: str) -> None:
        """Have a group's streams look again whether they are still admitted."""
        if group in self._groups:
            for seat in self._groups[group].seats.values():
                seat.wake()

    def pardon(self, group: str, type_url: str, name: str) -> None:
        """Offer a group's Envoys again what they refused for the sake of their machine."""
        if group in self._groups:
            for seat in self._groups[group].seats.values():
                seat.stream.sessions[type_url].pardon(name)
                seat.wake()

    def withdraw(self, group: str) -> None:
        """Fall silent towards a group; its Envoys keep what they have."""
        known = self._group(group)
        if known.snapshot is not None:
            known.memory.follow(NOTHING, changed(known.snapshot, NOTHING), self.clock())
        known.snapshot, known.progress = None, Progress()
        for seat in known.seats.values():
            seat.stream.offer(None, {})
        self._drop_if_idle(group)

    def join(self, envoy: Envoy, address: str, *, whole: bool, wake: Callable[[], None]) -> Seat | Refusal:
        """Seat a new stream, unless the group has too many."""
        group = self._group(envoy.group)
        if len(group.seats) >= self.limits.streams:
            return Refusal(f"too many streams of {envoy.group}")
        stream = Stream(envoy, whole=whole, memory=group.memory, patience=self._patience, salt=token_hex(4))
        stream.offer(group.snapshot, {})
        seat = Seat(stream, whole, address, self.clock(), wake)
        group.seats[id(seat)] = seat
        return seat

    def leave(self, seat: Seat) -> None:
        """Forget a stream; nothing of it outlives it."""
        group = seat.stream.envoy.group
        del self._groups[group].seats[id(seat)]
        self._groups[group].strange -= seat.stream.strange_bytes
        self._tell_arrivals(group, self._groups[group].progress.left(id(seat)))
        self._drop_if_idle(group)

    def receive(self, seat: Seat, ask: Ask | DeltaAsk) -> Refusal | None:
        """Hand one request to a stream, unless the client asks too often or for too much."""
        stream, group = seat.stream, self._groups[seat.stream.envoy.group]
        if not group.allowance.take(self.clock()):
            return Refusal("too many requests")
        if any(len(names) > self.limits.names for names in _named(ask)):
            return TOO_MANY_NAMES  # also if it drops them again, or says that it has them
        strange = stream.strange_bytes
        stream.receive(ask, self.clock())
        group.strange += stream.strange_bytes - strange
        self._tell(seat)
        return self._is_too_much(stream, group)

    def _is_too_much(self, stream: Stream, group: Group) -> Refusal | None:
        if stream.asked_names > self.limits.names:
            return TOO_MANY_NAMES
        if stream.asked_letters > self.limits.letters:
            return TOO_LONG_NAMES
        if self.ready and stream.strange_bytes and group.strange > self.limits.strange:
            return TOO_STRANGE_NAMES  # not before anything is ready, when nobody is offered anything
        return None

    def next(self, seat: Seat) -> Response | None:
        """What a stream should send now, if anything."""
        response = seat.stream.next(self.clock())
        self._tell(seat)
        return response

    def sent(self, seat: Seat, response: Response, size: int) -> None:
        """Hear that a response was made into so many bytes, which are on their way."""
        envoy = seat.stream.envoy
        self.told(Sent(envoy, response.type_url, len(response.entries), size))
        for cause in self._groups[envoy.group].progress.sent(id(seat)):
            self.told(Begun(envoy.group, cause))

    def offered(self) -> dict[str, Snapshot]:
        """What is offered now, by group."""
        return {name: group.snapshot for name, group in self._groups.items() if group.snapshot is not None}

    def groups(self) -> frozenset[str]:
        """Whoever is offered something, or asks for it."""
        return frozenset(self._groups)

    def sizes(self) -> dict[str, int]:
        """How many Envoys each group has that has any."""
        return {name: len(group.seats) for name, group in self._groups.items() if group.seats}

    def connected(self) -> list[Connected]:
        """Every Envoy with what it holds now."""
        return [each for group in self._groups for each in self.connected_of(group)]

    def connected_of(self, group: str, types: Collection[str] = KNOWN) -> list[Connected]:
        """The same, of one group, and of these types."""
        seats = self._groups[group].seats.values() if group in self._groups else ()
        return [
            Connected(s.stream.envoy, s.address, s.since, s.stream.holdings(types), s.stream.rejections)
            for s in seats
        ]

    def oldest(self) -> Cause | None:
        """What connected Envoys have owed an answer to for longest."""
        found = (group.progress.oldest for group in self._groups.values())
        return min((each for each in found if each is not None), key=lambda each: each.since, default=None)

    def held_back(self) -> Counter[str]:
        """How many resources of each type are not offered to some Envoy because it refused them."""
        found = Counter[str]()
        for group in self._groups.values():
            for seat in group.seats.values():
                if held_back := seat.stream.held_back():
                    found.update(held_back)
        return found

    def _tell(self, seat: Seat) -> None:
        stream, progress = seat.stream, self._groups[seat.stream.envoy.group].progress
        reports, stream.reports = stream.reports, []
        for report in reports:
            if isinstance(report, Rejected):
                progress.refused(id(seat))
            self.told(report)
        if progress.oldest is not None and stream.owes_nothing:
            self._tell_arrivals(stream.envoy.group, progress.settled(id(seat)))

    def _tell_arrivals(self, group: str, ways: Iterable[Way]) -> None:
        for way in ways:
            self.told(Arrived(group, way.cause, way.refused))

    def _group(self, name: str) -> Group:
        return self._groups.setdefault(name, Group(self.limits, self.clock()))

    def _drop_if_idle(self, name: str) -> None:
        group = self._groups[name]
        if group.snapshot is None and not group.seats:
            del self._groups[name]


def _named(ask: Ask | DeltaAsk) -> tuple[Collection[str], ...]:
    """Return every list of names in a request."""
    match ask:
        case Ask():
            return (ask.names,)
        case DeltaAsk():
            return ask.subscribe, ask.unsubscribe, ask.versions
