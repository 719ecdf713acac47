"""The sessions of one ADS stream, without IO: requests and snapshots in, the next response out."""

from collections.abc import Collection, Mapping

from xds_server.memory import Memory
from xds_server.messages import Ask, DeltaAsk, Response
from xds_server.order import Moment, Order, Patience
from xds_server.report import Accepted, Envoy, Overdue, Rejected, Report
from xds_server.session import Change, Session, Verdict
from xds_server.snapshot import EMPTY, SERVED, Snapshot

KNOWN = (*SERVED, *EMPTY)


class Stream:
    """One Envoy's conversation; each response is worked out from the newest snapshot when it can be sent."""

    def __init__(self, envoy: Envoy, *, whole: bool, memory: Memory, patience: Patience, salt: str) -> None:
        self.envoy = envoy
        self.sessions = {type_url: Session(type_url, whole=whole, memory=memory) for type_url in SERVED}
        self.snapshot: Snapshot | None = None
        self.wake_at: float | None = None
        self.reports: list[Report] = []
        self._rejections: dict[str, dict[str, Rejected]] = {}
        self._memory = memory
        self._whole = whole
        self._order = Order(self.sessions, patience)
        self._launched: dict[str, float] = {}  # when the last response of each type was sent
        self._salt = salt  # makes a nonce of another stream unknown here
        self._sent = 0

    def offer(self, snapshot: Snapshot | None, changed: Mapping[str, Collection[str]]) -> None:
        """The newest snapshot, and in which names it differs from the last; None ends all sending."""
        fresh = self.snapshot is None
        self.snapshot = snapshot
        for type_url, session in self.sessions.items():
            if fresh and snapshot is not None:
                session.begin(snapshot)
            session.offer(changed.get(type_url, ()))

    def receive(self, ask: Ask | DeltaAsk, now: float) -> None:
        """Take one request in; a type we do not know is left alone."""
        session = self._session(ask.type_url)
        if session is None:
            return
        if not session.opened:
            self._order.opened(ask, self._memory.awaited(ask.type_url, now), now)
        verdict = session.receive(ask, self.snapshot)
        if verdict is not None:
            self._order.answered(ask.type_url, verdict)
            self._report(ask.type_url, verdict, now - self._launched[ask.type_url])

    def _session(self, type_url: str) -> Session | None:
        """Find the session of a type, or begin one of which there is nothing: few Envoys ask for any."""
        if type_url in EMPTY and type_url not in self.sessions:
            self.sessions[type_url] = Session(type_url, whole=self._whole, memory=self._memory)
        return self.sessions.get(type_url)

    def next(self, now: float) -> Response | None:
        """The next response that may be sent, in the order of types; `wake_at` says when to ask again."""
        self.wake_at = None
        if self.snapshot is None:
            return None
        moment = Moment(self._order, self.snapshot, now)
        for type_url, session in self.sessions.items():
            moment.overtake(session)
            if session.flight is not None:
                continue
            self._order.prune(session)
            change = session.plan(self.snapshot, moment)
            if change is not None:
                self._note_overdue(moment, type_url, change)
                self._launched[type_url] = now
                return self._launch(session, change)
        self.wake_at = moment.wake_at
        return None

    def _launch(self, session: Session, change: Change) -> Response:
        self._sent += 1
        response = session.launch(change, f"{self._salt}-{self._sent}")
        self._order.sent(session.type_url, change)
        return response

    def _note_overdue(self, moment: Moment, type_url: str, change: Change) -> None:
        names = change.updates.keys() | change.removed
        self.reports += [
            Overdue(self.envoy, kind, name, waited)
            for (kind, name), waited in sorted(moment.overdue.items())
            if kind == type_url and name in names
        ]

    def _report(self, type_url: str, verdict: Verdict, waited: float) -> None:
        change = verdict.change
        versions = {name: entry.version for name, entry in change.updates.items()}
        refused = self._refused(type_url)
        if verdict.error is None:
            removed = tuple(sorted(change.removed))
            self.reports.append(Accepted(self.envoy, type_url, versions, removed, waited))
            taken = [name for name, each in refused.items() if versions.get(name) == each.versions[name]]
            for name in taken:  # in search of a culprit it was a suspect, and it is none
                del refused[name]
        else:
            if verdict.culprits:
                versions = {name: versions[name] for name in verdict.culprits}
            rejected = Rejected(self.envoy, type_url, versions, verdict.error, bool(verdict.culprits), waited)
            refused.update(dict.fromkeys(versions, rejected))
            self.reports.append(rejected)
        self._rejections[type_url] = refused

    @property
    def rejections(self) -> dict[str, dict[str, Rejected]]:
        """What the Envoy refused as it is offered now, by type and name: each as it was refused last."""
        return {type_url: found for type_url in self._rejections if (found := self._refused(type_url))}

    def _refused(self, type_url: str) -> dict[str, Rejected]:
        refused = self._rejections.get(type_url)
        if not refused or (snapshot := self.snapshot) is None:
            return {}
        offered = ((name, snapshot.find(type_url, name), rejected) for name, rejected in refused.items())
        return {
            name: rejected
            for name, entry, rejected in offered
            if entry is not None and entry.version == rejected.versions[name]
        }

    @property
    def is_settled(self) -> bool:
        """Whether the Envoy has answered all that there is to be told."""
        return all(session.is_settled for session in self.sessions.values())

    @property
    def owes_nothing(self) -> bool:
        """Whether the Envoy has answered all but what is to be taken from it once nothing uses that."""
        return self.is_settled or all(self._only_loses(session) for session in self.sessions.values())

    def _only_loses(self, session: Session) -> bool:
        if session.flight is not None or (snapshot := self.snapshot) is None:
            return False
        keys = ((session.type_url, name) for name in session.unsettled)
        return all(key in self._order.leaving and snapshot.find(*key) is None for key in keys)

    def held_back(self) -> dict[str, int]:
        """How many resources of each type are not offered because the Envoy refused what they are now."""
        if (snapshot := self.snapshot) is None:
            return {}
        found = ((type_url, session.held_back(snapshot)) for type_url, session in self.sessions.items())
        return {type_url: number for type_url, number in found if number}

    @property
    def asked_names(self) -> int:
        """How many names the Envoy has subscribed to."""
        return sum(len(session.subscription.names) for session in self.sessions.values())

    @property
    def asked_letters(self) -> int:
        """How long all those names are together."""
        return sum(session.subscription.letters for session in self.sessions.values())

    @property
    def strange_bytes(self) -> int:
        """What is kept for names that the Envoy was not offered when it spoke of them."""
        return sum(session.strangers.bytes for session in self.sessions.values())

    def holdings(self, types: Collection[str] = KNOWN) -> dict[str, dict[str, str]]:
        """The versions that the Envoy is known to have, by type and name."""
        return {
            type_url: {name: entry.version for name, entry in session.held.items()}
            for type_url, session in self.sessions.items()
            if session.opened and type_url in types
        }
