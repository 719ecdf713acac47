"""An Envoy as the protocol describes it, in memory: it subscribes, takes, refuses, warms and comes back."""

from collections import deque
from collections.abc import Iterable, Mapping

from xds_server.hub import Hub, Seat
from xds_server.memory import KEPT_AFTER_REMOVAL, YOUNG
from xds_server.messages import Ask, DeltaAsk, Response
from xds_server.order import SENDS_TRAFFIC, Patience
from xds_server.report import Envoy, Overdue, Report
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Entry, Resource, Snapshot

GROUP = "shop/edge"
WATCHED = (CDS, LDS)
BAD = b"bad"
PATIENCE = Patience(hold=10, grace=5)


def cluster(text: str, endpoints: str | None = None, *secrets: str) -> Resource:
    """A cluster whose bytes say all that it is."""
    body = f"{text} {endpoints} {secrets}".encode()
    return Resource(body, endpoints=endpoints, secrets=secrets)


def table(text: str, *targets: str) -> Resource:
    """A route table."""
    return Resource(f"{text} {targets}".encode(), targets=targets)


def listener(text: str, routes: str | None = None, *targets: str) -> Resource:
    """A listener, whose bytes name the route table that it needs."""
    return Resource(f"{text} {targets} @{routes or ''}".encode(), targets=targets)


def plain(text: str) -> Resource:
    """Endpoints or a secret."""
    return Resource(text.encode())


def leads_to(traffic: Entry, endpoints: str, clusters: Mapping[str, Entry]) -> bool:
    """Say whether a listener or a table sends somebody to these endpoints."""
    found = (clusters.get(target) for target in traffic.resource.targets)
    return any(each is not None and each.resource.endpoints == endpoints for each in found)


