"""Finds the routes for which an Envoy refuses a whole route table, and has them held back: all others go on.

Suspect is what changed since Envoys last took the table; what Envoy quotes of it comes first. Suspects
are held back together, so that nobody else waits, and released by halves until the culprits are left.

Envoy names a secret that it refuses, but keeps it, and then refuses each change of a listener that shows it.
So a Secret of which no version was ever taken is held back; of others the last good version is sent again.
What Envoys of another Gateway took as it is harms the one that refuses it, and nobody else.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import structlog
from msgspec import Struct

from legation.quarantined import Elsewhere, Held, HoldBack, LetGo
from legation.workbench import Outcome
from translator.envoy.secrets import owner_of
from translator.names import Name, Ref
from translator.rules.held_back import HTTP_ROUTES
from translator.verdict import listed
from xds_server.report import Accepted, Arrived, Begun, Overdue, Rejected, Report, Sent, TurnedAway
from xds_server.snapshot import RDS, SDS, Entry, Snapshot

AUTHOR = re.compile(rb"(HTTPRoute|GRPCRoute) ([a-z0-9.-]+)/([a-z0-9.-]+) rule ")
QUOTED = re.compile(r"'([^']{3,})'|\"([^\"]{3,})\"")

NOTHING = Snapshot.of({})
Routes = frozenset[Ref]
Put = Callable[[tuple[HoldBack | LetGo | Elsewhere, ...]], None]


class Table(NamedTuple):
    """A route table, or a secret, of a Gateway's Envoys."""

    group: str
    name: str


class Offered(NamedTuple):
    """What Envoys are offered of a table, and since which outcome."""

    entry: Entry
    number: int


class Search(Struct):
    """Which routes are suspects, which of them are tried now, and which are to be tried next."""

    suspects: Routes
    tried: Routes
    groups: list[Routes]


