"""What changed in what backends must prove, read from what is served before and after a batch, and in trust.

Costs what moved: a cluster or a trust that is the same object as before is not looked at, and endpoints never
are. All that is kept is which clusters go by which trust and by whose word, and when what is in use ends.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from msgspec import Struct

from legation.publish import Move, Moves
from translator.envoy.clusters import REFUSED
from translator.envoy.proofs import Proof, proof
from translator.envoy.resource import CLUSTER, SECRET, Resource
from translator.envoy.secrets import certificates_in, owner_of
from translator.memo import Rows, Table
from translator.names import Name, Ref
from translator.rules.certificates import Anchor, read_certificates
from translator.rules.creed import Basis, Creed, Grounds, believers, creed
from translator.translate import Resources
from translator.world import World

Named = Mapping[str, Mapping[str, Resource]]  # by type
Moved = Mapping[str, Move]
NOT_MOVED: Moved = MappingProxyType({})
ALL = "all"  # the one row of a table that is made for everything
K = TypeVar("K")
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
    """Roots that somebody's trust won and lost, and what it goes by if not by roots.

    Order, repetition and whitespace are no change.
    """

    owner: Ref
    added: tuple[Anchor, ...]
    removed: tuple[Anchor, ...]
    before: Basis = Basis.ROOTS
    after: Basis = Basis.ROOTS
    port: int | None = None  # of a Gateway that asks clients of one port for something else


class Used(NamedTuple):
    """An object whose trust, or whose certificate, a Gateway's Envoys go by or show."""

    gateway: str
    owner: Ref


class ProofChanges(Struct, frozen=True):
    """What one batch changed, and when the first certificate of everything in use ends, or has ended."""

    hops: tuple[HopChange, ...] = ()
    roots: tuple[RootsChange, ...] = ()
    ends: Mapping[Used, datetime] = MappingProxyType({})
    broken: Mapping[Ref, Exception] = MappingProxyType({})  # mistakes of ours, by whose trust it was


class Follower:
    """Compares each batch with the one before; the first is where it begins."""

    def __init__(self, world: World) -> None:
        """Begin without having seen anything."""
        self._world = world
        self._begun = False
        self._users: dict[tuple[str, str], set[str]] = {}  # clusters, by Gateway and trust
        self._believers: Table[frozenset[Ref]] = Table(world.memory, believers)
        self._creeds: Table[Creed] = Table(world.memory, creed)
        self._known: Mapping[Ref, Creed] = MappingProxyType({})
        self._ends = Ends()

    def take(self, moves: Moves, now: Mapping[Name, Resources]) -> ProofChanges:
        """Say what a batch changed."""
        reading = Reading()
        creeds = self._believed()
        roots, self._known = tuple(_roots(self._known, creeds)), creeds.values
        ends = self._ends.take(moves, creeds, reading)
        hops: list[HopChange] = []
        for gateway, moved in moves.items():
            self._follow(gateway, moved.get(CLUSTER, NOT_MOVED))
            if self._begun:
                served = now.get(Name.read(gateway), {})
                trusts = Trusts(moved.get(SECRET, NOT_MOVED), served.get(SECRET, {}), reading)
                hops += _hops(gateway, self._affected(gateway, moved, served), trusts)
        self._begun = True
        return ProofChanges(tuple(hops), roots, ends, creeds.broken)

    def _believed(self) -> Rows[Creed]:
        everybody = self._believers.keep(frozenset({ALL}), self._world).values.get(ALL, frozenset())
        return self._creeds.keep(everybody, self._world)

    def _follow(self, gateway: str, clusters: Moved) -> None:
        for name, move in clusters.items():
            for secret in move.before.secrets if move.before else ():
                _discard(self._users, (gateway, secret), name)
            for secret in move.after.secrets if move.after else ():
                self._users.setdefault((gateway, secret), set()).add(name)

    def _affected(self, gateway: str, moved: Mapping[str, Moved], served: Named) -> Moved:
        """Return the clusters that moved, and those that go by trust that did."""
        clusters = moved.get(CLUSTER, NOT_MOVED)
        swapped = (name for name, move in moved.get(SECRET, NOT_MOVED).items() if move.before and move.after)
        users = {user for name in swapped for user in self._users.get((gateway, name), ())}
        same = {name: made for name in sorted(users - clusters.keys()) if (made := served[CLUSTER].get(name))}
        return {**{name: Move(made, made) for name, made in same.items()}, **clusters}


