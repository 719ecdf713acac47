"""Hostnames: which one covers which, what two have in common, and which of several comes first.

A name is exact, or `*.` and a suffix that covers everything below it, or `*`, which covers all and is what an
absent hostname is read as.
"""

from collections.abc import Iterable, Iterator

from translator.objects.scalars import HOSTNAME
from translator.verdict import Refused, listed

EVERY = "*"


def strange(field: str, names: Iterable[str]) -> Refused | None:
    """Refuse what is no name of a host: Envoy refuses a whole listener for one, or a whole route table."""
    for name in names:
        if not HOSTNAME.fullmatch(name):
            wrong = f"{field}: {listed([name]) or '``'} is no name such as example.com or *.example.com"
            return Refused("UnsupportedValue", wrong)
    return None


def covers(wide: str, name: str) -> bool:
    """Say whether all that `name` stands for is also what `wide` stands for."""
    if wide in (EVERY, name):
        return True
    return wide.startswith("*.") and name.endswith(wide[1:]) and len(name) > len(wide) - 1


def intersection(one: str, other: str) -> str | None:
    """Return the narrower of two names where one covers the other, else None."""
    if covers(one, other):
        return other
    return one if covers(other, one) else None


def wider(name: str) -> Iterator[str]:
    """Name a hostname itself and every wildcard that covers it, the narrowest first."""
    yield name
    rest = name.removeprefix("*.")
    while "." in rest:
        rest = rest.partition(".")[2]
        yield f"*.{rest}"
    if name != EVERY:
        yield EVERY


class Held:
    """Names that are held: whether another one has anything in common with any of them is soon said."""

    def __init__(self) -> None:
        """Begin with none."""
        self._names: set[str] = set()
        self._covering: set[str] = set()

    def add(self, name: str) -> None:
        """Hold one more."""
        self._names.add(name)
        self._covering.update(wider(name))

    def meets(self, name: str) -> bool:
        """Say whether a name covers one of them, or one of them covers it."""
        return name in self._covering or not self._names.isdisjoint(wider(name))


def specificity(name: str) -> tuple[int, int]:
    """Order names so that the more specific is greater: by characters if exact, else by characters at all."""
    if name == EVERY:
        return (0, 0)
    return (0, len(name)) if name.startswith("*.") else (len(name), len(name))


def narrowest(names: Iterable[str], host: str) -> str | None:
    """Return the most specific of the names that cover a host."""
    return max((name for name in names if covers(name, host)), key=specificity, default=None)
