"""What Prometheus is told of the contact with a cluster: docs/metrics.md says what each name means."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite

from msgspec import Struct
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from legation.contact import Contact

NO_ANSWER = "none"


class Sources(Struct, frozen=True):
    """Where to look when somebody asks."""

    contacts: Callable[[], Sequence[Contact]]
    writes: Callable[[], Mapping[tuple[str, str], int]]  # by kind and outcome
    failures: Callable[[], Mapping[int, int]]  # of all requests, by HTTP's code
    leads: Callable[[], bool]


class ClusterMetrics:
    """Looks it all up anew each time; labels are kinds, outcomes and HTTP's codes, so they are few."""

    def __init__(self, sources: Sources) -> None:
        """Look it up here."""
        self._sources = sources

    def collect(self) -> Iterable[Metric]:
        """Say how things stand."""
        contacts = self._sources.contacts()
        yield from _watches(contacts)
        yield from _times(contacts)
        yield _failed_watches(contacts)
        writes = CounterMetricFamily(
            "legation_status_writes",
            "Statuses that were due, by what became of them",
            labels=["kind", "outcome"],
        )
        for labels, number in sorted(self._sources.writes().items()):
            writes.add_metric(labels, number)
        yield writes
        failed = CounterMetricFamily(
            "legation_api_requests_failed", "Requests to the API server that came to nothing", labels=["code"]
        )
        for code, number in sorted(self._sources.failures().items()):
            failed.add_metric([_word(code)], number)
        yield failed
        yield GaugeMetricFamily(
            "legation_leader", "Whether this replica holds the Lease", value=float(self._sources.leads())
        )


def _watches(contacts: Sequence[Contact]) -> Iterable[Metric]:
    objects = GaugeMetricFamily("legation_watch_objects", "Objects that are there", labels=["kind"])
    lists = CounterMetricFamily("legation_watch_lists", "Lists that were begun", labels=["kind"])
    changes = CounterMetricFamily("legation_watch_changes", "Changes that were told", labels=["kind"])
    for each in contacts:
        objects.add_metric([each.kind], each.objects)
        lists.add_metric([each.kind], each.lists)
        changes.add_metric([each.kind], each.changes)
    return objects, lists, changes


def _times(contacts: Sequence[Contact]) -> Iterable[Metric]:
    silence = GaugeMetricFamily(
        "legation_watch_silence_seconds", "Since the API server last said anything", labels=["kind"]
    )
    stale = GaugeMetricFamily(
        "legation_watch_stale_seconds", "For how long nothing newer can be had", labels=["kind"]
    )
    changed = GaugeMetricFamily(
        "legation_watch_last_change_timestamp_seconds", "When a change was last told", labels=["kind"]
    )
    for each in contacts:
        if isfinite(each.heard):
            silence.add_metric([each.kind], each.heard)
            stale.add_metric([each.kind], each.behind if each.why else 0.0)
        if isfinite(each.changed):
            changed.add_metric([each.kind], time.time() - each.changed)
    return silence, stale, changed


def _failed_watches(contacts: Sequence[Contact]) -> Metric:
    failures = CounterMetricFamily(
        "legation_watch_failures", "Lists and watches that came to nothing", labels=["kind", "code"]
    )
    for each in contacts:
        for code, number in sorted(each.failures.items()):
            failures.add_metric([each.kind, _word(code)], number)
    return failures


def _word(code: int) -> str:
    return str(code) if code else NO_ANSWER
