"""Who is served what, from when, and what is known of those who are."""

from functools import partial

import pytest

from tests.xds_server.honest_envoy import GROUP, cluster, plain
from tests.xds_server.talk import Server, bodies, names
from xds_server.admission import Allowance, Limits, Node, Peer, Refusal, claimed_group
from xds_server.hub import Hub
from xds_server.memory import KEPT_AFTER_REMOVAL
from xds_server.messages import Ask, DeltaAsk
from xds_server.report import Accepted, Envoy
from xds_server.snapshot import CDS, EDS, LDS, SDS, Entry, Snapshot

BOTH = pytest.mark.parametrize("whole", [True, False], ids=["whole", "delta"])
V1 = {CDS: {"a": cluster("v1")}}


@pytest.mark.rule(55)
@BOTH
def test_nothing_is_said_before_anything_was_published(*, whole: bool) -> None:
    server = Server()
    assert not server.hub.ready
    client = server.connect(whole=whole)
    assert [client.want(kind) for kind in (CDS, LDS)] == [[], []]
    [first, empty] = client.publish(V1)
    assert server.hub.ready
    assert (names(first), names(empty)) == (["a"], [])


@pytest.mark.rule(56)
@BOTH
@pytest.mark.parametrize("kind", [CDS, LDS])
def test_a_really_empty_set_is_said_to_be_empty(*, whole: bool, kind: str) -> None:
    server = Server()
    server.publish({})
    [empty] = server.connect(whole=whole).want(kind)
    assert (empty.entries, empty.removed) == ((), ())


@pytest.mark.rule(57)
@BOTH
def test_a_group_that_is_not_known_hears_nothing(*, whole: bool) -> None:
    server = Server()
    server.hub.publish("other/gateway", Snapshot.of(V1))
    assert server.connect(whole=whole).want(CDS) == []


@pytest.mark.rule(57)
@BOTH
def test_a_withdrawn_group_keeps_what_it_has_and_goes_on_when_it_is_back(*, whole: bool) -> None:
    server = Server()
    server.publish(V1)
    client = server.connect(whole=whole)
    client.take_all(client.want(CDS))
    server.hub.withdraw(GROUP)
    assert client.hear() == []
    assert server.hub.snapshot(GROUP) is None
    assert client.publish(V1) == []
    [news] = client.publish({CDS: {"a": cluster("v2")}})
    assert bodies(news) == {"a": cluster("v2").body.decode()}


