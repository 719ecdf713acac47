"""How many series there may be: what people name without end gets a few of its own, and shares one beyond."""

from collections import Counter as Tally
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric

K = TypeVar("K", bound=str | tuple[str, ...])

MOST = 100  # names of users, such as Gateways, that have series of their own
OTHERS = "others"


class Few:
    """The names that have series of their own: the first that something is told of, while they are there."""

    def __init__(self, most: int = MOST) -> None:
        """Begin with room for all of them."""
        self._most = most
        self._named: set[str] = set()

    def label(self, name: str) -> str:
        """Return the name, or what all share for whom there is no room."""
        if name not in self._named and len(self._named) < self._most:
            self._named.add(name)
        return name if name in self._named else OTHERS

    def keep(self, there: Collection[str]) -> frozenset[str]:
        """Make room: return the names that are not there any more."""
        gone = frozenset(name for name in self._named if name not in there)
        self._named -= gone
        return gone


class GatewayCounter:
    """A counter by Gateway, whose series go with it."""

    def __init__(self, registry: CollectorRegistry, name: str, says: str, *labels: str) -> None:
        """Count by Gateway, and by these labels besides."""
        self._counter = Counter(name, says, ("gateway", *labels), registry=registry)
        self._few = Few()

    def count(self, gateway: str, *values: str) -> None:
        """Count one."""
        self._counter.labels(self._few.label(gateway), *values).inc()

    def keep(self, gateways: Collection[str]) -> None:
        """Let go of those that are not among these."""
        for gone in self._few.keep(gateways):
            self._counter.remove_by_labels({"gateway": gone})


def gauge(name: str, says: str, value: float) -> Metric:
    """Say how things stand in one number."""
    return GaugeMetricFamily(name, says, value=value)


def gauges(name: str, says: str, label: str, tally: Mapping[str, float]) -> Metric:
    """Say it by one label."""
    family = GaugeMetricFamily(name, says, labels=[label])
    for value, number in sorted(tally.items()):
        family.add_metric([value], number)
    return family


def few(tally: Tally[str]) -> Tally[str]:
    """Name as many as a page of alerts may have, and add up all others."""
    named = own(tally)
    found = Tally({name: tally[name] for name in named})
    if rest := tally.total() - found.total():
        found[OTHERS] += rest
    return found


def own(names: Iterable[K]) -> frozenset[K]:
    """Choose the names that get series of their own."""
    return frozenset(sorted(set(names))[:MOST])
