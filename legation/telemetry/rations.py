"""How much may be told: a little at once, then as much as people read; no namespace uses up another's."""

from msgspec import Struct


class Ration(Struct, frozen=True):
    """So many at once, and then one more every so many seconds."""

    at_once: int
    every: float


class Bucket:
    """What is left of one ration."""

    def __init__(self, ration: Ration, now: float) -> None:
        """Begin with all of it."""
        self._ration = ration
        self._left = float(ration.at_once)
        self._at = now

    def left(self, now: float) -> float:
        """Say how many are allowed by now."""
        self._left = min(self._ration.at_once, self._left + (now - self._at) / self._ration.every)
        self._at = now
        return self._left

    def take(self) -> None:
        """Use up one."""
        self._left -= 1

    def is_full(self, now: float) -> bool:
        """Say whether nothing was used of late."""
        return self.left(now) >= self._ration.at_once


class Rations:
    """One ration for each namespace, and one for all of them together."""

    def __init__(self, each: Ration, together: Ration, now: float) -> None:
        """Begin with nothing used."""
        self._each = each
        self._together = Bucket(together, now)
        self._buckets: dict[str, Bucket] = {}

    def allow(self, namespace: str, now: float) -> bool:
        """Use up one of a namespace's, if there is one left of its own and of the common ones."""
        if self._together.left(now) < 1:
            return False
        bucket = self._buckets.get(namespace)
        if bucket is None:
            self._tidy(now)
            bucket = self._buckets[namespace] = Bucket(self._each, now)
        if bucket.left(now) < 1:
            return False
        bucket.take()
        self._together.take()
        return True

    def __len__(self) -> int:
        """Say of how many namespaces there is something to remember."""
        return len(self._buckets)

    def _tidy(self, now: float) -> None:
        """Forget namespaces that were quiet; of those that were not, the common ration bounds the number."""
        for quiet in [each for each, bucket in self._buckets.items() if bucket.is_full(now)]:
            del self._buckets[quiet]
