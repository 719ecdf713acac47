"""What a peer needs for a whole shop, and for one change of each kind."""

from collections.abc import Iterable, Mapping
from statistics import median
from typing import NamedTuple

from bench.peers.shop import CHANGES, Size, manifests
from bench.peers.side import Memory, Peer, Side, Took, running

TURNS = 3  # of each kind of change
WARM = Size(1, 1)  # whatever is made once is made for a shop of this size


class Run(NamedTuple):
    """What one process took; of several, the median of each figure."""

    build: Took
    changes: Mapping[str, Took]
    memory: Memory


def run(peer: Peer, size: Size) -> Run:
    """Measure a process of its own."""
    with running(peer) as side:
        build = built(side, peer, size)
        changes = {}
        for name, change in CHANGES.items():
            took = []
            for turn in range(1, TURNS + 1):
                side.put([change(turn, size)])
                took.append(side.translate())
            changes[name] = _middle(took)
        return Run(build, changes, side.memory())


def built(side: Side, peer: Peer, size: Size) -> Took:
    """Have a whole shop translated."""
    side.put(manifests(WARM, peer.controller))
    side.translate()
    side.put(manifests(size, peer.controller))
    return side.translate()


def typical(runs: Iterable[Run]) -> Run:
    """Take the median of each figure."""
    builds, changes, memories = zip(*runs, strict=True)
    now, peak = (int(median(each)) for each in zip(*memories, strict=True))
    return Run(
        _middle(builds),
        {name: _middle(each[name] for each in changes) for name in CHANGES},
        Memory(now, peak),
    )


def _middle(took: Iterable[Took]) -> Took:
    processor, wall = zip(*((each.processor, each.wall) for each in took), strict=True)
    return Took(median(processor), median(wall))
