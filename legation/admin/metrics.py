"""What is counted for Prometheus: docs/metrics.md says what each name means; people build alerts on it."""

import time
from collections.abc import Iterable

import structlog
from msgspec import Struct
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import Metric

from legation.admin.reasons import reason
from legation.admin.series import GatewayCounter
from legation.workbench import Outcome
from xds_server.report import Accepted, Arrived, Begun, Cause, Overdue, Rejected, Report, Sent, TurnedAway

QUICK = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # seconds
PATIENT = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Telemetry:
    """Counts what happens, and writes what somebody should see into the log."""

    def __init__(self) -> None:
        """Begin at zero, in a registry of its own."""
        # When each series began would be as many series again, and nobody asks.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotations
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._log = structlog.get_logger()
        self._broken: frozenset[str] = frozenset()
        self._batches = Batches(self.registry)
        self._envoys = Envoys(self.registry)

    def take(self, outcome: Outcome) -> None:
        """Count a batch; a mistake of ours is said once, with all that is known about it."""
        self._batches.count(outcome)
        self._envoys.keep(outcome)
        for what in outcome.broken.keys() - self._broken:
            mistake = outcome.broken[what]
            about = {"object": str(mistake.about)} if mistake.about else {}
            self._log.error("a mistake of ours: it stays as it was", what=what, **about, exc_info=mistake.bug)
        self._broken = frozenset(outcome.broken)

    def note(self, report: Report) -> None:
        """Count what an Envoy was sent or made of it, and say in the log what is wrong with that."""
        self._envoys.count(report)
        match report:
            case Rejected(envoy, type_url, versions, error):
                self._log.warning(
                    "Envoy rejected",
                    gateway=envoy.group,
                    envoy=envoy.node,
                    type=short(type_url),
                    resources=sorted(versions),
                    why=error,
                )
            case Overdue(envoy, _, name, waited):
                seconds = round(waited, 1)
                self._log.warning(
                    "waited in vain", gateway=envoy.group, envoy=envoy.node, resource=name, seconds=seconds
                )
            case TurnedAway(group, node, why):
                self._log.warning("turned away", gateway=group, envoy=node, why=why)
            case Sent() | Accepted() | Begun() | Arrived():
                pass


class Batches:
    """What is counted of batches of changes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Begin at zero."""
        self._changes = Counter("legation_changes", "Changes that were translated", registry=registry)
        self._queries = Counter("legation_queries_run", "Queries that ran for them", registry=registry)
        self._seconds = Histogram(
            "legation_translation_seconds",
            "Time to translate one batch of changes",
            buckets=QUICK,
            registry=registry,
        )

    def count(self, outcome: Outcome) -> None:
        """Count one."""
        self._changes.inc(outcome.effort.changes)
        self._queries.inc(outcome.effort.queries)
        self._seconds.observe(outcome.seconds)


class Envoys:
    """What is counted of what Envoys are sent, and of what they answer."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Begin at zero."""

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(name, says, labels, registry=registry)

        def histogram(name: str, says: str, *labels: str) -> Histogram:
            return Histogram(name, says, labels, buckets=PATIENT, registry=registry)

        self._pushes = counter("legation_pushes", "Responses to Envoys", "type")
        self._resources = counter("legation_pushed_resources", "Resources in them", "type")
        self._bytes = counter("legation_pushed_bytes", "Bytes of them", "type")
        self._answers = histogram("legation_ack_seconds", "From a response to its answer", "type")
        self._begun = histogram("legation_change_to_push_seconds", "From a change to its first response")
        self._arrived = histogram(
            "legation_change_to_ack_seconds", "From a change to the last answer of its Envoys", "answer"
        )
        self._reasons = counter("legation_rejection_reasons", "Refusals by Envoys, by why", "reason")
        self._turned_away = counter("legation_turned_away", "Streams that were not served")
        self._rejections = GatewayCounter(registry, "legation_rejections", "Refusals by Envoys", "type")
        self._overdue = GatewayCounter(
            registry, "legation_overdue", "Changes that waited as long as they may"
        )

    def keep(self, outcome: Outcome) -> None:
        """Let go of the series of Gateways that are gone."""
        self._rejections.keep(outcome.snapshots)
        self._overdue.keep(outcome.snapshots)

    def count(self, report: Report) -> None:
        """Count one report; what a stranger says of himself is no label, as there is no end to it."""
        match report:
            case Sent(_, type_url, resources, size):
                kind = short(type_url)
                self._pushes.labels(kind).inc()
                self._resources.labels(kind).inc(resources)
                self._bytes.labels(kind).inc(size)
            case Accepted(type_url=type_url, waited=waited):
                self._answers.labels(short(type_url)).observe(waited)
            case Rejected():
                self._count_refusal(report)
            case Overdue(envoy=envoy):
                self._overdue.count(envoy.group)
            case TurnedAway():
                self._turned_away.inc()
            case Begun(_, cause):
                self._begun.observe(since(cause))
            case Arrived(_, cause, refused):
                self._arrived.labels("rejected" if refused else "accepted").observe(since(cause))

    def _count_refusal(self, report: Rejected) -> None:
        kind = short(report.type_url)
        self._answers.labels(kind).observe(report.waited)
        self._rejections.count(report.envoy.group, kind)
        self._reasons.labels(reason(report.error)).inc()


class Taken(Struct, frozen=True, eq=False):
    """What everything was in one moment."""

    families: tuple[Metric, ...]

    def collect(self) -> Iterable[Metric]:
        """Say it again."""
        return self.families


def taken_down(registry: CollectorRegistry) -> CollectorRegistry:
    """Ask everybody now, so that it can be written in a thread while they go on."""
    taken = CollectorRegistry()
    taken.register(Taken(tuple(registry.collect())))
    return taken


def exposition(registry: CollectorRegistry) -> bytes:
    """Write everything as Prometheus reads it."""
    return generate_latest(registry)


def since(cause: Cause) -> float:
    """Say how many seconds ago a change was received."""
    return time.monotonic() - cause.since


def short(type_url: str) -> str:
    """Name a type as people do: `Cluster`."""
    return type_url.rpartition(".")[2]
