"""Make before break: what may be sent now, what waits for an answer, and what may be withdrawn."""

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from math import inf

from msgspec import Struct

from xds_server.messages import Ask, DeltaAsk
from xds_server.session import Change, Session, Verdict
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Entry, Resource, Snapshot, no_endpoints

SENDS_TRAFFIC = (LDS, RDS)
USED_BY = {CDS: SENDS_TRAFFIC, EDS: (CDS,), SDS: (CDS, LDS)}
USES: Mapping[str, Callable[[Resource], tuple[str | None, ...]]] = {
    CDS: lambda resource: resource.targets,
    EDS: lambda resource: (resource.endpoints,),
    SDS: lambda resource: resource.secrets,
}


class Patience(Struct, frozen=True):
    """How long a change waits for what it needs, and a removal after its last use, in seconds."""

    hold: float = 10.0  # below the 15 s after which Envoy itself stops waiting for routes
    grace: float = 5.0  # for requests and retries that still run on the old route


class Leaving(Struct, frozen=True, gc=False):
    """A removal that waits: since when, and since when nothing has needed the name."""

    since: float
    free_since: float | None = None


class Order:
    """What waits on one stream, each wait with its beginning."""

    def __init__(self, sessions: Mapping[str, Session], patience: Patience) -> None:
        self.sessions = sessions
        self.patience = patience
        self.warming: dict[str, str] = {}  # cluster -> the endpoints that must follow it
        self.awaited: frozenset[str] = frozenset()  # endpoints, perhaps, by clusters of an earlier stream
        self.heard_since = inf  # the first request
        self.arriving: dict[tuple[str, str], float] = {}
        self.leaving: dict[tuple[str, str], Leaving] = {}

    def sent(self, type_url: str, change: Change) -> None:
        """Remember what a response obliges us to send after it, and end the waits it fulfils."""
        names = change.updates.keys() | change.removed
        told = change.updates.keys() - change.for_now  # a removal that is refused goes on where it was
        self._end_waits(type_url, lambda name: name in told)
        if type_url == CDS:
            self.warming = {name: needs for name, needs in self.warming.items() if name not in names}
        if type_url in (CDS, LDS):
            for entry in change.updates.values():
                self._owe_children(entry)

    def opened(self, ask: Ask | DeltaAsk, awaited: frozenset[str], now: float) -> None:
        """Send once more what may be waited for: an earlier stream may have ended before it came."""
        self.heard_since = min(self.heard_since, now)
        if isinstance(ask, DeltaAsk):
            for name in awaited.intersection(ask.versions):
                self.sessions[ask.type_url].owe(name)
        if ask.type_url == EDS:
            self.awaited = awaited

    def _owe_children(self, parent: Entry) -> None:
        for type_url, name in parent.resource.children:
            self.sessions[type_url].owe(name)
        if parent.resource.endpoints is not None:
            self.warming[parent.name] = parent.resource.endpoints

    def answered(self, type_url: str, verdict: Verdict) -> None:
        """A cluster is warm when its endpoints were taken after it; a refused one is not waited for."""
        ended: AbstractSet[str]
        ended = verdict.culprits if verdict.error is not None else verdict.change.updates.keys()
        if type_url == SDS and verdict.cured:
            for user in USED_BY[SDS]:
                self.sessions[user].forgive()
        if type_url == EDS:
            ended = ended - self.sessions[EDS].owed
            self.warming = {name: needs for name, needs in self.warming.items() if needs not in ended}
        elif type_url == CDS and verdict.error is not None:
            self.warming = {name: needs for name, needs in self.warming.items() if name not in ended}

    def prune(self, session: Session) -> None:
        """End the waits of names about which nothing is open any more."""
        self._end_waits(session.type_url, lambda name: name not in session.unsettled)

    def _end_waits(self, type_url: str, ended: Callable[[str], bool]) -> None:
        for waits in (self.arriving, self.leaving):
            for key in [key for key in waits if key[0] == type_url and ended(key[1])]:
                del waits[key]