@BOTH
def test_what_went_while_a_group_was_withdrawn_is_removed_when_it_is_back(*, whole: bool) -> None:
    server = Server()
    server.publish({LDS: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(LDS))
    server.hub.withdraw(GROUP)
    [less] = client.publish({LDS: {"a": plain("v1")}})
    assert (names(less), less.removed) == ((["a"], ()) if whole else ([], ("b",)))


@pytest.mark.rule(59)
@BOTH
def test_a_new_stream_is_served_from_the_newest_snapshot_and_nothing_else(*, whole: bool) -> None:
    server = Server()
    server.publish({SDS: {"s": plain("old"), "revoked": plain("old")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(SDS, "s", "revoked"))
    client.leave()
    server.publish({SDS: {"s": plain("new")}})
    [news] = server.connect(whole=whole).want(SDS, "s", "revoked", version="old")
    assert bodies(news) == {"s": "new"}


@pytest.mark.rule(59)
def test_an_idle_group_that_offers_nothing_is_forgotten() -> None:
    server = Server()
    client = server.connect(whole=True)
    client.want(CDS)
    client.leave()
    assert server.hub._groups == {}
    server.hub.withdraw("never/known")
    server.publish(V1)
    server.hub.withdraw(GROUP)
    assert server.hub._groups == {}
    assert server.hub.snapshot(GROUP) is None


@pytest.mark.rule(60)
def test_moving_to_another_replica_is_silent() -> None:
    one, two = Server(), Server()
    offered = {EDS: {"e": plain("v1")}}
    for server in (one, two):
        server.publish(offered)
    [first] = one.connect(whole=False).want(EDS, "e")
    held = {entry.name: entry.version for entry in first.entries}
    assert two.connect(whole=False).change(EDS, ("e",), versions=held) == []


@BOTH
def test_what_an_envoy_takes_is_reported_and_listed(*, whole: bool) -> None:
    server = Server()
    server.publish(V1)
    client = server.connect(whole=whole, node="envoy-7")
    client.take_all(client.want(CDS))
    version = Entry(CDS, "a", cluster("v1")).version
    assert server.reports == [Accepted(Envoy(GROUP, "envoy-7"), CDS, {"a": version})]
    [one] = server.hub.connected()
    assert (one.envoy, one.address, one.since) == (Envoy(GROUP, "envoy-7"), "memory", server.clock.now)
    assert (one.versions, one.rejections) == ({CDS: {"a": version}}, {})


def test_only_the_streams_of_a_changed_group_are_woken() -> None:
    woken: list[str] = []
    hub = Hub(lambda _report: None)
    for group in (GROUP, "shop/other"):
        hub.join(Envoy(group, "n"), "memory", whole=True, wake=partial(woken.append, group))
    seen = []
    for offered in ({}, {}, V1):
        hub.publish(GROUP, Snapshot.of(offered))
        seen.append(list(woken))
    assert seen == [[GROUP], [GROUP], [GROUP, GROUP]]


def test_what_was_good_is_remembered_for_a_while_only() -> None:
    server = Server()
    server.publish(V1)
    client = server.connect(whole=True)
    client.take_all(client.want(CDS))
    server.publish({})
    memory = server.hub._groups[GROUP].memory
    assert memory.left_behind(CDS, "").keys() == {"a"}
    server.clock.now += KEPT_AFTER_REMOVAL
    server.publish({LDS: {"l": plain("v1")}})
    assert memory.left_behind(CDS, "") == {}
    memory.accept([Entry(CDS, "a", cluster("v1"))])
    assert memory.good(CDS, "a") is None
    server.hub.withdraw(GROUP)
    assert memory.left_behind(LDS, "") == {}


@pytest.mark.rule(61)
@pytest.mark.parametrize(
    ("claim", "known"), [("shop/edge", True), ("", False), ("edge", False), ("a/b/c", False)]
)
def test_a_group_is_a_namespace_and_a_gateway(claim: str, *, known: bool) -> None:
    group = claimed_group(Node("n", claim), Peer("memory"))
    assert group == claim if known else isinstance(group, Refusal)


@pytest.mark.rule(71)
def test_an_allowance_fills_with_time_up_to_its_burst() -> None:
    allowance = Allowance(Limits(requests_per_second=1.0, burst=2.0), now=0.0)
    assert [allowance.take(0.0) for _ in range(3)] == [True, True, False]
    assert [allowance.take(1.0) for _ in range(2)] == [True, False]
    assert [allowance.take(100.0) for _ in range(3)] == [True, True, False]


@BOTH
def test_an_answer_is_told_of_although_nothing_is_sent_after_it(*, whole: bool) -> None:
    server = Server()
    server.publish(V1)
    client = server.connect(whole=whole)
    [made] = client.want(CDS)
    ask = Ask(CDS, nonce=made.nonce) if whole else DeltaAsk(CDS, nonce=made.nonce)
    assert server.hub.receive(client.seat, ask) is None
    client.leave()
    assert [type(each) for each in server.reports] == [Accepted]


def test_what_becomes_of_a_change_without_a_cause_is_not_followed() -> None:
    server = Server()
    client = server.connect(whole=False)
    client.want(CDS)
    assert server.hub.publish(GROUP, Snapshot.of(V1)) is False
    assert server.hub.oldest() is None
    client.take_all(client.hear())
    assert {type(each) for each in server.reports} == {Accepted}


@pytest.mark.rule(57)
@BOTH
def test_a_withdrawn_group_is_waited_for_without_a_time_at_which_to_look_again(*, whole: bool) -> None:
    server = Server()
    server.publish(V1)
    client = server.connect(whole=whole)
    client.take_all(client.want(CDS))
    client.publish({})
    assert client.seat.stream.wake_at is not None
    server.hub.withdraw(GROUP)
    assert client.hear() == []
    assert client.seat.stream.wake_at is None


def test_nobody_is_connected_of_a_group_that_is_not_known() -> None:
    assert Server().hub.connected_of("nobody/knows") == []
