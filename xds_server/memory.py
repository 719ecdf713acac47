"""What the Envoys of one group last accepted, kept a little longer than it is offered, and may wait for."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from xds_server.lately import Lately
from xds_server.snapshot import CDS, EDS, LDS, Entry, Snapshot

KEPT_AFTER_REMOVAL = 60.0  # longer than a reconnection and the waits that follow it
YOUNG = 60.0  # longer than it takes until an Envoy has what is new, and has lost its stream and come back
PARENTS = frozenset({CDS, LDS})
NEEDED_AFTER_REMOVAL = frozenset({CDS, EDS})  # never secrets: what is withdrawn is not served again


class Memory:
    """The last good entries: a fallback for what is refused, and for clients that come back."""

    def __init__(self) -> None:
        self._good: dict[tuple[str, str], Entry] = {}
        self._offered: Snapshot | None = None
        self._gone: Lately[tuple[str, str], None] = Lately(KEPT_AFTER_REMOVAL)
        self._awaited: Lately[tuple[str, str], None] = Lately(YOUNG)  # by what has changed
        self._emptied: Lately[str, Entry] = Lately(KEPT_AFTER_REMOVAL)  # endpoints as they were
        self._missing: Lately[tuple[str, str], frozenset[str]] = Lately(KEPT_AFTER_REMOVAL)  # in full sets
        self._now = 0.0  # when the offer was changed last

    def accept(self, entries: Iterable[Entry]) -> None:
        """Some Envoy of the group took these."""
        for entry in entries:
            key = (entry.type_url, entry.name)
            if key in self._gone or (self._offered and self._offered.find(*key)):
                self._good[key] = entry

    def good(self, type_url: str, name: str) -> Entry | None:
        """The last version that any Envoy of the group took."""
        return self._good.get((type_url, name))

    def follow(self, snapshot: Snapshot, changed: Mapping[str, Iterable[str]], now: float) -> None:
        """Note what has left the offer and what is new in it, and let go of what was so long ago."""
        self._note_awaited(snapshot, changed, now)
        self._note_emptied(snapshot, changed.get(EDS, ()), now)
        self._offered, self._now = snapshot, now
        for type_url, names in changed.items():
            for name in names:
                if snapshot.find(type_url, name) is None:
                    self._gone.note((type_url, name), None, now)
                else:
                    self._gone.drop((type_url, name))
        for key in self._gone.forget(now):
            self._good.pop(key, None)
        self._missing.forget(now)

    def _note_awaited(self, snapshot: Snapshot, changed: Mapping[str, Iterable[str]], now: float) -> None:
        """Take nothing of a first offer for new: it may be that of a server that came again.

        What changes counts as it was, too: who refuses what it is now stays with that, or is given it.
        """
        if self._offered is None:
            return
        for key in [(type_url, name) for type_url in PARENTS for name in changed.get(type_url, ())]:
            for parent in (self.good(*key), self._offered.find(*key), snapshot.find(*key)):
                for child in parent.resource.children if parent else ():
                    self._awaited.note(child, None, now)
        self._awaited.forget(now)

    def _note_emptied(self, snapshot: Snapshot, names: Iterable[str], now: float) -> None:
        self._emptied.forget(now)
        offered = self._offered.entries[EDS] if self._offered else {}
        for name in names:
            before, after = offered.get(name), snapshot.entries[EDS].get(name)
            if before is not None and not before.leads_to_nobody and (after is None or after.leads_to_nobody):
                self._emptied.note(name, before, now)

    def before_emptied(self, name: str) -> Entry | None:
        """Endpoints as they were before there were none, if that is not long ago."""
        return self._emptied.get(name)

    def awaited(self, type_url: str, now: float) -> frozenset[str]:
        """Name what clusters or listeners that changed lately may wait for where a stream ended."""
        self._awaited.forget(now)
        return frozenset(name for kind, name in self._awaited if kind == type_url)

    def sent(self, type_url: str, version: str, names: AbstractSet[str]) -> None:
        """Note what is missing in a full set: who comes back with its version has let go of that."""
        missing = frozenset(name for kind, name in self._gone if kind == type_url and name not in names)
        self._missing.note((type_url, version), missing, self._now)

    def left_behind(self, type_url: str, version: str) -> dict[str, Entry]:
        """Removed clusters and endpoints that the routes of a returning client may still need."""
        if type_url not in NEEDED_AFTER_REMOVAL:
            return {}
        missing = self._missing.get((type_url, version)) or frozenset()
        gone = [key for key in self._gone if key[0] == type_url and key in self._good]
        return {key[1]: self._good[key] for key in gone if key[1] not in missing}
