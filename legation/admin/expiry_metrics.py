"""What Prometheus is told of when certificates end: docs/metrics.md says what each name means."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from heapq import nsmallest
from operator import itemgetter

from prometheus_client.core import GaugeMetricFamily, Metric

from legation.proof_changes import Served
from translator.envoy.secrets import owner_of

MOST = 100  # that have a series of their own: those that end first
OTHERS = "others"
NAME = "legation_certificate_expiry_timestamp_seconds"

Labels = tuple[str, str, str]
Ends = Mapping[Served, datetime]


class Expiries:
    """Looks it up when somebody asks."""

    def __init__(self, ends: Callable[[], Ends]) -> None:
        """Look it up there."""
        self._ends = ends

    def collect(self) -> Iterable[Metric]:
        """Name what ends first; of all others, say for each Gateway when the first one ends."""
        family = GaugeMetricFamily(
            NAME,
            "When the first of the certificates ends that are believed or shown",
            labels=["gateway", "kind", "name"],
        )
        for labels, end in sorted(told(self._ends()).items()):
            family.add_metric(labels, end)
        return [family]


def told(ends: Ends) -> dict[Labels, float]:
    """Return the series: so many at the most, and one more for each Gateway."""
    soonest: dict[Labels, float] = {}
    for (gateway, name), end in ends.items():
        owner = owner_of(name)
        labels = (gateway, owner.kind, str(owner.name))
        soonest[labels] = min(end.timestamp(), soonest.get(labels, end.timestamp()))
    named = dict(nsmallest(MOST, soonest.items(), key=itemgetter(1)))
    others: dict[Labels, float] = {}
    for labels in soonest.keys() - named.keys():
        rest = (labels[0], OTHERS, OTHERS)
        others[rest] = min(soonest[labels], others.get(rest, soonest[labels]))
    return named | others
