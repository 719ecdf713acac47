"""What a peer needs for a whole shop, and for one change of each kind that it can make."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import median
from typing import NamedTuple

from bench.peers.changes import COMING_AND_GOING, IN_PLACE, TURNS, Kind
from bench.peers.shop import Size, manifests
from bench.peers.side import Memory, Peer, Side, Took, running

WARM = Size(1, 1)  # whatever is made once is made for a shop of this size


class Run(NamedTuple):
    """What one process took; of several, the median of each figure."""

    build: Took
    changes: Mapping[str, Took]
    memory: Memory  # after changes of what was there


def run(peer: Peer, size: Size) -> Run:
    """Measure a process of its own."""
    with running(peer) as side:
        build = built(side, peer, size)
        changes = dict(_turns(side, size, IN_PLACE))
        memory = side.memory()  # before anything comes that some of them make much more of than others
        possible = {name: kind for name, kind in COMING_AND_GOING.items() if peer.can(kind, size)}
        return Run(build, {**changes, **dict(_turns(side, size, possible))}, memory)


def _turns(side: Side, size: Size, kinds: Mapping[str, Kind]) -> Iterator[tuple[str, Took]]:
    for name, kind in kinds.items():
        took = []
        for turn in range(1, TURNS + 1):
            side.tell(kind.make(turn, size))
            took.append(side.translate())
        yield name, _middle(took)


def built(side: Side, peer: Peer, size: Size) -> Took:
    """Have a whole shop translated, as after a start."""
    side.put(manifests(WARM, peer.controller))
    side.translate()
    side.begin()
    side.put(manifests(size, peer.controller))
    return side.translate()


def typical(runs: Iterable[Run]) -> Run:
    """Take the median of each figure."""
    builds, changes, memories = zip(*runs, strict=True)
    now, peak = (int(median(each)) for each in zip(*memories, strict=True))
    return Run(
        _middle(builds),
        {name: _middle(each[name] for each in changes) for name in changes[0]},
        Memory(now, peak),
    )


def _middle(took: Iterable[Took]) -> Took:
    processor, wall = zip(*((each.processor, each.wall) for each in took), strict=True)
    return Took(median(processor), median(wall))
