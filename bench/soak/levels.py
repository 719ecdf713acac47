"""How much a process holds, round by round, and whether that stays as it is."""

from collections.abc import Sequence
from itertools import combinations
from statistics import median
from types import MappingProxyType
from typing import NamedTuple


class Levels(NamedTuple):
    """What it holds after one round, when everything that came in it is gone."""

    memory: int  # bytes that are resident
    blocks: int  # that Python's own allocator has given out
    files: int
    threads: int
    tasks: int
    results: int  # of rules, that are remembered
    series: int  # that Prometheus is told of
    circles: int  # of objects that would have stayed for ever, although nothing else refers to them


class Growth(NamedTuple):
    """By how much something rose over all rounds that were looked at, and by how much it may."""

    what: str
    level: float
    grown: float
    allowed: float

    @property
    def is_flat(self) -> bool:
        """Whether it is no more than what comes and goes by chance."""
        return self.grown <= self.allowed


# Shares of the level: the allocator of C gives little back, and what is young and in a circle waits a while.
SHARES = MappingProxyType({"memory": 0.03, "blocks": 0.01})
# What is counted may not rise by one, but for series: a histogram may be told of for the first time.
COUNTS = MappingProxyType({"series": 20.0})
NONE = 0.5
# Of an Envoy that comes while much is made, gRPC leaves five small objects; a stream of ours is hundreds.
EACH_ENVOY = MappingProxyType({"circles": 5})


def growth(rounds: Sequence[Levels], visitors: int) -> list[Growth]:
    """Judge each level by its slope, which a few odd rounds do not bend; so many Envoys come in each."""
    found = []
    for what, values in zip(Levels._fields, zip(*rounds, strict=True), strict=True):
        level = median(values)
        allowed = level * SHARES[what] if what in SHARES else COUNTS.get(what, NONE)
        allowed += EACH_ENVOY.get(what, 0) * visitors * len(rounds)
        found.append(Growth(what, level, slope(values) * len(values), allowed))
    return found


def slope(values: Sequence[float]) -> float:
    """Return by how much values rise from one to the next: the median of what each two of them say."""
    pairs = combinations(enumerate(values), 2)
    return median((later - earlier) / (there - here) for (here, earlier), (there, later) in pairs)
