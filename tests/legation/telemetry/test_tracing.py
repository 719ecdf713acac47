"""One change is one trace: what it is made of, what it waits for, and how much it may grow."""

import asyncio
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from structlog.testing import capture_logs

from legation.engine import Engine, Surroundings
from legation.folder import Folder, read
from legation.telemetry.otlp import Exporter
from legation.telemetry.otlp_settings import Traces
from legation.telemetry.tracing import MOST_OPEN, MOST_SPANS, PATIENCE, Span, Tracer
from legation.workbench import Effort, Outcome, Workbench
from tests.collector import attributes, collecting_over_http, is_whole, traced
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import free_port, legation_up
from tests.looking import eventually
from translator.names import Name, Ref
from xds_server.hub import Hub, Seat
from xds_server.messages import DeltaAsk
from xds_server.report import Accepted, Arrived, Cause, Envoy, Rejected, Sent
from xds_server.snapshot import CDS, LDS

GROUP = "infra/edge"
ONE, TWO = (Envoy(GROUP, node) for node in ("one", "two"))
ROUTE = Ref("HTTPRoute", Name("shop", "pay"))
WITHIN = 120.0


class Desk:
    """A tracer with a clock of its own, and every span that it told."""

    def __init__(self, share: float = 1.0) -> None:
        self.now = 100.0
        self.spans: list[Span] = []
        self.tracer = Tracer(self.spans.append, share, lambda: self.now)
        self.number = 0

    def offer(self, *groups: str, news: frozenset[Ref] = frozenset()) -> Cause:
        """Tell of a batch that was received a second ago, and took a quarter of one."""
        self.number += 1
        cause = Cause(self.number, self.now - 1.0)
        effort = Effort(self.now - 0.5, 1, (f"{ROUTE}@{self.number}",), 3, 9)
        outcome = Outcome({}, {}, {}, 0.25, news=news, effort=effort, cause=cause)
        self.tracer.offered(outcome, frozenset(groups))
        return cause

    def push(self, envoy: Envoy, type_url: str = CDS) -> None:
        """Send something to an Envoy, which takes it."""
        self.tracer.note(Sent(envoy, type_url, 2, 300))
        self.now += 0.125
        self.tracer.note(Accepted(envoy, type_url, {}))

    def named(self, name: str) -> list[Span]:
        """Return the spans of a name."""
        return [span for span in self.spans if span.name == name]


def test_a_change_is_told_from_its_receipt_to_the_last_answer() -> None:
    desk = Desk()
    cause = desk.offer(GROUP)
    desk.push(ONE)
    desk.push(TWO)
    assert desk.named("change") == []
    desk.tracer.note(Arrived(GROUP, cause, refused=False))
    [change] = desk.named("change")
    assert (change.begun, change.ended, change.parent) == (99.0, 100.25, b"")
    assert change.attributes == {
        "legation.objects": ("HTTPRoute shop/pay@1",),
        "legation.changes": 1,
        "legation.queries": 3,
        "legation.gateways": 1,
        "legation.answer": "accepted",
        "legation.spans.left_out": 0,
    }
    parts = [span for span in desk.spans if span is not change]
    assert [(span.name, span.begun, span.ended) for span in parts] == [
        ("wait", 99.0, 99.5),
        ("translate", 99.5, 99.75),
        ("publish", 99.75, 100.0),
        ("push Cluster", 100.0, 100.125),
        ("push Cluster", 100.125, 100.25),
    ]
    assert {(span.trace, span.parent) for span in parts} == {(change.trace, change.own)}
    assert parts[-1].attributes == {
        "legation.gateway": GROUP,
        "legation.envoy": "two",
        "legation.resources": 2,
        "legation.bytes": 300,
        "legation.answer": "ACK",
    }


def test_a_refusal_is_an_error_with_the_envoys_words() -> None:
    desk = Desk()
    cause = desk.offer(GROUP)
    desk.tracer.note(Sent(ONE, LDS, 1, 10))
    desk.tracer.note(Rejected(ONE, LDS, {}, "cannot bind", isolated=True))
    desk.tracer.note(Arrived(GROUP, cause, refused=True))
    [push], [change] = desk.named("push Listener"), desk.named("change")
    assert (push.error, push.attributes["legation.answer"]) == ("cannot bind", "NACK")
    assert change.attributes["legation.answer"] == "rejected"


