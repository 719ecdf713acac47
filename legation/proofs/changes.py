"""What changed in what backends must prove, read from what is served before and after a batch.

Costs what moved: a cluster or a trust that is the same object as before is not looked at, and endpoints never
are. All that is kept is which clusters go by which trust, and when what is served ends.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from legation.publish import Move, Moves
from translator.envoy.clusters import REFUSED
from translator.envoy.proofs import Proof, proof
from translator.envoy.resource import CLUSTER, SECRET, Resource
from translator.envoy.secrets import certificates_in, owner_of
from translator.names import Name, Ref
from translator.rules.certificates import Anchor, read_certificates
from translator.translate import Resources

Named = Mapping[str, Mapping[str, Resource]]  # by type
Moved = Mapping[str, Move]
NOT_MOVED: Moved = MappingProxyType({})
SHOWN = "certificate/"  # what is shown to others begins so, and proves nothing to us


class Proved(NamedTuple):
    """What one way to a backend proves, and the fingerprints of the roots that prove it."""

    proof: Proof
    fingerprints: tuple[str, ...]


class HopChange(NamedTuple):
    """One way from a Gateway to a backend, before and after; None where there was or is none."""

    gateway: str
    cluster: str
    before: Proved | None
    after: Proved | None


class RootsChange(Struct, frozen=True):
    """Certificates that somebody's trust won and lost; order, repetition and whitespace are no change."""

    owner: Ref
    added: tuple[Anchor, ...]
    removed: tuple[Anchor, ...]


class Served(NamedTuple):
    """A certificate or a trust that a Gateway's Envoys are served, by its name there."""

    gateway: str
    name: str


class ProofChanges(Struct, frozen=True):
    """What one batch changed, and when the first certificate of everything that is served ends."""

    hops: tuple[HopChange, ...] = ()
    roots: tuple[RootsChange, ...] = ()
    ends: Mapping[Served, datetime] = MappingProxyType({})


class Follower:
    """Compares each batch with the one before; the first is where it begins."""

    def __init__(self) -> None:
        """Begin without having seen anything."""
        self._begun = False
        self._users: dict[tuple[str, str], set[str]] = {}  # clusters, by Gateway and trust
        self._ends: Mapping[Served, datetime] = MappingProxyType({})
        self._lost: dict[str, str] = {}  # trust that no cluster goes by for a while, as where none was good

    def take(self, moves: Moves, now: Mapping[Name, Resources]) -> ProofChanges:
        """Say what a batch changed."""
        reading = Reading()
        hops: list[HopChange] = []
        for gateway, moved in moves.items():
            self._follow(gateway, moved.get(CLUSTER, NOT_MOVED))
            if self._begun:
                served = now.get(_name(gateway), {})
                trusts = Trusts(moved.get(SECRET, NOT_MOVED), served.get(SECRET, {}), reading)
                hops += _hops(gateway, self._affected(gateway, moved, served), trusts)
        self._ends = _ends(self._ends, moves, reading)
        roots = tuple(self._roots(moves, reading))
        begun, self._begun = self._begun, True
        return ProofChanges(tuple(hops), roots if begun else (), self._ends)

    def forget(self, owners: Collection[Ref]) -> None:
        """Let go of what objects trusted that are gone."""
        for name in [each for each in self._lost if owner_of(each) in owners] if owners else ():
            del self._lost[name]

    def _follow(self, gateway: str, clusters: Moved) -> None:
        for name, (before, after) in clusters.items():
            for secret in before.secrets if before else ():
                self._let_go(gateway, secret, name)
            for secret in after.secrets if after else ():
                self._users.setdefault((gateway, secret), set()).add(name)

    def _affected(self, gateway: str, moved: Mapping[str, Moved], served: Named) -> Moved:
        """Return the clusters that moved, and those that go by trust that did."""
        clusters = moved.get(CLUSTER, NOT_MOVED)
        swapped = (name for name, move in moved.get(SECRET, NOT_MOVED).items() if move.before and move.after)
        users = {user for name in swapped for user in self._users.get((gateway, name), ())}
        same = {name: made for name in sorted(users - clusters.keys()) if (made := served[CLUSTER].get(name))}
        return {**{name: Move(made, made) for name, made in same.items()}, **clusters}

    def _let_go(self, gateway: str, secret: str, cluster: str) -> None:
        users = self._users.get((gateway, secret), set())
        users.discard(cluster)
        if not users:
            self._users.pop((gateway, secret), None)

    def _roots(self, moves: Moves, reading: "Reading") -> Iterator[RootsChange]:
        """Compare each trust once, however many Gateways serve it."""
        seen: dict[str, Move] = {}
        for moved in moves.values():
            for name, move in moved.get(SECRET, NOT_MOVED).items():
                if not name.startswith(SHOWN):
                    other = seen.get(name, move)
                    seen[name] = Move(move.before or other.before, move.after or other.after)
        for name, move in sorted(seen.items()):
            lost = self._lost.pop(name, "")
            before = certificates_in(move.before.body) if move.before else lost
            if move.after is None:
                self._lost[name] = before
            elif before and (change := reading.compared(name, before, certificates_in(move.after.body))):
                yield change


