"""What Prometheus is told: docs/metrics.md says what each name means, and people build alerts on it."""

from collections import Counter as Tally
from collections.abc import Iterable

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from legation.audit import degraded
from legation.pump import Outcome
from legation.standing import Standing
from legation.written_status import Condition
from xds_server.report import Accepted, Overdue, Rejected, Report, TurnedAway

MOST_POLICIES = 100  # that have a series of their own
LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Telemetry:
    """Counts what happens, and writes what somebody should see into the log."""

    def __init__(self) -> None:
        """Begin at zero, in a registry of its own."""
        self.registry = CollectorRegistry()
        self._log = structlog.get_logger()
        self._broken: frozenset[str] = frozenset()
        self._seconds = Histogram(
            "legation_translation_seconds",
            "Time to translate one batch of changes",
            buckets=LATENCIES,
            registry=self.registry,
        )
        self._rejections = self._counter("legation_rejections", "Refusals by Envoys", "gateway", "type")
        self._overdue = self._counter(
            "legation_overdue", "Changes that waited as long as they may", "gateway"
        )
        self._turned_away = self._counter("legation_turned_away", "Streams that were not served")

    def take(self, outcome: Outcome) -> None:
        """Count a batch; a mistake of ours is said once, with all that is known about it."""
        self._seconds.observe(outcome.seconds)
        for what in outcome.broken.keys() - self._broken:
            bug = outcome.broken[what].bug
            self._log.error("a mistake of ours: it stays as it was", what=what, exc_info=bug)
        self._broken = frozenset(outcome.broken)

    def note(self, report: Report) -> None:
        """Count what an Envoy made of what it was sent."""
        match report:
            case Accepted():
                pass
            case Rejected(envoy, type_url, versions, error):
                kind = type_url.rpartition(".")[2]
                self._rejections.labels(envoy.group, kind).inc()
                self._log.warning(
                    "Envoy rejected", gateway=envoy.group, type=kind, resources=sorted(versions), error=error
                )
            case Overdue(envoy, type_url, name, waited):
                self._overdue.labels(envoy.group).inc()
                self._log.warning(
                    "waited in vain", gateway=envoy.group, resource=name, seconds=round(waited, 1)
                )
            case TurnedAway(group, node, reason):
                self._turned_away.inc()  # what a stranger says is no label: there is no end to it
                self._log.warning("turned away", gateway=group, node=node, reason=reason)

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(name, says, labels, registry=self.registry)


class Gauges:
    """What is looked up when somebody asks, and needs no counting."""

    def __init__(self, standing: Standing) -> None:
        """Look it up here."""
        self._standing = standing

    def collect(self) -> Iterable[Metric]:
        """Say how things stand."""
        ready = GaugeMetricFamily("legation_ready", "Whether everything was read and translated")
        ready.add_metric((), float(self._standing.ready))
        programmed = Tally(_word(each.programmed) for each in self._standing.gateways())
        groups = Tally(each.group for each in self._standing.found())
        envoys = Tally(each.envoy.group for each in self._standing.connected())
        return (
            ready,
            _family("legation_gateways", "Gateways of ours", "programmed", programmed),
            _family("legation_findings", "What somebody should look at", "group", groups),
            _family("legation_envoys", "Connected Envoys", "gateway", envoys),
            _degraded(degraded(self._standing.outcome.snapshots)),
        )


def exposition(registry: CollectorRegistry) -> bytes:
    """Write everything as Prometheus reads it."""
    return generate_latest(registry)


def _family(name: str, says: str, label: str, tally: Tally[str]) -> Metric:
    family = GaugeMetricFamily(name, says, labels=[label])
    for value, number in sorted(tally.items()):
        family.add_metric([value], number)
    return family


def _degraded(found: Tally[tuple[str, str]]) -> Metric:
    """Name as many policies as a page of alerts may have; all others are counted together by Gateway."""
    says = "Ways to backends that are not verified, or not by name"
    family = GaugeMetricFamily("legation_degraded_hops", says, labels=["gateway", "policy"])
    named = sorted(found)[:MOST_POLICIES]
    others = Tally[str]()
    for gateway, policy in found.keys() - set(named):
        others[gateway] += found[gateway, policy]
    for gateway, policy in named:
        family.add_metric([gateway, policy], found[gateway, policy])
    for gateway, number in sorted(others.items()):
        family.add_metric([gateway, "others"], number)
    return family


def _word(condition: Condition | None) -> str:
    return condition.status if condition else "Unknown"
