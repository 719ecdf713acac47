"""What happened lately, the oldest first, so that forgetting costs what is forgotten."""

from collections.abc import Iterator
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lately(Generic[K, V]):
    """Values by key, each kept for some seconds after it was noted last."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._noted: dict[K, tuple[V, float]] = {}  # by when, for the newest stand last

    def __bool__(self) -> bool:
        """Whether anything was noted that is not forgotten."""
        return bool(self._noted)

    def __contains__(self, key: K) -> bool:
        """Whether a key was noted and is not forgotten."""
        return key in self._noted

    def __iter__(self) -> Iterator[K]:
        """Every key, the oldest first."""
        return iter(self._noted)

    def get(self, key: K) -> V | None:
        """What was noted, if that is not forgotten."""
        value, _ = self._noted.get(key, (None, 0.0))
        return value

    def note(self, key: K, value: V, now: float) -> None:
        """Keep a value from now on."""
        self._noted.pop(key, None)
        self._noted[key] = value, now

    def drop(self, key: K) -> None:
        """Forget a key at once."""
        self._noted.pop(key, None)

    def forget(self, now: float) -> list[K]:
        """Forget what is over, and name it."""
        over: list[K] = []
        for key, (_, since) in self._noted.items():
            if since + self._seconds > now:
                break
            over.append(key)
        for key in over:
            del self._noted[key]
        return over