class Moment:
    """The order's judgement at one moment; reads the sessions only when something asks."""

    def __init__(self, order: Order, snapshot: Snapshot, now: float) -> None:
        self.wake_at: float | None = None
        self.overdue: dict[tuple[str, str], float] = {}
        self._order = order
        self._snapshot = snapshot
        self._now = now
        self._uses: dict[str, frozenset[str | None]] = {}
        self._unknown: dict[str, bool] = {}

    def may_arrive(self, entry: Entry) -> bool:
        """Traffic may be sent where every cluster is known to be taken and warm, or waited for in vain.

        That nobody is left somewhere may be said when traffic that is led away from there has gone.
        """
        if self._hears_more_before(entry):
            return False
        if not (self._leads_too_soon(entry) or self._empties_too_soon(entry)):
            return True
        since = self._since(entry)
        return self._over((entry.type_url, entry.name), since, since + self._order.patience.hold)

    def _hears_more_before(self, entry: Entry) -> bool:
        """Whether a client that came back may soon say what it has; it need not have any."""
        heard_since, patience = self._order.heard_since, self._order.patience
        if entry.leads_to_nobody:
            return self._is_unheard_on_traffic and not self._reached(heard_since + patience.grace)
        if not (entry.resource.targets and self._is_unheard_on_clusters):
            return False
        until_warm = patience.hold if self._is_back else 0.0  # Envoy helps itself in no more than both
        return not self._reached(heard_since + patience.grace + until_warm)

    def _since(self, entry: Entry) -> float:
        return self._order.arriving.setdefault((entry.type_url, entry.name), self._now)

    def _leads_too_soon(self, entry: Entry) -> bool:
        return entry.type_url in SENDS_TRAFFIC and not self._unready.isdisjoint(entry.resource.targets)

    def _empties_too_soon(self, entry: Entry) -> bool:
        return entry.leads_to_nobody and (self._is_strange or entry.name in self._being_left)

    def may_leave(self, type_url: str, name: str) -> bool:
        """A name may go some time after its last use, and, for safety, at last even if still in use."""
        if type_url not in USED_BY:
            return True
        key, patience = (type_url, name), self._order.patience
        waits = self._order.leaving.get(key, Leaving(self._now))
        if self._may_be_used(type_url, name):
            self._order.leaving[key] = Leaving(waits.since)
            return self._over(key, waits.since, waits.since + patience.hold + patience.grace)
        free_since = self._now if waits.free_since is None else waits.free_since
        self._order.leaving[key] = Leaving(waits.since, free_since)
        return self._reached(free_since + (patience.grace if type_url == CDS else 0))

    def overtake(self, session: Session) -> None:
        """Have the next full set of clusters not wait for an answer that waits for secrets which are gone.

        While a cluster is cold Envoy answers nothing, and with state of the world nobody can tell it that
        a secret is not there: it would help itself after 15 s, and routes wait for no more than 10.
        """
        if session.type_url != CDS or (flight := session.flight) is None:
            return
        secrets = {secret for entry in session.outdated(self._snapshot) for secret in entry.resource.secrets}
        had = {entry.name for entry in self._order.sessions[SDS].perhaps_held()} if secrets else set()
        if any(self._snapshot.find(SDS, secret) is None for secret in secrets - had):
            session.take_back(flight)

    def stand_in(self, type_url: str, name: str) -> Entry | None:
        """No endpoints, for a cluster that left the offer and that the client still waits to see warm."""
        if type_url != EDS:
            return None
        is_waited_for = name in self._order.awaited or name in self._used(EDS)
        return no_endpoints(name) if is_waited_for else None

    def _over(self, key: tuple[str, str], since: float, end: float) -> bool:
        if self._reached(end):
            self.overdue[key] = self._now - since
            return True
        return False

    def _reached(self, time: float) -> bool:
        if self._now >= time:
            return True
        self.wake_at = time if self.wake_at is None else min(self.wake_at, time)
        return False

    @cached_property
    def _unready(self) -> frozenset[str]:
        open_ = self._order.sessions[CDS].unsettled | self._order.warming.keys()
        return frozenset(name for name in open_ if self._snapshot.find(CDS, name) is not None)

    @cached_property
    def _is_unheard_on_traffic(self) -> bool:
        sessions = self._order.sessions
        return self._is_back and not all(sessions[user].opened for user in SENDS_TRAFFIC)

    @cached_property
    def _is_unheard_on_clusters(self) -> bool:
        """Whether it may have some, of which Envoy says nothing while one of them is cold."""
        sessions = self._order.sessions
        return not sessions[CDS].opened and (self._is_back or sessions[EDS].opened)

    @cached_property
    def _is_back(self) -> bool:
        return any(session.returned for session in self._order.sessions.values())

    @cached_property
    def _is_strange(self) -> bool:
        """Whether traffic may be sent anywhere, by what is to go and nobody here knows."""
        return any(self._order.sessions[user].replaces_unknown(self._snapshot) for user in SENDS_TRAFFIC)

    @cached_property
    def _being_left(self) -> frozenset[str | None]:
        """Endpoints to which traffic is sent by what the client may hold and is to hold no more."""
        targets = {
            target
            for user in SENDS_TRAFFIC
            for entry in self._outdated(self._order.sessions[user])
            for target in entry.resource.targets
        }
        clusters = self._order.sessions[CDS].perhaps_held() if targets else ()
        return frozenset(each.resource.endpoints for each in clusters if each.name in targets)

    def _outdated(self, session: Session) -> Iterator[Entry]:
        if unsettled := session.unsettled:
            for entry in session.perhaps_held():
                offered = self._snapshot.find(entry.type_url, entry.name)
                if entry.name in unsettled and (offered is None or offered.version != entry.version):
                    yield entry

    def _may_be_used(self, type_url: str, name: str) -> bool:
        if self._is_unknown(type_url):
            return True
        is_awaited = type_url == EDS and name in self._order.awaited and self._is_unheard_on_clusters
        return is_awaited or name in self._used(type_url)

    def _is_unknown(self, type_url: str) -> bool:
        """Whether the client may be using any name, by what nobody knows of it."""
        if type_url not in self._unknown:
            self._unknown[type_url] = any(session.estranged for session in self._users(type_url))
        return self._unknown[type_url]

    def _used(self, type_url: str) -> frozenset[str | None]:
        """Names that the client may be using now, by what is known of it."""
        if type_url not in self._uses:
            uses = USES[type_url]
            held = (entry for session in self._users(type_url) for entry in session.perhaps_held())
            self._uses[type_url] = frozenset(name for entry in held for name in uses(entry.resource))
        return self._uses[type_url]

    def _users(self, type_url: str) -> list[Session]:
        return [self._order.sessions[user] for user in USED_BY[type_url]]
