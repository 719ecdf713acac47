"""Which names of one type a client wants on one stream, in both variants of the protocol."""

from collections.abc import Iterable

from msgspec import Struct

from xds_server.snapshot import CDS, LDS

EVERYTHING = "*"
WILDCARD_TYPES = frozenset({CDS, LDS})  # never secrets or endpoints: nobody may ask for all of them


class Amendment(Struct, frozen=True):
    """What a request changed: names to deliver although nothing changed, and names to forget."""

    deliver: frozenset[str] = frozenset()
    forget: frozenset[str] = frozenset()
    everything_began: bool = False
    everything_ended: bool = False


class Subscription:
    """The names, and the wildcard, which only the first request can mean by saying nothing."""

    def __init__(self, type_url: str) -> None:
        self._may_be_wild = type_url in WILDCARD_TYPES
        self._asked = False
        self._named_once = False
        self.wildcard = False
        self.names: frozenset[str] = frozenset()
        self.letters = 0  # of all names

    def wants(self, name: str) -> bool:
        """Whether a change of this name concerns the client."""
        return self.wildcard or name in self.names

    def among(self, names: Iterable[str]) -> frozenset[str]:
        """Choose those of which changes concern the client."""
        return frozenset(names) if self.wildcard else self.names.intersection(names)

    def replace(self, names: Iterable[str]) -> Amendment:
        """State of the world: the list is the subscription; empty means all only before any name."""
        given = frozenset(names)
        self._named_once |= bool(given)
        wild = self._may_be_wild and (EVERYTHING in given or not self._named_once)
        return self._become(self._plain(given), wildcard=wild)

    def amend(self, subscribe: tuple[str, ...], unsubscribe: tuple[str, ...]) -> Amendment:
        """Delta: names come and go; one named again is delivered again."""
        first, self._asked = not self._asked, True
        wild = self.wildcard or (first and not subscribe)
        wild = (wild and EVERYTHING not in unsubscribe) or EVERYTHING in subscribe
        left, added = self._plain(unsubscribe), self._plain(subscribe)
        released = left & self.names
        amendment = self._become(self.names - left | added, wildcard=wild and self._may_be_wild)
        return Amendment(
            deliver=added | released if self.wildcard else added,
            forget=amendment.forget,
            everything_began=amendment.everything_began,
            everything_ended=amendment.everything_ended,
        )

    def _plain(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(names) - {EVERYTHING} if self._may_be_wild else frozenset(names)

    def _become(self, names: frozenset[str], *, wildcard: bool) -> Amendment:
        before, was_wild = self.names, self.wildcard
        added, left = names - before, before - names
        self.names, self.wildcard = names, wildcard
        self.letters += sum(map(len, added)) - sum(map(len, left))
        return Amendment(
            deliver=added,
            forget=frozenset() if wildcard else left,
            everything_began=wildcard and not was_wild,
            everything_ended=was_wild and not wildcard,
        )
