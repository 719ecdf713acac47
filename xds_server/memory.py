"""What the Envoys of one group last accepted, kept a little longer than it is offered."""

from collections.abc import Iterable, Mapping

from xds_server.snapshot import CDS, EDS, Entry, Snapshot

KEPT_AFTER_REMOVAL = 60.0  # longer than a reconnection and the waits that follow it
NEEDED_AFTER_REMOVAL = frozenset({CDS, EDS})  # never secrets: what is withdrawn is not served again


class Memory:
    """The last good entries: a fallback for what is refused, and for clients that come back."""

    def __init__(self) -> None:
        self._good: dict[tuple[str, str], Entry] = {}
        self._offered: Snapshot | None = None
        self._gone_at: dict[tuple[str, str], float] = {}

    def accept(self, entries: Iterable[Entry]) -> None:
        """Some Envoy of the group took these."""
        for entry in entries:
            key = (entry.type_url, entry.name)
            if key in self._gone_at or (self._offered and self._offered.find(*key)):
                self._good[key] = entry

    def good(self, type_url: str, name: str) -> Entry | None:
        """The last version that any Envoy of the group took."""
        return self._good.get((type_url, name))

    def follow(self, snapshot: Snapshot, changed: Mapping[str, Iterable[str]], now: float) -> None:
        """Note what has left the offer, and let go of what left it long ago."""
        self._offered = snapshot
        for key in [(type_url, name) for type_url, names in changed.items() for name in names]:
            if snapshot.find(*key) is None:
                self._gone_at[key] = now
            else:
                self._gone_at.pop(key, None)
        for key in [key for key, at in self._gone_at.items() if at + KEPT_AFTER_REMOVAL <= now]:
            del self._gone_at[key]
            self._good.pop(key, None)

    def left_behind(self, type_url: str) -> dict[str, Entry]:
        """Removed clusters and endpoints that the routes of a returning client may still need."""
        if type_url not in NEEDED_AFTER_REMOVAL:
            return {}
        gone = [key for key in self._gone_at if key[0] == type_url and key in self._good]
        return {key[1]: self._good[key] for key in gone}
