"""What is looked up when Prometheus asks, and needs no counting: how things stand, and what is under way."""

from collections import Counter as Tally
from collections.abc import Callable, Iterable

from msgspec import Struct
from prometheus_client.core import GaugeMetricFamily, Metric

from legation.admin.metrics import short, since
from legation.admin.series import OTHERS, few, gauge, gauges, own
from legation.proofs.hops import degraded
from legation.standing import Standing
from legation.telling import RELEASE
from legation.workbench import Outcome
from legation.written_status import Condition, read_status
from xds_server.hub import Hub


class Said(Struct, frozen=True):
    """What an outcome says by itself."""

    programmed: Tally[str]
    offered: Tally[str]
    degraded: Tally[tuple[str, str]]


class StandingGauges:
    """How things stand."""

    def __init__(self, standing: Standing) -> None:
        """Look it up here."""
        self._standing = standing
        self._looked: Said | None = None

    def look(self) -> None:
        """Work out beforehand what the outcome says: it stays as it is, so this may be done in a thread."""
        self._looked = _said(self._standing.outcome)

    def collect(self) -> Iterable[Metric]:
        """Say how things stand."""
        outcome = self._standing.outcome
        said, self._looked = self._looked or _said(outcome), None
        groups = Tally(each.group for each in self._standing.found())
        return (
            gauges("legation_build_info", "The version", "version", {RELEASE: 1}),
            gauge("legation_ready", "Whether everything was read and translated", self._standing.ready),
            gauges("legation_gateways", "Gateways of ours", "programmed", said.programmed),
            gauges("legation_findings", "What somebody should look at", "group", groups),
            gauges("legation_resources", "What is offered to Envoys", "type", said.offered),
            gauge("legation_held_back_objects", "What an Envoy refuses as it is now", len(outcome.held_back)),
            gauge("legation_query_results", "Results that are remembered", outcome.effort.results),
            _degraded(said.degraded),
        )


def _said(outcome: Outcome) -> Said:
    gateways = (written for ref, written in outcome.statuses.items() if ref.kind == "Gateway")
    programmed = Tally(_word(read_status(written).condition("Programmed")) for written in gateways)
    offered = Tally[str]()
    for snapshot in outcome.snapshots.values():
        offered.update({short(each): len(named) for each, named in snapshot.entries.items()})
    return Said(programmed, offered, degraded(outcome.snapshots))


class Traffic(Struct, frozen=True):
    """What is under way between sources and Envoys."""

    hub: Hub
    waiting: Callable[[], int]  # changes that are not translated yet

    def collect(self) -> Iterable[Metric]:
        """Say what is under way."""
        envoys = Tally(self.hub.sizes())
        oldest = self.hub.oldest()
        held_back = {short(each): number for each, number in self.hub.held_back().items()}
        return (
            gauges("legation_envoys", "Connected Envoys", "gateway", few(envoys)),
            gauge("legation_waiting_changes", "Changes that are not translated yet", self.waiting()),
            gauge(
                "legation_unanswered_seconds",
                "For how long a connected Envoy has owed an answer",
                since(oldest) if oldest else 0.0,
            ),
            gauges("legation_held_back_resources", "What Envoys refused as it is now", "type", held_back),
        )


def _degraded(found: Tally[tuple[str, str]]) -> Metric:
    """Name few policies, and few Gateways of the others; whatever else there is is added up."""
    says = "Ways to backends that are not verified, or not by name"
    family = GaugeMetricFamily("legation_degraded_hops", says, labels=["gateway", "policy"])
    named = own(found)
    others = Tally[str]()
    for gateway, policy in found.keys() - named:
        others[gateway] += found[gateway, policy]
    for labels in sorted(named):
        family.add_metric(labels, found[labels])
    for gateway, number in sorted(few(others).items()):
        family.add_metric((gateway, OTHERS), number)
    return family


def _word(condition: Condition | None) -> str:
    return condition.status if condition else "Unknown"
