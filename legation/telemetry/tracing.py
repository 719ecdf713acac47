"""Spans of one change, from where it was received to the answers of Envoys and the statuses that follow.

A batch is one trace, however many objects it brings. What is told while nothing is traced costs nothing, and
whatever grows with Envoys or objects has a bound: the rest is counted.
"""

import random
import secrets
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from time import monotonic

from msgspec import Struct

from legation.workbench import Outcome
from translator.names import Ref
from xds_server.report import (
    Accepted,
    Arrived,
    Begun,
    Cause,
    Envoy,
    Overdue,
    Rejected,
    Report,
    Sent,
    TurnedAway,
)

MOST_OPEN = 64  # traces that wait for Envoys
PATIENCE = 60.0  # seconds for which one does
MOST_SPANS = 128  # of one trace
MOST_STATUSES = 1_000  # that are awaited, of all traces

Value = str | int | float | bool | tuple[str, ...]
NO_PARENT = b""


class Span(Struct, frozen=True):
    """One part of a trace; times are the monotonic clock's."""

    trace: bytes
    own: bytes
    parent: bytes
    name: str
    begun: float
    ended: float
    attributes: Mapping[str, Value]
    error: str = ""


class Journey:
    """One change that is traced, and whom it waits for."""

    def __init__(self, cause: Cause, attributes: dict[str, Value], waiting: Iterable[str]) -> None:
        """Begin where it was received."""
        self.trace, self.root = secrets.token_bytes(16), secrets.token_bytes(8)
        self.begun = cause.since
        self.attributes = attributes
        self.waiting = set(waiting)
        self.refused = False
        self.spans = 0
        self.left_out = 0


class Push(Struct, frozen=True):
    """A response that an Envoy has yet to answer."""

    journey: Journey
    begun: float
    attributes: Mapping[str, Value]


class Tracer:
    """Follows some of the changes, and tells a span of each part when that is over."""

    def __init__(
        self, tell: Callable[[Span], None], share: float = 1.0, clock: Callable[[], float] = monotonic
    ) -> None:
        """Follow a share of all changes."""
        self._tell = tell
        self._share = share
        self._clock = clock
        self._open: dict[int, Journey] = {}
        self._pushes: dict[tuple[Envoy, str], Push] = {}
        self._statuses: dict[Ref, tuple[Journey, float]] = {}

    def offered(self, outcome: Outcome, waiting: frozenset[str]) -> None:
        """A batch was translated and offered; these Gateways have Envoys that it concerns."""
        cause, effort = outcome.cause, outcome.effort
        if cause is None or random.random() >= self._share:  # noqa: S311  # no secret
            return
        now = self._clock()
        attributes: dict[str, Value] = {
            "legation.objects": effort.objects,
            "legation.changes": effort.changes,
            "legation.queries": effort.queries,
            "legation.gateways": len(waiting),
        }
        journey = Journey(cause, attributes, waiting)
        translated = min(now, effort.began + outcome.seconds)
        self._part(journey, "wait", (cause.since, effort.began))
        self._part(journey, "translate", (effort.began, translated))
        self._part(journey, "publish", (translated, now))
        self._await_statuses(journey, outcome.news, now)
        if waiting:
            self._await_envoys(cause.number, journey)
        else:
            self._finish(journey, "nobody")

    def note(self, report: Report) -> None:
        """Hear what an Envoy was sent, or made of it."""
        match report:
            case Sent():
                self._sent(report)
            case Accepted(envoy, type_url):
                self._answered(envoy, type_url, "")
            case Rejected(envoy, type_url, error=error):
                self._answered(envoy, type_url, error)
            case Arrived():
                self._arrived(report)
            case Overdue() | TurnedAway() | Begun():
                pass

    def wrote(self, about: Ref) -> None:
        """A status was written."""
        if (awaited := self._statuses.pop(about, None)) is not None:
            journey, since = awaited
            named: Mapping[str, Value] = {"legation.object": str(about)}
            self._part(journey, "write status", (since, self._clock()), named)

    def tidy(self) -> None:
        """Wait no more for whom nothing was heard of in time."""
        late = self._clock() - PATIENCE
        for number in [number for number, journey in self._open.items() if journey.begun < late]:
            self._finish(self._open.pop(number), "not all")

    def _await_statuses(self, journey: Journey, news: frozenset[Ref], now: float) -> None:
        for ref in islice(sorted(news), MOST_SPANS):
            self._statuses.pop(ref, None)
            self._statuses[ref] = journey, now
        while len(self._statuses) > MOST_STATUSES:
            del self._statuses[next(iter(self._statuses))]

    def _await_envoys(self, number: int, journey: Journey) -> None:
        if len(self._open) == MOST_OPEN:
            self._finish(self._open.pop(next(iter(self._open))), "not all")
        self._open[number] = journey

    def _sent(self, sent: Sent) -> None:
        concerned = [each for each in self._open.values() if sent.envoy.group in each.waiting]
        if concerned:
            self._pushes[sent.envoy, sent.type_url] = Push(
                concerned[-1],
                self._clock(),
                {
                    "legation.gateway": sent.envoy.group,
                    "legation.envoy": sent.envoy.node,
                    "legation.resources": sent.resources,
                    "legation.bytes": sent.size,
                },
            )

    def _answered(self, envoy: Envoy, type_url: str, error: str) -> None:
        if (push := self._pushes.pop((envoy, type_url), None)) is not None:
            name = f"push {type_url.rpartition('.')[2]}"
            answer: Mapping[str, Value] = {"legation.answer": "NACK" if error else "ACK"}
            times = push.begun, self._clock()
            self._part(push.journey, name, times, {**push.attributes, **answer}, error)

    def _arrived(self, arrived: Arrived) -> None:
        journey = self._open.get(arrived.cause.number)
        if journey is None:
            return
        journey.waiting.discard(arrived.group)
        journey.refused |= arrived.refused
        if not journey.waiting:
            del self._open[arrived.cause.number]
            self._finish(journey, "rejected" if journey.refused else "accepted")

    def _part(
        self,
        journey: Journey,
        name: str,
        times: tuple[float, float],
        attributes: Mapping[str, Value] | None = None,
        error: str = "",
    ) -> None:
        if journey.spans == MOST_SPANS:
            journey.left_out += 1
            return
        journey.spans += 1
        begun, ended = times
        own = secrets.token_bytes(8)
        self._tell(Span(journey.trace, own, journey.root, name, begun, ended, attributes or {}, error))

    def _finish(self, journey: Journey, answer: str) -> None:
        self._pushes = {key: push for key, push in self._pushes.items() if push.journey is not journey}
        whole: Mapping[str, Value] = {
            **journey.attributes,
            "legation.answer": answer,
            "legation.spans.left_out": journey.left_out,
        }
        name, now = "change", self._clock()
        self._tell(Span(journey.trace, journey.root, NO_PARENT, name, journey.begun, now, whole))