class Ends:
    """When the first certificate ends, or has ended, of each object that a Gateway's Envoys go by."""

    def __init__(self) -> None:
        """Begin with nothing in use."""
        self._clusters: dict[Used, set[str]] = {}  # that go by the word of an object
        self._gateways: dict[Ref, set[str]] = {}  # where any does
        self._ends: Mapping[Used, datetime] = MappingProxyType({})

    def take(self, moves: Moves, creeds: Rows[Creed], reading: "Reading") -> Mapping[Used, datetime]:
        """Bring it up to date: roots by what is referred to, good or not; what is shown, as it is served."""
        due = {each for gateway, moved in moves.items() for each in self._moved(gateway, moved)}
        due |= {Used(gateway, owner) for owner in creeds.changed for gateway in self._where(owner)}
        news = {each: self._until(each, creeds) for each in due} | dict(_shown(moves, reading))
        if news:
            ends = dict(self._ends)
            for each, end in news.items():
                ends.pop(each, None)
                if end is not None:
                    ends[each] = end
            self._ends = ends
        return self._ends

    def _moved(self, gateway: str, moved: Mapping[str, Moved]) -> Iterator[Used]:
        """Take in by whose word clusters are that came or went, and name whose they are."""
        for name, move in moved.get(CLUSTER, NOT_MOVED).items():
            owner = believer_of(name)
            if owner is not None and (move.before is None) != (move.after is None):
                used = Used(gateway, owner)
                self._note(used, name) if move.after else self._let_go(used, name)
                yield used

    def _note(self, used: Used, cluster: str) -> None:
        self._clusters.setdefault(used, set()).add(cluster)
        self._gateways.setdefault(used.owner, set()).add(used.gateway)

    def _let_go(self, used: Used, cluster: str) -> None:
        _discard(self._clusters, used, cluster)
        if used not in self._clusters:
            _discard(self._gateways, used.owner, used.gateway)

    def _where(self, owner: Ref) -> Iterable[str]:
        return (str(owner.name),) if owner.kind == "Gateway" else self._gateways.get(owner, ())

    def _until(self, used: Used, creeds: Rows[Creed]) -> datetime | None:
        found = creeds.values.get(used.owner) if used.gateway in self._where(used.owner) else None
        return found.until if found else None


def _discard(sets: dict[K, set[str]], key: K, member: str) -> None:
    """Take a member out of a set, and the set away with its last one."""
    members = sets.get(key, set())
    members.discard(member)
    if not members:
        sets.pop(key, None)


def _shown(moves: Moves, reading: "Reading") -> Iterator[tuple[Used, datetime | None]]:
    """Say when certificates end that Envoys were just given to show, or that were taken from them."""
    for gateway, moved in moves.items():
        for name, move in moved.get(SECRET, NOT_MOVED).items():
            if name.startswith(SHOWN):
                chain = reading.anchors(certificates_in(move.after.body)) if move.after else {}
                until = min((each.until for each in chain.values()), default=None)
                yield Used(gateway, owner_of(name)), until


def _roots(before: Mapping[Ref, Creed], creeds: Rows[Creed]) -> Iterator[RootsChange]:
    """Compare what those go by who were known before, and still are."""
    for owner in sorted(creeds.changed & before.keys() & creeds.values.keys()):
        old, new = before[owner].grounds, creeds.values[owner].grounds
        for port in sorted(old.keys() | new.keys(), key=lambda port: port or 0):
            yield from _compared(owner, port, old.get(port, Grounds()), new.get(port, Grounds()))


def _compared(owner: Ref, port: int | None, old: Grounds, new: Grounds) -> Iterator[RootsChange]:
    had, has = ({each.fingerprint for each in grounds.roots} for grounds in (old, new))
    if (had, old.basis) != (has, new.basis):
        added = tuple(each for each in new.roots if each.fingerprint not in had)
        removed = tuple(each for each in old.roots if each.fingerprint not in has)
        yield RootsChange(owner, added, removed, old.basis, new.basis, port)


class Reading:
    """Certificates read once within a batch, however many trust the same ones."""

    def __init__(self) -> None:
        """Begin without having read anything."""
        self._read: dict[str, Mapping[str, Anchor]] = {}
        self._fingerprints: dict[str, tuple[str, ...]] = {}

    def anchors(self, pem: str) -> Mapping[str, Anchor]:
        """Return certificates by their fingerprints, in their order."""
        if pem not in self._read:
            self._read[pem] = {each.fingerprint: each for each in read_certificates(pem)}
        return self._read[pem]

    def fingerprints(self, pem: str) -> tuple[str, ...]:
        """Return them in order, the same to everybody: what a thousand hops prove may wait to be written."""
        if pem not in self._fingerprints:
            self._fingerprints[pem] = tuple(sorted(self.anchors(pem)))
        return self._fingerprints[pem]


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
        return self.reading.fingerprints(certificates_in(trust.body)) if trust else ()


def _hops(gateway: str, affected: Moved, trusts: Trusts) -> Iterator[HopChange]:
    """Pair what goes with what comes in its place, and leave out what proves the same as before."""
    places: dict[str, list[HopChange]] = {}
    for name, move in affected.items():
        if name != REFUSED:
            change = HopChange(gateway, name, trusts.before(move.before), trusts.after(move.after))
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


def believer_of(cluster: str) -> Ref | None:
    """Say by whose word TLS is opened, or refused, at a cluster: a policy's, or an XBackend's own."""
    place, _, terms = cluster.partition("+")
    if not terms:
        return None
    owner = owner_at(place)
    if owner.kind == "XBackend":
        return owner
    return Ref("BackendTLSPolicy", Name(owner.name.namespace, terms.partition("/")[0]))


def owner_at(place: str) -> Ref:
    """Name the object of a backend: `shop/pay:8443`, `XBackend/shop/pay:8443`."""
    *kind, namespace, name = place.partition(":")[0].split("/")
    return Ref(kind[0] if kind else "Service", Name(namespace, name))
