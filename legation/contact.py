"""How the contact with the API server stands, kind by kind, and what is out of date because it is lost."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

from k8s_watch.answers import Failed


class Watching(Protocol):
    """What is asked of an informer, of whatever kind."""

    @property
    def failures(self) -> Mapping[int, int]:
        """Requests that came to nothing, by their codes."""

    @property
    def heard(self) -> float:
        """When the server last said anything, by the event loop's clock."""

    @property
    def changed(self) -> float:
        """When a change was last told, by the same clock."""

    @property
    def held(self) -> int:
        """Objects that are there."""

    @property
    def told(self) -> int:
        """Changes so far."""

    @property
    def lists(self) -> int:
        """Lists that were begun so far."""


class Stale(Struct, frozen=True):
    """What is known of a kind may be out of date: for how long, and what stands in the way."""

    kind: str
    seconds: float
    why: str

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.kind} for {self.seconds:.0f} s ({self.why})"


class Contact(Struct, frozen=True):
    """What an informer has seen so far; times are seconds ago, and infinite for what never happened."""

    kind: str
    objects: int
    lists: int
    changes: int
    failures: Mapping[int, int]  # by HTTP's code, or 0 where there was no answer
    heard: float
    changed: float
    why: str  # nothing newer is heard, if anything stands in the way
    lacking: float = 0.0  # for how long some of it cannot be had, or not be relied on

    @property
    def stale(self) -> Stale | None:
        """Say what is out of date, if that may be."""
        return Stale(self.kind, round(self.behind, 1), self.why) if self.why else None

    @property
    def behind(self) -> float:
        """Say for how long it may be out of date, if anything stands in the way."""
        return max(self.heard, self.lacking)


def contact(kind: str, informer: Watching, failure: Failed | None, now: float) -> Contact:
    """Look at an informer, and at what stands in its way; the time is the event loop's."""
    return Contact(
        kind=kind,
        objects=informer.held,
        lists=informer.lists,
        changes=informer.told,
        failures=informer.failures,
        heard=now - informer.heard,
        changed=now - informer.changed,
        why="" if failure is None else str(failure),
    )
