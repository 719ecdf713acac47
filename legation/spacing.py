"""How far apart writes of one thing are: further each time while it keeps changing, near again after a rest.

A Gateway counts its routes: while a thousand of them attach, it would be written ten times a second.
"""

from collections.abc import Hashable
from math import inf
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)

NEAREST, FURTHEST = 0.1, 2.0  # seconds


class _Last(NamedTuple):
    """The newest write."""

    when: float
    apart: float  # how long until there may be another


_NEVER = _Last(-inf, NEAREST)


class Spacing(Generic[K]):
    """When each thing was written last, and when it may be written again."""

    def __init__(self) -> None:
        """Begin with nothing written."""
        self._last: dict[K, _Last] = {}

    def wrote(self, name: K, now: float) -> None:
        """Note a write; who rested for as long as the furthest writes are apart begins anew."""
        when, apart = self._last.get(name, _NEVER)
        goes_on = now - when <= apart + FURTHEST
        self._last[name] = _Last(now, min(2 * apart, FURTHEST) if goes_on else NEAREST)

    def left(self, name: K, now: float) -> float:
        """Say how long a thing has to wait still; nothing if it was not written lately."""
        when, apart = self._last.get(name, _NEVER)
        return max(0.0, when + apart - now)

    def forget(self, name: K) -> None:
        """Let go of what is gone."""
        self._last.pop(name, None)
