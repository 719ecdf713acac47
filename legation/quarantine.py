"""Finds the routes for which an Envoy refuses a whole route table, and has them held back: all others go on.

Suspect is what changed since Envoys last took the table; what Envoy quotes of it comes first. Suspects
are held back together, so that nobody else waits, and released by halves until the culprits are left.

Envoy names a secret that it refuses, but keeps it, and then refuses each change of a listener that shows it.
So a Secret of which no version was ever taken is held back; of others the last good version is sent again.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import structlog
from msgspec import Struct

from legation.pump import Outcome
from legation.quarantined import HoldBack, LetGo
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
Put = Callable[[tuple[HoldBack | LetGo, ...]], None]


class Table(NamedTuple):
    """A route table, or a secret, of a Gateway's Envoys."""

    group: str
    name: str


class Offered(NamedTuple):
    """What Envoys are offered of a table, and since which outcome."""

    entry: Entry
    number: int


class Search(Struct):
    """Which routes are held back and not yet tried, which are tried now, and what Envoy said."""

    words: str
    tried: Routes
    groups: list[Routes]


class Quarantine:
    """Follows what is offered and what becomes of it."""

    def __init__(self, put: Put) -> None:
        """Begin without suspicion; what is to be held back or let go is put here."""
        self._put = put
        self._log = structlog.get_logger()
        self._number = 0
        self._changed: dict[Ref, int] = {}
        self._snapshots: Mapping[str, Snapshot] = {}
        self._offered: dict[Table, Offered] = {}
        self._judged: set[tuple[Table, bool]] = set()  # by the first Envoy that answered; others say the same
        self._proven: dict[Table, int] = {}
        self._searches: dict[Table, Search] = {}
        self._shown: set[Table] = set()  # secrets that were taken in some version

    def take(self, outcome: Outcome) -> None:
        """Note what changed, and which tables are offered now."""
        self._number += 1
        for ref in outcome.news:
            if ref.kind in HTTP_ROUTES:
                self._changed.pop(ref, None)
                self._changed |= {ref: self._number} if ref in outcome.statuses else {}
        before, self._snapshots = self._snapshots, outcome.snapshots
        for group in before.keys() | outcome.snapshots.keys():
            old, new = before.get(group, NOTHING), outcome.snapshots.get(group, NOTHING)
            if old.entries[RDS] is not new.entries[RDS]:
                self._follow(group, old.entries[RDS], new.entries[RDS])
            if old.entries[SDS] is not new.entries[SDS]:
                gone = old.entries[SDS].keys() - new.entries[SDS].keys()
                self._shown -= {Table(group, name) for name in gone}

    def _follow(self, group: str, before: Mapping[str, Entry], after: Mapping[str, Entry]) -> None:
        for name in before.keys() | after.keys():
            table, entry = Table(group, name), after.get(name)
            if entry is before.get(name):
                continue
            self._judged -= {(table, True), (table, False)}
            if entry is not None:
                self._offered[table] = Offered(entry, self._number)
                continue
            for known in (self._offered, self._proven, self._searches):
                known.pop(table, None)

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
            self._shown |= {Table(group, name) for name in versions}
        elif report.type_url == RDS:
            for table in self._current(group, versions, taken=True):
                self._taken(table)

    def _rejected(self, report: Rejected) -> None:
        group, versions = report.envoy.group, report.versions
        if report.type_url == SDS:
            for name, version in versions.items():
                self._refused_secret(Table(group, name), version, report.error)
        elif report.type_url == RDS:
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
        self._proven[table] = self._offered[table].number
        search = self._searches.get(table)
        if search is None:
            return
        if not search.groups:
            del self._searches[table]
            return
        search.tried = search.groups.pop()
        self._put((LetGo(search.tried),))

    def _refused(self, table: Table, words: str) -> None:
        search = self._searches.get(table)
        if search is None:
            self._begin(table, words)
        elif search.tried:
            self._hold_back(search.tried, words)
            search.groups += _halves(search.tried)
            search.tried = frozenset()
        else:  # those that were held back are not the ones, or not all of them
            del self._searches[table]
            self._begin(table, words)

    def _refused_secret(self, secret: Table, version: str, words: str) -> None:
        offered = self._snapshots.get(secret.group, NOTHING).entries[SDS].get(secret.name)
        owner = owner_of(secret.name)
        if owner.kind == "Secret" and secret not in self._shown and offered and offered.version == version:
            self._hold_back(frozenset((owner,)), words)

    def _hold_back(self, objects: frozenset[Ref], words: str) -> None:
        named = [str(each) for each in sorted(objects)]
        self._log.warning("held back, because an Envoy refuses it", objects=listed(named), error=words)
        self._put((HoldBack(objects, words),))

    def _begin(self, table: Table, words: str) -> None:
        offered, since = self._offered[table], self._proven.get(table, 0)
        body = offered.entry.resource.body
        suspects = frozenset(ref for ref in authors(body) if self._changed.get(ref, 0) > since)
        chosen = (suspects & blamed(body, words)) or suspects
        if chosen:
            self._searches[table] = Search(words, frozenset(), _halves(chosen))
            self._hold_back(chosen, words)


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
