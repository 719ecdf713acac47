"""What proves each backend: every way that Envoys are served to one, unverified and weakened ones first."""

from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from legation.turns import give_way, pieces
from translator.envoy.clusters import REFUSED
from translator.envoy.proofs import WORST_FIRST, Grade, Proof, is_weak, proof
from xds_server.snapshot import CDS, Snapshot

WEAK = frozenset({Grade.UNVERIFIED, Grade.ANY_NAME})
BARE = frozenset({Grade.CLEARTEXT, Grade.RELAYED})
_BY_GRADE = MappingProxyType({
    Grade.CLEARTEXT: "cleartext: no policy asks for TLS",
    Grade.RELAYED: "as clients send it: no policy asks for TLS",
    Grade.REFUSED: "refused: nothing is sent",
})  # fmt: skip


class Hop(Struct, frozen=True, gc=False, rename="camel"):
    """One way from a Gateway to a backend, and what proves that it is the right one."""

    gateway: str
    cluster: str
    proof: Proof

    @property
    def is_weak(self) -> bool:
        """Tell whether less is proved than a policy asks for by itself."""
        return self.proof.grade in WEAK

    @property
    def words(self) -> str:
        """Say what proves the backend."""
        return _words(self.proof)


def audited(snapshots: Mapping[str, Snapshot]) -> tuple[Hop, ...]:
    """Return every hop of every Gateway, the worst first."""
    hops = [
        Hop(group, name, proof(entry.resource.body))
        for group, snapshot in snapshots.items()
        for name, entry in snapshot.entries[CDS].items()
        if name != REFUSED
    ]
    return tuple(sorted(hops, key=_rank))


def degraded(snapshots: Mapping[str, Snapshot]) -> Counter[tuple[str, str]]:
    """Count weak hops by Gateway and by who asks for it; names tell which clusters have to be read at all."""
    counted = Counter[tuple[str, str]]()
    for group, snapshot in snapshots.items():
        give_way()
        for name, entry in snapshot.entries[CDS].items():
            if is_weak(name) and (found := proof(entry.resource.body)).grade in WEAK:
                counted[group, found.policy or found.backend] += 1
    return counted


def as_json(hops: tuple[Hop, ...]) -> bytes:
    """Write it for machines."""
    return msgspec.json.encode(pieces(hops))


def read_hops(written: bytes) -> tuple[Hop, ...]:
    """Read what a running process answered."""
    return msgspec.json.decode(written, type=tuple[Hop, ...])


def _rank(hop: Hop) -> tuple[int, str, str]:
    return WORST_FIRST.index(hop.proof.grade), hop.gateway, hop.cluster


def _words(found: Proof) -> str:
    return _BY_GRADE.get(found.grade) or f"TLS, {' and '.join(_proofs(found)) or 'proved by nothing'}"


def _proofs(found: Proof) -> Iterator[str]:
    if found.roots:
        yield f"{' or '.join(found.names) or 'any name'} proved by {found.roots}"
    if found.pins:
        yield f"one of {found.pins} pins" if found.pins > 1 else "its only pin"