def test_a_change_waits_for_all_of_its_gateways() -> None:
    desk = Desk()
    cause = desk.offer(GROUP, "infra/other")
    desk.tracer.note(Arrived(GROUP, cause, refused=False))
    assert desk.named("change") == []
    desk.tracer.note(Arrived("infra/other", cause, refused=False))
    assert len(desk.named("change")) == 1


def test_a_change_that_concerns_no_envoy_is_at_its_end_at_once() -> None:
    desk = Desk()
    desk.offer()
    [change] = desk.named("change")
    assert change.attributes["legation.answer"] == "nobody"


def test_a_status_belongs_to_the_change_that_it_came_of() -> None:
    desk = Desk()
    cause = desk.offer(GROUP, news=frozenset({ROUTE}))
    desk.tracer.note(Arrived(GROUP, cause, refused=False))
    desk.now += 2
    desk.tracer.wrote(ROUTE)
    desk.tracer.wrote(ROUTE)
    [status], [change] = desk.named("write status"), desk.named("change")
    assert (status.trace, status.parent, status.ended) == (change.trace, change.own, 102.0)
    assert status.attributes == {"legation.object": "HTTPRoute shop/pay"}


def test_a_trace_does_not_grow_with_envoys_and_counts_what_it_leaves_out() -> None:
    desk = Desk()
    cause = desk.offer(GROUP)
    for number in range(2 * MOST_SPANS):
        desk.push(Envoy(GROUP, str(number)))
    desk.tracer.note(Arrived(GROUP, cause, refused=False))
    [change] = desk.named("change")
    assert len(desk.spans) == MOST_SPANS + 1
    assert change.attributes["legation.spans.left_out"] == MOST_SPANS + 3


def test_who_does_not_answer_is_waited_for_no_longer_than_a_minute() -> None:
    desk = Desk()
    desk.offer(GROUP)
    desk.tracer.tidy()
    assert desk.named("change") == []
    desk.now += PATIENCE
    desk.tracer.tidy()
    [change] = desk.named("change")
    assert change.attributes["legation.answer"] == "not all"


def test_no_more_than_some_traces_wait() -> None:
    desk = Desk()
    for _ in range(MOST_OPEN + 5):
        desk.offer(GROUP)
    assert len(desk.named("change")) == 5


@pytest.mark.parametrize(("share", "told"), [(0.0, 0), (1.0, 200)])
def test_a_share_of_all_changes_is_followed(share: float, told: int) -> None:
    desk = Desk(share)
    for _ in range(200):
        desk.offer()
    assert len(desk.named("change")) == told


def test_what_nobody_told_of_is_no_change() -> None:
    desk = Desk()
    desk.tracer.offered(Outcome({}, {}, {}, 0.1), frozenset())
    desk.push(ONE)
    assert desk.spans == []


async def exported(answers: int) -> tuple[list[Any], list[Any]]:
    """Export one trace to a collector, which answers so; return what it heard and what was logged."""
    async with collecting_over_http(answers) as collector:
        url = f"http://127.0.0.1:{collector.port}/v1/traces"
        with capture_logs() as said:
            exporter = Exporter(Traces(url, {"service.name": "office"}, {}))
            running = asyncio.create_task(exporter.run())
            await asyncio.sleep(0)
            exporter.tracer.offered(Outcome({}, {}, {}, 0.1, cause=Cause(1, 5.0)), frozenset())
            await eventually(lambda: collector.spans.qsize() == 4)
            await eventually(lambda: answers == 200 or said)
            exporter.tracer.offered(Outcome({}, {}, {}, 0.1, cause=Cause(2, 5.0)), frozenset())
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return [collector.spans.get_nowait() for _ in range(collector.spans.qsize())], said


async def test_what_is_left_at_the_end_is_sent() -> None:
    spans, said = await exported(200)
    assert (len(spans), said) == (8, [])
    assert {resource["service.name"] for resource, _ in spans} == {"office"}