class Quarantine:
    """Follows what is offered and what becomes of it."""

    def __init__(self, put: Put, *, may_have_others: bool = False) -> None:
        """Begin without suspicion; what is to be held back or let go is put here.

        Other replicas may know what a route said before we began, so they are heard before one is suspected.
        """
        self._put = put
        self._log = structlog.get_logger()
        self._number = 0
        self._changed: dict[Ref, int] = {}
        self._snapshots: Mapping[str, Snapshot] = {}
        self._offered: dict[Table, Offered] = {}
        self._judged: set[tuple[Table, bool]] = set()  # by the first Envoy that answered; others say the same
        self._proven: dict[Table, Offered] = {}
        self._searches: dict[Table, Search] = {}
        self._shown: dict[Table, str] = {}  # secrets that were taken, and the last such version
        self._refusals: dict[Table, dict[str, str]] = {}  # what was said of versions since one was taken
        self._held: Mapping[Ref, Held] = {}
        self._once_refused: Routes = frozenset()
        self._elsewhere: tuple[Held, ...] = ()
        self._heard_everybody = not may_have_others
        self._waiting: dict[Table, str] = {}  # refused before everybody was heard

    def hear(self, held: tuple[Held, ...], *, everybody: bool) -> None:
        """Hear what other replicas hold back: that holds here, too, save for what Envoys here have shown."""
        relevant = tuple(each for each in held if not self._was_shown(each.about))
        if relevant != self._elsewhere or (everybody and not self._heard_everybody):
            self._elsewhere, self._heard_everybody = relevant, self._heard_everybody or everybody
            self._put((Elsewhere(relevant),))

    def _was_shown(self, ref: Ref) -> bool:
        return ref.kind == "Secret" and any(owner_of(each.name) == ref for each in self._shown)

    def told(self) -> Mapping[str, Held]:
        """Say what is held back beyond doubt."""
        doubtful = frozenset[Ref]().union(*(search.suspects for search in self._searches.values()))
        return {str(ref): held for ref, held in self._held.items() if ref not in doubtful}

    def take(self, outcome: Outcome) -> None:
        """Note what changed, and which tables are offered now."""
        self._number += 1
        self._held, self._once_refused = outcome.held_back, outcome.once_refused
        for ref in outcome.news:
            if ref.kind in HTTP_ROUTES:
                self._note_change(ref, is_there=ref in outcome.statuses)
        before, self._snapshots = self._snapshots, outcome.snapshots
        for group in before.keys() | outcome.snapshots.keys():
            old, new = before.get(group, NOTHING), outcome.snapshots.get(group, NOTHING)
            if old.entries[RDS] is not new.entries[RDS]:
                self._follow(group, old.entries[RDS], new.entries[RDS])
            if old.entries[SDS] is not new.entries[SDS]:
                self._forget(group, old.entries[SDS].keys() - new.entries[SDS].keys())
        if self._heard_everybody:
            for table, words in self._still_refused():
                self._refused(table, words)

    def _forget(self, group: str, secrets: Iterable[str]) -> None:
        for name in secrets:
            self._shown.pop(Table(group, name), None)

    def _note_change(self, route: Ref, *, is_there: bool) -> None:
        self._changed.pop(route, None)  # the newest stand last
        if is_there:
            self._changed[route] = self._number

    def _still_refused(self) -> list[tuple[Table, str]]:
        """Return what was refused, and is offered still."""
        waiting, self._waiting = self._waiting, {}
        return [(table, words) for table, words in waiting.items() if (table, False) in self._judged]

    def _follow(self, group: str, before: Mapping[str, Entry], after: Mapping[str, Entry]) -> None:
        for name in before.keys() | after.keys():
            table, entry = Table(group, name), after.get(name)
            if entry is before.get(name):
                continue
            self._judged -= {(table, True), (table, False)}
            if entry is None:
                for known in (self._offered, self._proven, self._searches, self._refusals):
                    known.pop(table, None)
                continue
            self._offered[table] = Offered(entry, self._number)
            self._remember(table, entry.version)

    def _remember(self, table: Table, version: str) -> None:
        """Judge at once what was judged before: no Envoy is offered it again."""
        if (proven := self._proven.get(table)) is not None and proven.entry.version == version:
            self._judged.add((table, True))
            self._taken(table)
        elif (words := self._refusals.get(table, {}).get(version)) is not None:
            self._judged.add((table, False))
            self._refused(table, words)

    def note(self, report: Report) -> None:
        """Go on with a search, or begin one."""
        match report:
            case Accepted():
                self._accepted(report)
            case Rejected(isolated=True):
                self._rejected(report)
            case Sent() | Rejected() | Overdue() | TurnedAway() | Begun() | Arrived():
                pass

    def _accepted(self, report: Accepted) -> None:
        group, versions = report.envoy.group, report.versions
        if report.type_url == SDS:
            self._shown |= {Table(group, name): version for name, version in versions.items()}
        elif report.type_url == RDS:
            for table in self._current(group, versions, taken=True):
                self._taken(table)

    def _rejected(self, report: Rejected) -> None:
        group, versions = report.envoy.group, report.versions
        if report.type_url == SDS:
            for name, version in versions.items():
                self._refused_secret(Table(group, name), version, report.error)
        elif report.type_url == RDS:
            for name, version in versions.items():
                self._refusals.setdefault(Table(group, name), {})[version] = report.error
            for table in self._current(group, versions, taken=False):
                self._refused(table, report.error)

    def _current(self, group: str, versions: Mapping[str, str], *, taken: bool) -> Iterator[Table]:
        """Name the tables that were judged as they are offered now; other judgements are history."""
        tables = {Table(group, name): version for name, version in versions.items()}
        for table, version in tables.items():
            offered = self._offered.get(table)
            if offered and offered.entry.version == version and (table, taken) not in self._judged:
                self._judged.add((table, taken))
                yield table

    def _taken(self, table: Table) -> None:
        self._proven[table] = self._offered[table]
        self._refusals.pop(table, None)
        search = self._searches.get(table)
        if search is None:
            return
        if not search.groups:
            del self._searches[table]
            return
        search.tried = search.groups.pop()
        self._put((LetGo(search.tried),))

    def _refused(self, table: Table, words: str) -> None:
        if not self._heard_everybody and table not in self._proven:
            self._waiting[table] = words  # Envoys go on with what they had
            return
        search = self._searches.get(table)
        if search is None or not search.tried:  # those that were held back are not the ones, or not all
            self._suspect(table, words)
            return
        self._hold_back(search.tried, words)
        search.groups += _halves(search.tried)
        search.tried = frozenset()

    def _refused_secret(self, secret: Table, version: str, words: str) -> None:
        offered = self._snapshots.get(secret.group, NOTHING).entries[SDS].get(secret.name)
        owner = owner_of(secret.name)
        if owner.kind != "Secret" or secret in self._shown or self._is_taken_elsewhere(secret, version):
            return
        if offered and offered.version == version:
            self._hold_back(frozenset((owner,)), words)

    def _is_taken_elsewhere(self, secret: Table, version: str) -> bool:
        """Say whether Envoys of another Gateway show just this: then one Envoy's word harms nobody else."""
        return any(each.name == secret.name and taken == version for each, taken in self._shown.items())

    def _hold_back(self, objects: frozenset[Ref], words: str, *, entirely: bool = False) -> None:
        named = [str(each) for each in sorted(objects)]
        self._log.warning("held back, because an Envoy refuses it", objects=listed(named), error=words)
        self._put((HoldBack(objects, words, entirely),))

    def _suspect(self, table: Table, words: str) -> None:
        """Hold back whoever may be the culprit; those who were suspected before are tried again, too."""
        chosen = self._suspects(table, words)
        if not chosen:
            return
        before = self._searches.pop(table, None)
        others = before.suspects - chosen if before else frozenset[Ref]()
        groups = [others, *_halves(chosen)] if others else _halves(chosen)
        self._searches[table] = Search(chosen | others, frozenset(), groups)
        self._hold_back(chosen, words, entirely=chosen <= self._held.keys())

    def _suspects(self, table: Table, words: str) -> Routes:
        """Choose from what changed since the table was taken: whom Envoy quotes, who was refused before."""
        body, proven = self._offered[table].entry.resource.body, self._proven.get(table)
        since = proven.number if proven else 0
        suspects = frozenset(ref for ref in authors(body) if self._changed.get(ref, 0) > since)
        fresh = suspects - self._held.keys()
        quoted = suspects & blamed(body, words)
        return quoted & fresh or fresh & self._once_refused or fresh or quoted or suspects


def authors(body: bytes) -> Routes:
    """Return the routes that a table was made of: every entry is named by its own."""
    return frozenset(_author(found) for found in AUTHOR.finditer(body))


def blamed(body: bytes, words: str) -> Routes:
    """Return the routes that wrote what Envoy quotes: an entry's name stands behind what it matches."""
    quoted = [one or other for one, other in QUOTED.findall(words)]
    ends = (at.end() for each in quoted for at in re.finditer(re.escape(each.encode()), body))
    return frozenset(_author(found) for end in ends if (found := AUTHOR.search(body, end)) is not None)


def _author(found: re.Match[bytes]) -> Ref:
    kind, namespace, name = (part.decode() for part in found.groups())
    return Ref(kind, Name(namespace, name))


def _halves(routes: Routes) -> list[Routes]:
    """Return two groups to be tried apart; one alone is no suspect any more, but the culprit."""
    ordered = sorted(routes)
    middle = len(ordered) // 2
    return [frozenset(ordered[:middle]), frozenset(ordered[middle:])] if middle else []