def _is_led_away(traffic: Entry, endpoints: str, offered: Snapshot) -> bool:
    desired = offered.find(traffic.type_url, traffic.name)
    if desired is None:
        return traffic.type_url == LDS  # nobody asks for a table that is not there
    goes_on = desired.version == traffic.version or BAD in desired.resource.body
    return not goes_on and not leads_to(desired, endpoints, offered.entries[CDS])


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class HonestEnvoy:
    """One instance; it outlives its streams, and notes every fault that its traffic would have seen."""

    def __init__(self, hub: Hub, reports: list[Report], *, whole: bool, names_culprits: bool) -> None:
        self.hub = hub
        self.whole = whole
        self.names_culprits = names_culprits
        self.held: dict[str, dict[str, Entry]] = {t: {} for t in (CDS, EDS, SDS, LDS, RDS)}
        self.extra: dict[str, set[str]] = {t: set() for t in (EDS, SDS, RDS)}
        self.warming: dict[str, Entry] = {}
        self.interrupted: set[str] = set()  # which nobody remembers to be new, so that Envoy helps itself
        self.forgotten: set[str] = set()  # tables of an earlier stream, which no full set takes away
        self.changed_at: dict[str, float] = {}  # clusters
        self.emptied_at: dict[str, float] = {}  # endpoints
        self.came_at = 0.0
        self.given_up: set[str] = set()  # of which it was told before it had said all that it has
        self.reports = reports
        self.seat: Seat | None = None
        self.inbox: deque[tuple[Response, Snapshot | None]] = deque()  # with what was offered when it left
        self.outbox: deque[Ask | DeltaAsk] = deque()
        self.seen: list[Response] = []
        self.faults: list[str] = []
        self._versions: dict[str, str] = {}
        self._nonces: dict[str, str] = {}
        self._asked: dict[str, set[str]] = {}

    # the wire

    def connect(self) -> None:
        """Open a stream and subscribe to everything again."""
        self.disconnect()
        seat = self.hub.join(Envoy(GROUP, "node"), "memory", whole=self.whole, wake=lambda: None)
        assert isinstance(seat, Seat)
        self.seat = seat
        self.came_at = self.hub.clock()
        self.forgotten = set(self.held[RDS]) if self.whole else set()
        begun = self.hub.clock() - YOUNG
        self.interrupted = {name for name in self.warming if self.changed_at.get(name, begun) <= begun}
        for type_url in (CDS, EDS, SDS, LDS, RDS):
            if type_url in WATCHED or self._needs(type_url):
                self._ask(type_url)

    def disconnect(self) -> None:
        """Lose the stream, and what was on its way."""
        if self.seat is not None:
            self.hub.leave(self.seat)
        self.seat = None
        self.inbox.clear()
        self.outbox.clear()
        self._nonces.clear()
        self._asked.clear()

    def send_one(self) -> bool:
        """Let one request reach the server."""
        said = next((each for each in self.outbox if not self._keeps_to_itself(each)), None)
        if self.seat is None or said is None:
            return False
        self.outbox.remove(said)
        assert self.hub.receive(self.seat, said) is None
        return True

    def _keeps_to_itself(self, ask: Ask | DeltaAsk) -> bool:
        """Say whether this waits: while a cluster is cold, Envoy says nothing about clusters."""
        cold = {name for name, each in self.warming.items() if each.resource.endpoints}
        return ask.type_url == CDS and not cold <= self.interrupted

    def fetch_one(self) -> bool:
        """Let the server put one response on the wire."""
        if self.seat is None or (response := self.hub.next(self.seat)) is None:
            return False
        names = [entry.name for entry in response.entries] + list(response.removed)
        assert len(names) == len(set(names)), "a name twice in one response"
        before = [each for each, _ in self.inbox if each.type_url == response.type_url]
        assert all(self._lost_a_secret(each) for each in before), "two un-answered responses of a type"
        if self._kept_silent():
            self.given_up.update(names)
        self.inbox.append((response, self.hub.snapshot(GROUP)))
        self.seen.append(response)
        return True

    def _lost_a_secret(self, response: Response) -> bool:
        """Say whether Envoy would not answer a full set, for want of a secret that nobody is given."""
        offered = self.hub.snapshot(GROUP)
        named = {secret for entry in response.entries for secret in entry.resource.secrets}
        is_offered = offered is not None and named <= offered.names(SDS)
        return self.whole and response.type_url == CDS and not is_offered

    def _kept_silent(self) -> bool:
        unsaid = any(ask.type_url in (CDS, *SENDS_TRAFFIC) and not ask.nonce for ask in self.outbox)
        return unsaid and self.hub.clock() >= self.came_at + PATIENCE.grace

    def take_one(self) -> bool:
        """Act on one response and answer it."""
        if not self.inbox:
            return False
        self._take(*self.inbox.popleft())
        return True

    def settle(self) -> list[Response]:
        """Exchange messages until nobody has anything to say; the responses it took."""
        before = len(self.seen)
        exchanged = 0
        while self.send_one() or self.fetch_one() or self.take_one():
            exchanged += 1
            assert exchanged < 2_000, "the conversation does not end"
        return self.seen[before:]

    # what Envoy does

    def _take(self, response: Response, offered: Snapshot | None) -> None:
        type_url, held = response.type_url, self.held[response.type_url]
        bad = [entry.name for entry in response.entries if BAD in entry.resource.body]
        if not bad or self.names_culprits:
            good = [each for each in response.entries if each.name not in bad and self._listens_to(each)]
            full = self.whole and type_url in WATCHED
            present = {entry.name for entry in response.entries}
            gone = set(held) - present if full else set(response.removed)
            for entry in good:
                before = held.get(entry.name)
                self._look_for_led_away(before, entry, offered)
                self._apply(entry)
                if before is None or before.version != entry.version:
                    self._look_for_dangling(entry, offered)
            for name in gone:
                self._drop(type_url, name)
        self._nonces[type_url] = response.nonce
        error = f"Error adding/updating {', '.join(f'{n}: no' for n in bad)}" if self.names_culprits else "no"
        if not bad:
            self._versions[type_url] = response.version
        self._ask(type_url, error if bad else None, answers=True)
        for child in (EDS, SDS, RDS):
            if self._needs(child) != self._asked.get(child, set()):
                self._ask(child)

    def _listens_to(self, entry: Entry) -> bool:
        return entry.type_url in WATCHED or entry.name in self._asked.get(entry.type_url, ())

    def _apply(self, entry: Entry) -> None:
        before = self.held[entry.type_url].get(entry.name)
        if entry.type_url == RDS:
            self.forgotten.discard(entry.name)
        self.held[entry.type_url][entry.name] = entry
        if entry.type_url == CDS and (before is None or before.version != entry.version):
            self.warming.pop(entry.name, None)
            if entry.resource.endpoints is not None:
                self.warming[entry.name] = entry
        if entry.type_url == EDS:
            self.warming = {n: c for n, c in self.warming.items() if c.resource.endpoints != entry.name}

    def _drop(self, type_url: str, name: str) -> None:
        self.held[type_url].pop(name, None)
        if type_url == CDS:
            self.warming.pop(name, None)
            for entry in (*self.held[LDS].values(), *self.held[RDS].values()):
                is_lost = entry.name in self.forgotten and not self._is_offered(entry)
                if name in entry.resource.targets and not (is_lost or self._overdue(CDS, name)):
                    self.faults.append(f"cluster {name} went while {entry.name} used it")

    def _is_offered(self, entry: Entry) -> bool:
        offered = self.hub.snapshot(GROUP)
        return offered is not None and offered.find(entry.type_url, entry.name) is not None

    def _look_for_dangling(self, entry: Entry, offered: Snapshot | None) -> None:
        for target in entry.resource.targets:
            desired = offered.find(CDS, target) if offered else None
            excused = desired is None or BAD in desired.resource.body or target in self.interrupted
            if not (excused or entry.name in self.given_up or self._overdue(entry.type_url, entry.name)):
                if target not in self.held[CDS]:
                    self.faults.append(f"{entry.name} leads to {target}, which is unknown")
                elif target in self.warming:
                    self.faults.append(f"{entry.name} leads to {target}, which is cold")

    def _look_for_led_away(self, before: Entry | None, entry: Entry, offered: Snapshot | None) -> None:
        loses = entry.leads_to_nobody and before is not None and not before.leads_to_nobody
        if not loses or offered is None or self._expects_to_lose(entry.name):
            return
        for traffic in (*self.held[LDS].values(), *self.held[RDS].values()):
            if _is_led_away(traffic, entry.name, offered) and leads_to(traffic, entry.name, self.held[CDS]):
                self.faults.append(f"{entry.name} was emptied while {traffic.name} leads there, for now")

    def _expects_to_lose(self, endpoints: str) -> bool:
        is_old_news = self.hub.clock() - self.emptied_at.get(endpoints, 0.0) >= KEPT_AFTER_REMOVAL
        return is_old_news or endpoints in self.given_up or self._overdue(EDS, endpoints)

    def _overdue(self, type_url: str, name: str) -> bool:
        return any(isinstance(r, Overdue) and (r.type_url, r.name) == (type_url, name) for r in self.reports)

    # what Envoy asks

    def _needs(self, type_url: str) -> set[str]:
        if type_url in WATCHED:
            return set()
        parents = [entry for watched in WATCHED for entry in self.held[watched].values()]
        if type_url == EDS:
            names = {entry.resource.endpoints or "" for entry in parents}
        elif type_url == SDS:
            names = {secret for entry in parents for secret in entry.resource.secrets}
        else:
            names = {entry.resource.body.decode().partition("@")[2] for entry in parents}
        return (names - {""}) | self.extra[type_url]

    def want(self, type_url: str, names: Iterable[str]) -> None:
        """Ask for names beyond those that the configuration mentions."""
        self.extra[type_url] = set(names)
        if self.seat is not None and self._needs(type_url) != self._asked.get(type_url, set()):
            self._ask(type_url)

    def _ask(self, type_url: str, error: str | None = None, *, answers: bool = False) -> None:
        names, before = self._needs(type_url), self._asked.get(type_url)
        for name in (before or set()) - names:
            self.held[type_url].pop(name, None)
        nonce = self._nonces.get(type_url, "")
        self._asked[type_url] = names
        if self.whole:
            version = self._versions.get(type_url, "")
            self.outbox.append(Ask(type_url, tuple(sorted(names)), version, nonce, error))
            return
        versions = {} if before is not None else {n: e.version for n, e in self.held[type_url].items()}
        added, left = tuple(sorted(names - (before or set()))), tuple(sorted((before or set()) - names))
        self.outbox.append(DeltaAsk(type_url, added, left, versions, nonce if answers else "", error))
