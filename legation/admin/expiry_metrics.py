"""What Prometheus is told of when certificates end: docs/metrics.md says what each name means."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from heapq import nsmallest
from operator import itemgetter

from prometheus_client.core import GaugeMetricFamily, Metric

from legation.admin.series import MOST, OTHERS
from legation.proofs.changes import Used

NAME = "legation_certificate_expiry_timestamp_seconds"

Labels = tuple[str, str, str]
Ends = Mapping[Used, datetime]


class Expiries:
    """Looks it up when somebody asks."""

    def __init__(self, ends: Callable[[], Ends]) -> None:
        """Look it up there."""
        self._ends = ends
        self._last: tuple[Ends, dict[Labels, float]] | None = None  # which lasts from change to change

    def collect(self) -> Iterable[Metric]:
        """Name what ends first; of all others, say for each Gateway when the first one ends."""
        family = GaugeMetricFamily(
            NAME,
            "When the first of the certificates ends, or has ended, that are believed or shown",
            labels=["gateway", "kind", "name"],
        )
        ends = self._ends()
        if self._last is None or self._last[0] is not ends:
            self._last = ends, told(ends)
        for labels, end in sorted(self._last[1].items()):
            family.add_metric(labels, end)
        return [family]


def told(ends: Ends) -> dict[Labels, float]:
    """Return the series: so many at the most, one for each of so many Gateways, and one for all the rest."""
    soonest = {
        (gateway, owner.kind, str(owner.name)): end.timestamp() for (gateway, owner), end in ends.items()
    }
    named = dict(nsmallest(MOST, soonest.items(), key=itemgetter(1)))
    by_gateway = _soonest(
        ((labels[0], OTHERS, OTHERS), end) for labels, end in soonest.items() - named.items()
    )
    few = dict(nsmallest(MOST, by_gateway.items(), key=itemgetter(1)))
    rest = _soonest(((OTHERS, OTHERS, OTHERS), end) for _, end in by_gateway.items() - few.items())
    return named | few | rest


def _soonest(ends: Iterable[tuple[Labels, float]]) -> dict[Labels, float]:
    found: dict[Labels, float] = {}
    for labels, end in ends:
        found[labels] = min(end, found.get(labels, end))
    return found