async def test_a_collector_that_refuses_is_named_once() -> None:
    _, [said] = await exported(503)
    assert (said["event"], said["why"]) == ("traces are not taken", "HTTP 503")


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_roots_that_cannot_be_read_are_named_once_and_end_nothing(
    tmp_path: Path, content: str | None
) -> None:
    roots = tmp_path / "roots.pem"
    if content is not None:
        roots.write_text(content)
    with capture_logs() as said:
        exporter = Exporter(Traces("https://127.0.0.1:1/v1/traces", {}, {}, roots=roots))
        running = asyncio.create_task(exporter.run())
        await asyncio.sleep(0)
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    [one] = said
    assert (one["event"], str(roots) in one["why"]) == ("traces are not taken", True)


class Visit:
    """An Envoy that takes all there is for it as soon as others have their turn."""

    def __init__(self, hub: Hub, group: str) -> None:
        """Ask for listeners."""
        self._hub = hub
        self.heard_at: list[frozenset[str]] = []  # who else was offered something then
        seat = hub.join(Envoy(group, "one"), "memory", whole=False, wake=self._wake)
        assert isinstance(seat, Seat)
        self._seat = seat
        hub.receive(seat, DeltaAsk(LDS))

    def _wake(self) -> None:
        asyncio.get_running_loop().call_soon(self._take)

    def _take(self) -> None:
        while (response := self._hub.next(self._seat)) is not None:
            self.heard_at.append(frozenset(self._hub.offered()))
            self._hub.sent(self._seat, response, 100)
            self._hub.receive(self._seat, DeltaAsk(LDS, nonce=response.nonce))


async def test_what_is_heard_before_every_gateway_was_offered_to_is_part_of_the_trace() -> None:
    folder, spans = Folder(), list[Any]()
    gateways = (gateway(name, 80) for name in ("edge", "inner", "outer"))
    folder.take("a.yaml", read(together(LEGATION_CLASS, *gateways), "a.yaml"))
    async with collecting_over_http() as collector, asyncio.timeout(WITHIN), asyncio.TaskGroup() as tasks:
        traces = Traces(f"http://127.0.0.1:{collector.port}/v1/traces", {}, {})
        engine = Engine(Workbench(), Surroundings(traces=traces))
        visits = [Visit(engine.hub, f"infra/{name}") for name in ("edge", "inner", "outer")]
        running = [tasks.create_task(work) for work in engine.work()]
        engine.put(folder.changes(), received=monotonic())
        while not any(span.name == "change" for span in spans):
            spans.append((await collector.spans.get())[1])
        for task in running:
            task.cancel()
    offered_to = sorted((at for visit in visits for at in visit.heard_at), key=len)
    assert [len(at) for at in offered_to] == [1, 2, 3]
    [publish] = (span for span in spans if span.name == "publish")
    pushes = [span for span in spans if span.name == "push Listener"]
    assert {attributes(push)["legation.gateway"] for push in pushes} == offered_to[-1]
    assert all(push.start_time_unix_nano >= publish.end_time_unix_nano for push in pushes)
    [change] = (span for span in spans if span.name == "change")
    assert attributes(change)["legation.answer"] == "accepted"


async def test_one_edit_of_a_file_is_one_trace_up_to_envoys_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "edge.yaml").write_text(together(LEGATION_CLASS, gateway("edge", free_port())))
    (tmp_path / "store.yaml").write_text(service("store", free_port()))
    (tmp_path / "route.yaml").write_text(route("store", "store"))
    async with collecting_over_http() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.port}")
        async with legation_up(tmp_path) as running:
            await running.logged("programmed")
            (tmp_path / "route.yaml").write_text(route("store", "store", host="other.example"))
            parts = await traced(collector, lambda objects: objects == ["HTTPRoute shop/store"], WITHIN)
    change = parts["change"]
    assert attributes(change)["legation.answer"] == "accepted"
    assert {"wait", "translate", "publish", "push RouteConfiguration"} <= parts.keys()
    push = attributes(parts["push RouteConfiguration"])
    assert (push["legation.gateway"], push["legation.answer"]) == (GROUP, "ACK")
    assert is_whole(parts)
