"""Who may open a stream, for which group, and how much it may ask for."""

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

GATEWAY = re.compile(r"[^/\s]+/[^/\s]+")
LONGEST_CLAIM = 512


class Node(Struct, frozen=True):
    """What an Envoy says of itself in its first request: claims, no proof."""

    id: str
    cluster: str

    @property
    def is_readable(self) -> bool:
        """Whether people can be shown it: logs, terminals and metrics take it as it is."""
        claims = (self.id, self.cluster)
        return all(claim.isprintable() and len(claim) <= LONGEST_CLAIM for claim in claims)


class Peer(Struct, frozen=True):
    """What the transport knows of the other end, certificates included."""

    address: str
    proofs: Mapping[str, Sequence[bytes]] = {}


class Refusal(Struct, frozen=True):
    """Why a peer gets nothing."""

    reason: str


GroupOf = Callable[[Node, Peer], str | Refusal]


def claimed_group(node: Node, _peer: Peer) -> str | Refusal:
    """Believe `node.cluster = NAMESPACE/GATEWAY`: right only where the transport admits nobody else."""
    if GATEWAY.fullmatch(node.cluster):
        return node.cluster
    return Refusal("node.cluster must be NAMESPACE/GATEWAY")


class Limits(Struct, frozen=True):
    """What one stream and one group may ask for before it is turned away."""

    names: int = 50_000
    letters: int = 32 << 20  # of all its names; Kubernetes makes none that is longer than a few hundred
    strange: int = 64 << 20  # bytes that a group may have us keep for names that it is not offered
    streams: int = 4_000
    requests_per_second: float = 5_000.0
    burst: float = 20_000.0


class Allowance:
    """The requests a group may still make now; it fills with time."""

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._left = limits.burst
        self._at = now

    def take(self, now: float) -> bool:
        """Whether one more request is within the limit."""
        earned = (now - self._at) * self._limits.requests_per_second
        self._left, self._at = min(self._limits.burst, self._left + earned), now
        if self._left < 1:
            return False
        self._left -= 1
        return True