class Reading:
    """Certificates read once within a batch, however many trust the same ones."""

    def __init__(self) -> None:
        """Begin without having read anything."""
        self._read: dict[str, Mapping[str, Anchor]] = {}

    def anchors(self, pem: str) -> Mapping[str, Anchor]:
        """Return certificates by their fingerprints, in their order."""
        if pem not in self._read:
            self._read[pem] = {each.fingerprint: each for each in read_certificates(pem)}
        return self._read[pem]

    def compared(self, name: str, before: str, after: str) -> RootsChange | None:
        """Return what a trust won and lost, if it did."""
        old, new = self.anchors(before), self.anchors(after)
        if old.keys() == new.keys():
            return None
        return RootsChange(
            owner_of(name),
            tuple(new[each] for each in new if each not in old),
            tuple(old[each] for each in old if each not in new),
        )


class Trusts(NamedTuple):
    """The trust of one Gateway: what moved of it, and all of it as it is now."""

    moved: Moved
    served: Mapping[str, Resource]
    reading: Reading

    def before(self, made: Resource | None) -> Proved | None:
        """Say what a cluster proved with the trust of the batch before."""
        if made is None:
            return None
        found = proof(made.body)
        move = self.moved.get(found.roots)
        return Proved(found, self._fingerprints(move.before if move else self.served.get(found.roots)))

    def after(self, made: Resource | None) -> Proved | None:
        """Say what a cluster proves now."""
        if made is None:
            return None
        found = proof(made.body)
        return Proved(found, self._fingerprints(self.served.get(found.roots)))

    def _fingerprints(self, trust: Resource | None) -> tuple[str, ...]:
        """Return those of roots; the roots of Envoy's own machine are not known here."""
        return tuple(sorted(self.reading.anchors(certificates_in(trust.body)))) if trust else ()


def _hops(gateway: str, affected: Moved, trusts: Trusts) -> Iterator[HopChange]:
    """Pair what goes with what comes in its place, and leave out what proves the same as before."""
    places: dict[str, list[HopChange]] = {}
    for name, (before, after) in affected.items():
        if name != REFUSED:
            change = HopChange(gateway, name, trusts.before(before), trusts.after(after))
            places.setdefault(place_of(name), []).append(change)
    for found in places.values():
        yield from (each for each in _paired(found) if each.before != each.after)


def _paired(found: list[HopChange]) -> Iterable[HopChange]:
    """Join one cluster that goes and one that comes: a policy is part of the name."""
    gone = [each for each in found if each.after is None]
    new = [each for each in found if each.before is None]
    if len(gone) == len(new) == 1:
        rest = [each for each in found if each not in (*gone, *new)]
        return (*rest, new[0]._replace(before=gone[0].before))
    return found


def place_of(cluster: str) -> str:
    """Return what a cluster leads to, whatever is proved there."""
    return cluster.partition("+")[0]


def _ends(known: Mapping[Served, datetime], moves: Moves, reading: Reading) -> Mapping[Served, datetime]:
    """Bring up to date when the first certificate of each served thing ends."""
    news = {
        (gateway, name): move.after
        for gateway, moved in moves.items()
        for name, move in moved.get(SECRET, NOT_MOVED).items()
    }
    if not news:
        return known
    ends = dict(known)
    for (gateway, name), made in news.items():
        anchors = reading.anchors(certificates_in(made.body)) if made else {}
        served = Served(gateway, name)
        ends.pop(served, None)
        if anchors:
            ends[served] = min(each.until for each in anchors.values())
    return ends


def _name(gateway: str) -> Name:
    return Name(*gateway.split("/", 1))
