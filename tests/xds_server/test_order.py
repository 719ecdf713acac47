"""Make before break: nothing leads where nobody answers, and no wait is for ever."""

from collections.abc import Mapping

import pytest

from tests.xds_server.honest_envoy import GROUP, cluster, listener, plain, table
from tests.xds_server.talk import GRACE, HOLD, Server, Talk, bodies, names
from xds_server.memory import YOUNG
from xds_server.messages import Ask, Response
from xds_server.report import Overdue
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Entry, Resource, Snapshot, no_endpoints

BOTH = pytest.mark.parametrize("whole", [True, False], ids=["whole", "delta"])
TRAFFIC = pytest.mark.parametrize("kind", [LDS, RDS], ids=["listener", "table"])

Offer = dict[str, dict[str, Resource]]


def leads_to(kind: str, *targets: str) -> Resource:
    return table("leads to", *targets) if kind == RDS else listener("leads to", None, *targets)


def offer(kind: str, *targets: str, clusters: Mapping[str, Resource]) -> Offer:
    return {CDS: dict(clusters), kind: {"way": leads_to(kind, *targets)}}


def settled(server: Server, first: Offer, *, whole: bool) -> Talk:
    """A client that has taken everything of a first offer."""
    server.publish(first)
    client = server.connect(whole=whole)
    for kind in (CDS, EDS, SDS, LDS, RDS):
        if kind in first:
            client.take_all(client.want(kind, *(() if kind in (CDS, LDS) else first[kind])))
    return client


def said(responses: list[Response]) -> list[tuple[str, list[str]]]:
    return [(response.type_url, names(response)) for response in responses]


def names_gone(responses: list[Response]) -> list[str]:
    return [name for response in responses for name in response.removed]


ONE = {"c1": cluster("v1")}
TWO = {"c1": cluster("v1"), "c2": cluster("v1")}
NEW = {"c2": cluster("v1")}


@pytest.mark.rule(31)
@BOTH
def test_one_change_is_sent_from_clusters_down_to_routes(*, whole: bool) -> None:
    server = Server()
    everything = {CDS: ONE, EDS: {}, SDS: {}, LDS: {}, RDS: {}}
    client = settled(server, everything, whole=whole)
    for kind in (EDS, SDS, RDS):
        client.take_all(client.want(kind, "x"))
    server.publish({kind: {"x": plain("x")} for kind in (RDS, LDS, SDS, EDS)} | {CDS: TWO})
    assert [response.type_url for response in client.hear()] == [CDS, EDS, SDS, LDS, RDS]


@pytest.mark.rule(32)
@BOTH
@TRAFFIC
def test_a_route_waits_until_its_cluster_is_acknowledged(*, whole: bool, kind: str) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    [made] = client.publish(offer(kind, "c2", clusters=TWO))
    assert made.type_url == CDS
    [repointed] = client.ack(made)
    assert bodies(repointed)["way"] == leads_to(kind, "c2").body.decode()


@pytest.mark.rule(32)
@BOTH
@TRAFFIC
def test_a_route_waits_until_the_endpoints_of_its_cluster_are_acknowledged(*, whole: bool, kind: str) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    cold = {**ONE, "c2": cluster("v1", "e2")}
    [made] = client.publish({**offer(kind, "c2", clusters=cold), EDS: {"e2": plain("here")}})
    assert client.ack(made) == []
    [warm] = client.want(EDS, "e2")
    [repointed] = client.ack(warm)
    assert repointed.type_url == kind


@pytest.mark.rule(32)
@BOTH
@TRAFFIC
def test_a_route_waits_for_answers_also_where_endpoints_have_the_name_of_their_cluster(
    *, whole: bool, kind: str
) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    cold = {**ONE, "c2": cluster("v1", "c2")}
    [made] = client.publish({**offer(kind, "c2", clusters=cold), EDS: {"c2": plain("here")}})
    assert client.ack(made) == []
    [warm] = client.want(EDS, "c2")
    assert warm.type_url == EDS
    [repointed] = client.ack(warm)
    assert repointed.type_url == kind


@pytest.mark.rule(32)
@BOTH
@TRAFFIC
def test_a_route_does_not_wait_for_endpoints_that_its_cluster_needs_no_more(
    *, whole: bool, kind: str
) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    cold = {**ONE, "c2": cluster("v1", "e2")}
    [made] = client.publish({**offer(kind, "c2", clusters=cold), EDS: {"e2": plain("here")}})
    assert client.ack(made) == []
    [failing] = client.publish(offer(kind, "c2", clusters={**ONE, "c2": cluster("v2")}))
    assert failing.type_url == CDS
    [repointed] = client.ack(failing)
    assert repointed.type_url == kind


@pytest.mark.rule(32)
@BOTH
@TRAFFIC
def test_a_route_does_not_wait_for_endpoints_of_a_cluster_that_was_refused(*, whole: bool, kind: str) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    cold = {**ONE, "c2": cluster("v1", "e2")}
    [made] = client.publish({**offer(kind, "c2", clusters=cold), EDS: {"e2": plain("here")}})
    [released] = client.nack(made, "c2: no such cipher")
    assert (released.type_url, names(released)) == (kind, ["way"])


@pytest.mark.rule(35)
@BOTH
@TRAFFIC
def test_a_route_that_changes_once_it_was_sent_waits_as_long_as_any_other(*, whole: bool, kind: str) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    [made] = client.publish(offer(kind, "c2", clusters=TWO))
    assert client.hear_after(HOLD - 1) == []
    [repointed] = client.ack(made)
    assert repointed.type_url == kind
    [_never_answered] = client.publish(offer(kind, "c3", clusters={**TWO, "c3": cluster("v1")}))
    assert client.ack(repointed) == []
    assert client.hear_after(HOLD - 1) == []
    [released] = client.hear_after(1)
    assert released.type_url == kind


@pytest.mark.rule(35)
def test_a_wait_that_is_over_wakes_nobody_while_another_goes_on() -> None:
    server, first = Server(), {"l1": listener("v1", None, "c1")}
    server.publish({CDS: ONE, LDS: first})
    client = server.connect(whole=True)
    [_never_answered] = client.ask(CDS)
    assert client.ask(LDS) == client.hear_after(1) == []
    assert client.publish({CDS: TWO, LDS: {**first, "l2": listener("v1", None, "c2")}}) == []
    assert client.hear_after(HOLD - 1) == []
    assert client.seat.stream.wake_at == server.clock.now + 1
    [both] = client.hear_after(1)
    assert names(both) == ["l1", "l2"]


@pytest.mark.rule(35)
@BOTH
def test_whoever_began_to_wait_first_is_looked_at_first(*, whole: bool) -> None:
    server, ways = Server(), {"r1": table("v1", "c1"), "r2": table("v1", "c1")}
    client = settled(server, {CDS: ONE, RDS: ways}, whole=whole)
    [_never_answered] = client.publish({CDS: TWO, RDS: {**ways, "r1": table("v2", "c2")}})
    end = server.clock.now + HOLD
    assert client.hear_after(1) == []
    assert client.publish({CDS: TWO, RDS: {name: table("v2", "c2") for name in ways}}) == []
    assert client.seat.stream.wake_at == end


@pytest.mark.rule(32)
@BOTH
def test_each_route_table_waits_for_itself(*, whole: bool) -> None:
    tables = {"r1": table("v1", "c1"), "r2": table("v1", "c1")}
    client = settled(Server(), {CDS: ONE, RDS: tables}, whole=whole)
    later = {"r1": table("v2", "c2"), "r2": table("v2", "c1")}
    made, free = client.publish({CDS: TWO, RDS: later})
    assert (made.type_url, bodies(free)["r2"]) == (CDS, later["r2"].body.decode())
    assert bodies(free).get("r1") == (tables["r1"].body.decode() if whole else None)


@pytest.mark.rule(32)
@BOTH
def test_each_listener_waits_for_itself(*, whole: bool) -> None:
    ports = {"l1": listener("v1", None, "c1"), "l2": listener("v1", None, "c1")}
    client = settled(Server(), {CDS: ONE, LDS: ports}, whole=whole)
    later = {"l1": listener("v2", None, "c2"), "l2": listener("v2", None, "c1")}
    made, free = client.publish({CDS: TWO, LDS: later})
    assert (made.type_url, bodies(free)["l2"]) == (CDS, later["l2"].body.decode())
    assert bodies(free).get("l1") == (ports["l1"].body.decode() if whole else None)


@pytest.mark.rule(32)
@BOTH
def test_the_newest_route_is_sent_when_the_wait_is_over(*, whole: bool) -> None:
    client = settled(Server(), offer(RDS, "c1", clusters=ONE), whole=whole)
    [made] = client.publish(offer(RDS, "c2", clusters=TWO))
    assert client.publish({CDS: TWO, RDS: {"way": table("newer", "c2")}}) == []
    [repointed] = client.ack(made)
    assert bodies(repointed) == {"way": table("newer", "c2").body.decode()}


@pytest.mark.rule(33)
@BOTH
@TRAFFIC
def test_a_cluster_that_is_not_ours_is_not_waited_for(*, whole: bool, kind: str) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    [repointed] = client.publish(offer(kind, "of the bootstrap", clusters=ONE))
    assert repointed.type_url == kind


@pytest.mark.rule(33)
@BOTH
@TRAFFIC
def test_a_cluster_that_is_ours_no_more_is_not_waited_for(*, whole: bool, kind: str) -> None:
    client = settled(Server(), offer(kind, "c1", clusters=ONE), whole=whole)
    [changed] = client.publish(offer(kind, "c1", "of the bootstrap", clusters={}))
    assert changed.type_url == kind


@pytest.mark.rule(34)
@BOTH
@TRAFFIC
def test_a_client_that_takes_no_clusters_from_us_waits_for_none(*, whole: bool, kind: str) -> None:
    server = Server()
    server.publish(offer(kind, "c1", clusters=ONE))
    [at_once] = server.connect(whole=whole).want(kind, "way")
    assert names(at_once) == ["way"]


@pytest.mark.rule(34)
@pytest.mark.rule(35)
@BOTH
@TRAFFIC
def test_a_route_to_a_rejected_cluster_is_released_and_the_old_cluster_goes(
    *, whole: bool, kind: str
) -> None:
    client = settled(Server(), offer(kind, "plaintext", clusters={"plaintext": cluster("v1")}), whole=whole)
    tls = offer(kind, "tls", clusters={"tls": cluster("v1")})
    [made] = client.publish(tls)
    [released] = client.nack(made, "tls: no such cipher")
    assert (released.type_url, bodies(released)["way"]) == (kind, leads_to(kind, "tls").body.decode())
    assert client.ack(released) == []
    [gone] = client.hear_after(GRACE)
    assert bodies(gone) == {}
    assert client.seat.stream.holdings()[CDS].keys() == {"plaintext"}
    assert client.ack(gone) == []
    assert client.seat.stream.holdings()[CDS] == {}


@pytest.mark.rule(35)
@BOTH
@TRAFFIC
def test_a_route_waits_for_a_bounded_time_only(*, whole: bool, kind: str) -> None:
    server = Server()
    client = settled(server, offer(kind, "c1", clusters=ONE), whole=whole)
    [_never_answered] = client.publish(offer(kind, "c2", clusters=TWO))
    assert client.seat.stream.wake_at == server.clock.now + HOLD
    assert client.hear_after(HOLD - 1) == []
    [released] = client.hear_after(1)
    assert released.type_url == kind
    assert [r for r in server.reports if isinstance(r, Overdue)] == [
        Overdue(client.seat.stream.envoy, kind, "way", HOLD)
    ]


@pytest.mark.rule(35)
@BOTH
def test_a_wait_that_ended_by_itself_leaves_nothing_behind(*, whole: bool) -> None:
    client = settled(Server(), offer(RDS, "c1", clusters=ONE), whole=whole)
    [made] = client.publish(offer(RDS, "c2", clusters=TWO))
    client.publish(offer(RDS, "c1", clusters=ONE))
    client.server.clock.now += HOLD
    client.take_all(client.ack(made) + client.hear_after(GRACE))
    [again] = client.publish(offer(RDS, "c2", clusters=TWO))
    assert again.type_url == CDS


@pytest.mark.rule(35)
@BOTH
def test_one_silent_type_does_not_freeze_the_others(*, whole: bool) -> None:
    first = {CDS: ONE, EDS: {"e": plain("v1")}, SDS: {"s": plain("v1")}}
    client = settled(Server(), first, whole=whole)
    [_never_answered] = client.publish({**first, CDS: TWO})
    assert said(client.publish({CDS: TWO, EDS: {"e": plain("v2")}, SDS: {"s": plain("v2")}})) == [
        (EDS, ["e"]),
        (SDS, ["s"]),
    ]


@pytest.mark.rule(36)
@pytest.mark.rule(39)
@BOTH
@TRAFFIC
def test_a_cluster_goes_some_time_after_the_last_route_to_it_was_replaced(*, whole: bool, kind: str) -> None:
    server = Server()
    client = settled(server, offer(kind, "c1", clusters=ONE), whole=whole)
    [made] = client.publish(offer(kind, "c2", clusters=NEW))
    assert names(made) == (["c1", "c2"] if whole else ["c2"])
    assert made.removed == ()
    [repointed] = client.ack(made)
    assert client.hear_after(HOLD - 1) == []
    assert client.ack(repointed) == []
    assert client.seat.stream.wake_at == server.clock.now + GRACE
    [gone] = client.hear_after(GRACE)
    assert names(gone) == (["c2"] if whole else [])
    assert gone.removed == (() if whole else ("c1",))


@pytest.mark.rule(36)
@BOTH
@TRAFFIC
def test_a_cluster_stays_while_a_route_to_it_is_on_its_way(*, whole: bool, kind: str) -> None:
    first = offer(kind, "c1", clusters=TWO)
    client = settled(Server(), first, whole=whole)
    [led] = client.publish(offer(kind, "c2", clusters=TWO))
    assert client.publish(offer(kind, "c1", clusters=ONE)) == client.hear_after(GRACE) == []
    [back] = client.ack(led)
    assert client.ack(back) == client.hear_after(GRACE - 1) == []
    assert client.hear_after(1) != []


@pytest.mark.rule(36)
def test_a_cluster_stays_for_some_time_where_a_client_cannot_be_told_that_its_table_is_gone() -> None:
    client = settled(Server(), {CDS: ONE, RDS: {"way": table("v1", "c1")}}, whole=True)
    assert client.publish({CDS: {}, RDS: {}}) == client.hear_after(HOLD + GRACE - 1) == []
    [gone] = client.hear_after(1)
    assert (gone.type_url, names(gone)) == (CDS, [])


@pytest.mark.rule(36)
def test_clusters_that_nobody_used_go_together() -> None:
    client = settled(Server(), {CDS: {**TWO, "c3": cluster("v1")}}, whole=False)
    assert client.publish({CDS: ONE}) == []
    [gone] = client.hear_after(GRACE)
    assert gone.removed == ("c2", "c3")


@pytest.mark.rule(36)
@BOTH
def test_a_cluster_that_comes_back_in_time_never_went(*, whole: bool) -> None:
    client = settled(Server(), offer(RDS, "c1", clusters=ONE), whole=whole)
    client.take_all(client.publish(offer(RDS, "c2", clusters=NEW)))
    [back] = client.publish(offer(RDS, "c1", clusters=TWO))
    client.take_all([back])
    assert client.hear_after(HOLD + GRACE) == []


@pytest.mark.rule(36)
@BOTH
def test_a_cluster_that_came_back_and_leaves_again_goes_no_sooner_than_at_first(*, whole: bool) -> None:
    both = offer(RDS, "c2", clusters=TWO)
    client = settled(Server(), both, whole=whole)
    for _ in range(2):
        assert client.publish(offer(RDS, "c2", clusters=NEW)) == []
        assert client.hear_after(GRACE - 1) == []
        client.take_all(client.publish(both))
        client.take_all(client.hear_after(HOLD))
    assert client.publish(offer(RDS, "c2", clusters=NEW)) == []
    assert client.hear_after(GRACE) != []


@pytest.mark.rule(36)
@BOTH
def test_a_cluster_goes_at_last_even_from_under_a_route_that_will_not_change(*, whole: bool) -> None:
    server = Server()
    client = settled(server, offer(RDS, "c1", clusters=ONE), whole=whole)
    [made] = client.publish(offer(RDS, "c2", clusters=NEW))
    [repointed] = client.ack(made)
    assert client.nack(repointed, "no") == []
    assert client.hear_after(HOLD + GRACE - 1) == []
    [gone] = client.hear_after(1)
    assert names(gone) == (["c2"] if whole else [])
    assert Overdue(client.seat.stream.envoy, CDS, "c1", HOLD + GRACE) in server.reports


@pytest.mark.rule(23)
@pytest.mark.rule(36)
def test_a_cluster_that_went_in_a_refused_full_set_does_not_come_back() -> None:
    client = settled(Server(), {CDS: TWO}, whole=True)
    client.publish({CDS: ONE})
    client.server.clock.now += GRACE
    [gone] = client.publish({CDS: {**ONE, "bad": cluster("bad")}})
    assert names(gone) == ["bad", "c1"]
    [again] = client.nack(gone, "bad: no such cipher")
    assert names(again) == ["c1"]


@pytest.mark.rule(36)
def test_the_endpoints_of_a_waiting_cluster_stay_with_it() -> None:
    old = {CDS: {"c1": cluster("v1", "e1")}, EDS: {"e1": plain("v1")}, RDS: {"way": table("v1", "c1")}}
    client = settled(Server(), old, whole=False)
    heard = client.publish({CDS: NEW, EDS: {}, RDS: {"way": table("v2", "c2")}})
    assert said(client.take_all(heard)) == [(CDS, ["c2"]), (RDS, ["way"])]
    [gone] = client.hear_after(GRACE)
    assert gone.removed == ("c1",)
    [then] = client.ack(gone)
    assert (then.type_url, then.removed) == (EDS, ("e1",))


@pytest.mark.rule(23)
@pytest.mark.rule(36)
@BOTH
def test_a_route_of_a_refused_response_may_be_live_so_its_clusters_stay(*, whole: bool) -> None:
    first = {CDS: TWO, RDS: {"r1": table("v1", "c1"), "r2": table("v1", "c1")}}
    client = settled(Server(), first, whole=whole)
    [both] = client.publish({CDS: TWO, RDS: {"r1": table("v2", "c2"), "r2": table("bad", "c2")}})
    client.server.publish({CDS: ONE, RDS: first[RDS]})
    [back] = client.nack(both, "'r2' is wrong")
    assert bodies(back)["r1"] == first[RDS]["r1"].body.decode()
    assert client.hear_after(GRACE) == []
    client.ack(back)
    [gone] = client.hear_after(GRACE)
    assert names(gone) == (["c1"] if whole else [])


@pytest.mark.rule(23)
@pytest.mark.rule(36)
def test_a_route_of_a_refused_response_that_was_taken_away_keeps_no_cluster() -> None:
    first = {CDS: TWO, RDS: {"r1": table("v1", "c1"), "r2": table("v1", "c1")}}
    client = settled(Server(), first, whole=False)
    [both] = client.publish({CDS: TWO, RDS: {"r1": table("v2", "c2"), "r2": table("bad", "c1")}})
    client.server.publish({CDS: ONE, RDS: {}})
    gone = client.take_all(client.nack(both, "'r2' is wrong"))
    assert names_gone(gone) == ["r1", "r2"]
    assert names_gone(client.hear_after(GRACE)) == ["c2"]


@pytest.mark.rule(37)
def test_a_returning_client_keeps_old_clusters_until_its_routes_are_current() -> None:
    server = Server()
    new = offer(RDS, "c2", clusters=NEW)
    server.publish(new)
    client = server.connect(whole=False)
    had = {CDS: {"c1": "old"}, RDS: {"way": "old"}}
    [made] = client.change(CDS, versions=had[CDS])
    assert (names(made), made.removed) == (["c2"], ())
    assert client.change(RDS, ("way",), versions=had[RDS]) == []
    assert client.hear_after(GRACE + 1) == []
    [repointed] = client.ack(made)
    assert client.ack(repointed) == []
    [gone] = client.hear_after(GRACE)
    assert gone.removed == ("c1",)


@pytest.mark.rule(37)
@BOTH
@TRAFFIC
def test_a_returning_client_is_heard_for_some_time_on_its_clusters_before_it_is_led_to_new_ones(
    *, whole: bool, kind: str
) -> None:
    server = Server()
    server.publish({**offer(kind, "c1", clusters={"c1": cluster("v1", "e1")})})
    client = server.connect(whole=whole)
    client.want(EDS, "e1")
    assert client.want(kind, "way") == []
    assert client.seat.stream.wake_at == server.clock.now + GRACE
    [made] = client.want(CDS)
    assert made.type_url == CDS
    client.leave()
    static = server.connect(whole=whole)
    static.want(EDS, "e1")
    assert static.want(kind, "way") == static.hear_after(GRACE - 1) == []
    [led] = static.hear_after(1)
    assert led.type_url == kind
    assert [each for each in server.reports if isinstance(each, Overdue)] == []


@pytest.mark.rule(37)
def test_a_returning_client_that_takes_full_sets_keeps_them_too() -> None:
    server = Server()
    old = {CDS: {"c1": cluster("v1", "e1")}, EDS: {"e1": plain("v1")}, RDS: {"way": table("v1", "c1")}}
    client = settled(server, old, whole=True)
    client.leave()
    server.publish({CDS: NEW, EDS: {}, RDS: {"way": table("v2", "c2")}})
    client = server.connect(whole=True)
    [clusters] = client.ask(CDS, version="old")
    assert names(clusters) == ["c1", "c2"]
    [kept] = client.ask(EDS, "e1", version="old")
    assert bodies(kept) == {"e1": "v1"}
    assert client.ask(RDS, "way", version="old") == []
    client.take_all([clusters, kept])
    [gone] = client.hear_after(GRACE)
    assert names(gone) == ["c2"]


@pytest.mark.rule(37)
def test_a_returning_client_keeps_clusters_that_went_while_the_whole_group_was_withdrawn() -> None:
    server = Server()
    first = {CDS: ONE, RDS: {"way": table("v1", "c1")}}
    client, _stays = settled(server, first, whole=True), server.connect(whole=True)
    client.leave()
    server.hub.withdraw(GROUP)
    server.publish({CDS: NEW, RDS: {"way": table("v2", "c2")}})
    [clusters] = server.connect(whole=True).ask(CDS, version=client.versions[CDS])
    assert names(clusters) == ["c1", "c2"]


@pytest.mark.rule(37)
@pytest.mark.parametrize("has_let_go", [True, False])
def test_a_returning_client_is_given_again_only_what_its_full_set_had(*, has_let_go: bool) -> None:
    server = Server()
    old = {"c1": cluster("v1", None, "s")}
    client = settled(server, {CDS: old, SDS: {"s": plain("s")}, RDS: {"way": table("v1", "c1")}}, whole=True)
    client.take_all(client.publish({CDS: NEW, SDS: {}, RDS: {"way": table("v2", "c2")}}))
    if has_let_go:
        client.take_all(client.hear_after(GRACE))
    client.leave()
    [clusters] = server.connect(whole=True).ask(CDS, version=client.versions[CDS])
    assert names(clusters) == (["c2"] if has_let_go else ["c1", "c2"])


@pytest.mark.rule(37)
def test_a_returning_client_does_not_lose_listeners_that_must_wait() -> None:
    server = Server()
    server.publish({CDS: ONE, LDS: {"l1": listener("v1", None, "c1"), "l2": listener("v1")}})
    client = server.connect(whole=True)
    [made] = client.ask(CDS, version="old")
    assert client.ask(LDS, version="old") == []
    [both] = client.ack(made)
    assert names(both) == ["l1", "l2"]


@pytest.mark.rule(40)
@BOTH
def test_endpoints_follow_their_changed_cluster_although_they_did_not_change(*, whole: bool) -> None:
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("v1"), "other": plain("v1")}}
    client = settled(Server(), first, whole=whole)
    changed, again = client.publish({**first, CDS: {"c": cluster("v2", "e")}})
    assert (changed.type_url, again.type_url) == (CDS, EDS)
    assert "e" in names(again)


@pytest.mark.rule(40)
@pytest.mark.rule(41)
@pytest.mark.parametrize("parent", [CDS, LDS], ids=["cluster", "listener"])
@pytest.mark.parametrize("then", ["v2", "v3", None], ids=["stays", "changes again", "goes"])
def test_a_client_that_was_lost_after_a_change_gets_what_follows_it_before_it_says_what_it_has(
    parent: str, then: str | None
) -> None:
    waits_for = [(EDS, ["e"]), (SDS, ["s"])] if parent == CDS else [(SDS, ["s"])]

    def said_by(version: str | None) -> Offer:
        made = Resource(f"{version}".encode(), secrets=("s",), endpoints="e" if parent == CDS else None)
        return {parent: {"x": made} if version else {}, EDS: {"e": plain("here")}, SDS: {"s": plain("s")}}

    def comes_back() -> list[tuple[str, list[str]]]:
        returned, offered = server.connect(whole=False), server.hub.snapshot(GROUP)
        assert offered is not None
        had = {
            kind: {name: each.version for name, each in offered.entries[kind].items()} for kind in (EDS, SDS)
        }
        heard = [returned.change(kind, tuple(names), versions=names) for kind, names in had.items()]
        return said([each for some in heard for each in some])

    server = Server()
    client = settled(server, said_by("v1"), whole=False)
    assert comes_back() == []
    changed = client.publish(said_by("v2"))
    assert changed[0].type_url == parent
    client.leave()
    server.publish(said_by(then))
    assert comes_back() == waits_for
    server.clock.now += YOUNG
    assert comes_back() == []


@pytest.mark.rule(40)
def test_endpoints_that_left_the_offer_follow_a_cluster_of_an_earlier_stream_as_they_were() -> None:
    server = Server()
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("here")}}
    client = settled(server, first, whole=False)
    held = client.seat.stream.holdings()[EDS]
    client.publish({**first, CDS: {"c": cluster("v2", "e")}})
    client.leave()
    server.publish({CDS: {}})
    [kept] = server.connect(whole=False).change(EDS, ("e",), versions=held)
    assert (bodies(kept), kept.removed) == ({"e": "here"}, ())


@pytest.mark.rule(40)
def test_what_follows_a_last_good_cluster_is_sent_once_more_to_who_was_lost_after_it_was_given_again() -> (
    None
):
    server = Server()
    others: Offer = {CDS: {"other": cluster("v1", "e")}, EDS: {"e": plain("here")}}
    client = settled(server, {**others, CDS: {**others[CDS], "c": cluster("good", "e")}}, whole=False)
    client.publish(others)
    client.take_all(client.hear_after(GRACE))
    server.clock.now += YOUNG
    [bad] = client.publish({**others, CDS: {**others[CDS], "c": cluster("bad")}})
    good, _endpoints = client.nack(bad, "no")
    assert bodies(good) == {"c": cluster("good", "e").body.decode()}
    held = client.seat.stream.holdings()[EDS]
    client.leave()
    assert said(server.connect(whole=False).change(EDS, ("e",), versions=held)) == [(EDS, ["e"])]


@pytest.mark.rule(40)
def test_a_returning_client_gets_what_follows_the_last_good_cluster_that_it_is_given_again() -> None:
    def said_by(version: str) -> Offer:
        return {CDS: {"c": cluster(version, "e")}, EDS: {"e": plain("here")}}

    server = Server()
    client = settled(server, said_by("good"), whole=True)
    client.publish(said_by("never answered"))
    client.leave()
    server.publish(said_by("bad"))
    returned = server.connect(whole=True)
    returned.take_all(returned.ask(EDS, "e", version="old"))
    bad, endpoints = returned.ask(CDS, version="old")
    returned.ack(endpoints)
    assert said(returned.nack(bad, "no")) == [(CDS, ["c"]), (EDS, ["e"])]


@pytest.mark.rule(40)
@BOTH
def test_a_new_cluster_that_shares_endpoints_gets_them_unasked(*, whole: bool) -> None:
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("v1")}, RDS: {"way": table("v1", "c")}}
    client = settled(Server(), first, whole=whole)
    two = {**first[CDS], "policy": cluster("v1", "e")}
    made, again = client.publish({**first, CDS: two, RDS: {"way": table("v1", "policy")}})
    assert (made.type_url, again.type_url) == (CDS, EDS)
    assert client.ack(made) == []
    [repointed] = client.ack(again)
    assert repointed.type_url == RDS


@pytest.mark.rule(40)
@BOTH
def test_endpoints_on_their_way_before_the_cluster_changed_are_sent_once_more(*, whole: bool) -> None:
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("v1")}}
    client = settled(Server(), first, whole=whole)
    [early] = client.publish({**first, EDS: {"e": plain("v2")}})
    [changed] = client.publish({CDS: {"c": cluster("v2", "e")}, EDS: {"e": plain("v2")}})
    assert client.ack(changed) == []
    [late] = client.ack(early)
    assert said([late]) == [(EDS, ["e"])]


@pytest.mark.rule(32)
@pytest.mark.rule(40)
@BOTH
def test_a_route_waits_for_the_endpoints_that_were_sent_after_its_cluster_not_before(*, whole: bool) -> None:
    clusters, way = {**ONE, "c": cluster("v1", "e")}, {"way": table("v1", "c1")}
    client = settled(Server(), {CDS: clusters, EDS: {"e": plain("v1")}, RDS: way}, whole=whole)
    new = {EDS: {"e": plain("v2")}, RDS: {"way": table("v2", "c")}}
    [early] = client.publish({**new, CDS: clusters, RDS: way})
    [changed] = client.publish({**new, CDS: {**ONE, "c": cluster("v2", "e")}})
    assert client.ack(changed) == []
    [late] = client.ack(early)
    assert said([late]) == [(EDS, ["e"])]
    [repointed] = client.ack(late)
    assert repointed.type_url == RDS


@pytest.mark.rule(40)
@pytest.mark.rule(66)
@BOTH
def test_a_cluster_that_changes_while_its_endpoints_are_refused_gets_those_of_before(*, whole: bool) -> None:
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("v1")}}
    client = settled(Server(), first, whole=whole)
    [bad] = client.publish({**first, EDS: {"e": plain("v2")}})
    assert client.nack(bad, "no") == []
    _, again = client.publish({CDS: {"c": cluster("v2", "e")}, EDS: {"e": plain("v2")}})
    assert (again.type_url, bodies(again)) == (EDS, {"e": "v1"})
    client.take_all([again])
    [mended] = client.publish({CDS: {"c": cluster("v2", "e")}, EDS: {"e": plain("v3")}})
    assert bodies(mended) == {"e": "v3"}


@pytest.mark.rule(43)
@pytest.mark.rule(66)
@BOTH
def test_a_new_cluster_whose_endpoints_are_refused_has_none_and_is_led_to(*, whole: bool) -> None:
    first = {CDS: ONE, EDS: {"e": plain("v1")}, RDS: {"way": table("v1", "c1")}}
    client = settled(Server(), first, whole=whole)
    new = {CDS: {**ONE, "c2": cluster("v1", "e2")}, RDS: {"way": table("v2", "c2")}}
    [made] = client.publish({**new, EDS: {"e": plain("v1"), "e2": plain("bad")}})
    client.ack(made)
    [bad] = client.change(EDS, ("e2",)) if not whole else client.ask(EDS, "e", "e2")
    none, way = client.nack(bad, "e2: no")
    assert (bodies(none)["e2"], way.type_url) == ("\n\x02e2", RDS)
    client.take_all([none, way])
    assert client.server.hub.held_back()[EDS] == 1
    [good] = client.publish({**new, EDS: {"e": plain("v1"), "e2": plain("good")}})
    assert bodies(good)["e2"] == "good"


@pytest.mark.rule(41)
@BOTH
@pytest.mark.parametrize("parent", [CDS, LDS])
def test_secrets_follow_their_changed_parent_although_they_did_not_change(
    *, whole: bool, parent: str
) -> None:
    def mentions(text: str) -> Resource:
        return Resource(text.encode(), secrets=("s",))

    client = settled(Server(), {parent: {"p": mentions("v1")}, SDS: {"s": plain("v1")}}, whole=whole)
    heard = client.publish({parent: {"p": mentions("v2")}, SDS: {"s": plain("v1")}})
    assert said(heard) == [(parent, ["p"]), (SDS, ["s"])]


@pytest.mark.rule(43)
@BOTH
def test_a_cluster_whose_endpoints_nobody_gave_is_told_that_it_has_none(*, whole: bool) -> None:
    client = settled(Server(), {CDS: {"c": cluster("v1", "e")}}, whole=whole)
    [none] = client.want(EDS, "e")
    assert bodies(none) == {"e": "\n\x01e"}
    client.ack(none)
    [some] = client.publish({CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("v1")}})
    assert bodies(some) == {"e": "v1"}


@pytest.mark.rule(40)
@BOTH
def test_endpoints_that_leave_the_offer_follow_their_changed_cluster_all_the_same(*, whole: bool) -> None:
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("here")}, RDS: {"way": table("v1", "c")}}
    client = settled(Server(), first, whole=whole)
    client.server.publish({**first, CDS: {"c": cluster("v2", "e")}})
    changed = client.server.hub.next(client.seat)
    assert changed is not None
    other = {CDS: {"c": cluster("without")}, EDS: {}, RDS: first[RDS]}
    [kept] = client.publish(other)
    assert bodies(kept) == {"e": "here"}
    [refused] = client.ack(changed)
    assert client.nack(refused, "no") == client.ack(kept) == []


@pytest.mark.rule(43)
@BOTH
def test_a_cluster_that_left_before_its_endpoints_came_is_told_that_it_has_none(*, whole: bool) -> None:
    client = settled(Server(), {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("v1")}}, whole=whole)
    client.server.publish({CDS: {}})
    fresh = client.server.connect(whole=whole)
    client.server.publish({CDS: {"c": cluster("v1", "e")}, RDS: {}})
    fresh.take_all(fresh.want(CDS))
    fresh.publish({CDS: {}})
    [none] = fresh.want(EDS, "e")
    assert bodies(none) == {"e": "\n\x01e"}


@pytest.mark.rule(43)
@BOTH
@pytest.mark.parametrize("then", [ONE, {}], ids=["is replaced", "goes"])
def test_a_cluster_that_waits_since_an_earlier_stream_is_told_that_it_has_none(
    *, whole: bool, then: Mapping[str, Resource]
) -> None:
    server = Server()
    client = settled(server, {CDS: {}}, whole=whole)
    [_made] = client.publish({CDS: {"c1": cluster("v1", "e")}})
    client.leave()
    server.publish({CDS: then})
    returned = server.connect(whole=whole)
    [none] = returned.want(EDS, "e", "nobody")
    assert bodies(none) == {"e": "\n\x01e"}
    assert returned.ack(none) == []


@pytest.mark.rule(40)
def test_a_returning_client_gets_what_follows_a_cluster_that_it_is_left_for_some_time() -> None:
    server = Server()
    client = settled(server, {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("here")}}, whole=True)
    client.publish({CDS: {"c": cluster("never answered", "e")}, EDS: {"e": plain("here")}})
    client.leave()
    server.publish({CDS: {}, EDS: {"e": plain("here")}})
    returned = server.connect(whole=True)
    returned.take_all(returned.ask(EDS, "e", version="old"))
    left, endpoints = returned.ask(CDS, version="old")
    assert bodies(left) == {"c": cluster("v1", "e").body.decode()}
    assert said([endpoints]) == [(EDS, ["e"])]
    returned.take_all([left, endpoints])
    [gone] = returned.hear_after(HOLD + GRACE)
    assert (gone.type_url, names(gone)) == (CDS, [])


@pytest.mark.rule(43)
def test_a_cluster_that_a_returning_client_is_given_once_more_is_told_that_it_has_none() -> None:
    server = Server()
    settled(server, {CDS: {"c": cluster("v1", "e")}}, whole=True).leave()
    server.publish({CDS: {}})
    server.clock.now += YOUNG
    returned = server.connect(whole=True)
    [given] = returned.ask(CDS, version="old")
    assert names(given) == ["c"]
    [none] = returned.ask(EDS, "e")
    assert bodies(none) == {"e": "\n\x01e"}


@pytest.mark.rule(43)
@BOTH
def test_a_cluster_that_was_kept_while_it_was_refused_is_told_again_that_it_has_none(*, whole: bool) -> None:
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("here")}}
    client = settled(Server(), first, whole=whole)
    [refused] = client.publish({CDS: {"c": cluster("bad")}})
    client.nack(refused, "no")
    assert names_gone(client.take_all(client.hear_after(HOLD + GRACE))) == ([] if whole else ["e"])
    [none] = client.publish({CDS: first[CDS]})
    assert bodies(none) == {"e": "\n\x01e"}


@pytest.mark.rule(43)
def test_a_returning_client_that_kept_a_cluster_while_it_was_refused_is_told_again_that_it_has_none() -> None:
    server, kept = Server(), {"c": cluster("v1", "e")}
    settled(server, {CDS: kept, EDS: {}}, whole=False).leave()
    server.publish({CDS: {"c": cluster("bad")}})
    server.clock.now += YOUNG
    client, none = server.connect(whole=False), no_endpoints("e")
    [refused] = client.change(CDS, versions={"c": Entry(CDS, "c", kept["c"]).version})
    client.nack(refused, "no")
    assert client.change(EDS, ("e",), versions={"e": none.version}) == []
    assert names_gone(client.take_all(client.hear_after(HOLD + GRACE))) == ["e"]
    [again] = client.publish({CDS: kept})
    assert again.entries[0].version == none.version


@pytest.mark.rule(44)
@BOTH
def test_a_rotated_secret_touches_nothing_else(*, whole: bool) -> None:
    first = {CDS: {"c": cluster("v1", None, "s")}, SDS: {"s": plain("v1")}, LDS: {"l": listener("v1")}}
    client = settled(Server(), first, whole=whole)
    assert said(client.publish({**first, SDS: {"s": plain("v2")}})) == [(SDS, ["s"])]


@pytest.mark.rule(45)
def test_changed_endpoints_touch_nothing_else() -> None:
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("v1"), "f": plain("v1")}}
    client = settled(Server(), first, whole=False)
    assert said(client.publish({**first, EDS: {**first[EDS], "e": plain("v2")}})) == [(EDS, ["e"])]


@pytest.mark.rule(62)
@pytest.mark.parametrize("kind", [EDS, SDS])
def test_a_secret_of_another_group_is_absent_to_a_guesser(kind: str) -> None:
    server = Server()
    server.publish({kind: {"mine": plain("m")}})
    server.hub.publish("other/gateway", Snapshot.of({kind: {"theirs": plain("t")}}))
    [none] = server.connect(whole=False).change(kind, ("theirs",))
    assert (none.entries, none.removed) == ((), ("theirs",))


@pytest.mark.rule(66)
@BOTH
def test_a_cluster_that_was_refused_for_its_secrets_sake_is_offered_again(*, whole: bool) -> None:
    def offered(text: str, secret: str) -> Offer:
        return {CDS: {"c1": cluster(text, None, "s")}, SDS: {"s": plain(secret)}}

    client = settled(Server(), offered("old", "good"), whole=whole)
    [changed, bad] = client.publish(offered("new", "bad"))
    assert bodies(bad) == {"s": "bad"}
    client.nack(changed, "no certificate")
    [good] = client.nack(bad, "no certificate")
    assert bodies(good) == {"s": "good"}
    [repeated, *_] = client.ack(good)
    assert bodies(repeated) == bodies(changed)


@pytest.mark.rule(21)
@BOTH
def test_a_refused_cluster_is_not_offered_again_for_the_sake_of_endpoints(*, whole: bool) -> None:
    def offered(text: str, at: str) -> Offer:
        return {CDS: {"c1": cluster(text, "e1")}, EDS: {"e1": plain(at)}}

    client = settled(Server(), offered("good", "here"), whole=whole)
    changed, again = client.publish(offered("bad", "here"))
    client.ack(again)
    client.nack(changed, "no such cipher")
    [bad] = client.publish(offered("bad", "bad"))
    assert client.nack(bad, "no address") == []
    [good] = client.publish(offered("bad", "there"))
    assert bodies(good) == {"e1": "there"}
    assert client.ack(good) == []


@pytest.mark.rule(32)
@BOTH
@TRAFFIC
def test_a_route_waits_while_it_is_not_known_whose_endpoints_were_refused(*, whole: bool, kind: str) -> None:
    first = {**offer(kind, "c1", clusters=ONE), EDS: {"e2": plain("nobody"), "e3": plain("nobody")}}
    client = settled(Server(), first, whole=whole)
    cold = {**ONE, "c2": cluster("v1", "e2")}
    made, both = client.publish(
        {**offer(kind, "c2", clusters=cold), EDS: {"e2": plain("there"), "e3": plain("bad")}}
    )
    assert client.ack(made) == []
    [half] = client.nack(both, "no")
    assert bodies(half)["e2"] == "there"
    other, repointed = client.ack(half)
    assert (other.type_url, repointed.type_url) == (EDS, kind)


@pytest.mark.rule(36)
@BOTH
@pytest.mark.parametrize("parent", [CDS, LDS])
def test_a_secret_goes_after_whoever_names_it(*, whole: bool, parent: str) -> None:
    named = Resource(b"v1", secrets=("s",))
    client = settled(Server(), {parent: {"p": named}, SDS: {"s": plain("s")}}, whole=whole)
    [replaced] = client.publish({parent: {"p": plain("v2")}})
    assert "s" in client.seat.stream.holdings()[SDS]
    heard = client.ack(replaced)
    assert names_gone(heard) == ([] if whole else ["s"])
    client.take_all(heard)
    assert client.seat.stream.holdings()[SDS] == {}


@pytest.mark.rule(37)
@BOTH
@TRAFFIC
def test_a_client_that_came_back_is_heard_on_its_clusters_for_as_long_as_one_may_be_cold(
    *, whole: bool, kind: str
) -> None:
    server, name = Server(), "way"
    server.publish(offer(kind, "c1", clusters={"c1": cluster("v1", "e1")}))
    client = server.connect(whole=whole)
    names_it = () if kind == LDS else (name,)
    if whole:
        heard = client.ask(kind, *names_it, version="old")
    else:
        heard = client.change(kind, names_it, versions={name: "old"})
    assert heard == client.hear_after(HOLD + GRACE - 1) == []
    [led] = client.hear_after(1)
    assert led.type_url == kind
    assert [each for each in server.reports if isinstance(each, Overdue)] == []


@pytest.mark.rule(40)
def test_endpoints_of_a_cluster_of_an_earlier_stream_stay_until_the_client_says_that_it_has_none() -> None:
    server = Server()
    first = {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("here")}, SDS: {"e": plain("of the same name")}}
    client = settled(server, first, whole=False)
    held = client.seat.stream.holdings()
    client.publish({**first, CDS: {"c": cluster("v2", "e")}})
    client.leave()
    server.publish({CDS: {}})
    returned = server.connect(whole=False)
    [kept] = returned.change(EDS, ("e",), versions=held[EDS])
    assert returned.ack(kept) == []
    [no_listeners] = returned.change(LDS)
    assert no_listeners.type_url == LDS
    [of_the_same_name] = returned.change(SDS, ("e",), versions=held[SDS])
    assert (of_the_same_name.type_url, of_the_same_name.removed) == (SDS, ("e",))
    *_, gone = returned.change(CDS)
    assert (gone.type_url, gone.removed) == (EDS, ("e",))


@pytest.mark.rule(32)
@BOTH
def test_a_cold_cluster_is_waited_for_although_a_table_of_its_name_was_refused(*, whole: bool) -> None:
    first = {"way": table("v1", "c1"), "c2": table("v1", "c1")}
    client = settled(Server(), {CDS: ONE, RDS: first}, whole=whole)
    cold = {**ONE, "c2": cluster("v1", "e2")}
    made, table_of_its_name = client.publish({CDS: cold, RDS: {**first, "c2": table("bad", "c1")}})
    assert client.ack(made) == client.nack(table_of_its_name, "'c2' is wrong") == []
    assert client.publish({CDS: cold, RDS: {"way": table("v2", "c2"), "c2": table("bad", "c1")}}) == []


@pytest.mark.rule(62)
def test_a_guessed_secret_is_absent_also_where_endpoints_have_its_name() -> None:
    client = settled(Server(), {CDS: {"c": cluster("v1", "e")}, EDS: {"e": plain("here")}}, whole=False)
    [none] = client.change(SDS, ("e",))
    assert (none.type_url, none.entries, none.removed) == (SDS, (), ("e",))


def proved(text: str, *secrets: str) -> Resource:
    """A cluster that waits for secrets."""
    return cluster(text, None, *secrets)


FULL_SET_GOES_ON: dict[str, tuple[Offer, dict[str, str]]] = {
    "replaced": ({CDS: {**TWO, "c+q": proved("v1", "q")}, SDS: {"q": plain("q")}}, {"c+q": "v1"}),
    "changed": ({CDS: {**TWO, "c+p": proved("v2")}}, {"c+p": "v2"}),
    "gone": ({CDS: {**TWO, "c3": proved("v1")}}, {"c3": "v1"}),
}


@pytest.mark.rule(27)
@pytest.mark.rule(43)
@pytest.mark.parametrize("then", FULL_SET_GOES_ON)
def test_the_next_full_set_does_not_wait_for_a_cluster_that_is_cold_for_want_of_a_secret_that_is_gone(
    then: str,
) -> None:
    offered, new = FULL_SET_GOES_ON[then]
    way = {"way": table("v1", "c1")}
    client = settled(Server(), {CDS: ONE, SDS: {}, RDS: way}, whole=True)
    [made] = client.publish({CDS: {**TWO, "c+p": proved("v1", "p")}, SDS: {"p": plain("p")}, RDS: way})
    [overtaking] = client.publish({**offered, RDS: {"way": table("v2", *new)}})
    assert overtaking.type_url == CDS
    said_anew = {name: body.split()[0] for name, body in bodies(overtaking).items()}
    assert said_anew == {"c1": "v1", "c2": "v1", **new}
    assert client.ack(made) == []
    [led] = client.ack(overtaking)
    assert led.type_url == RDS
    assert client.take_all([led])[1:] == client.hear_after(HOLD + GRACE) == []


@pytest.mark.rule(27)
def test_a_cluster_that_the_next_full_set_takes_back_is_offered_again_if_it_comes_back() -> None:
    first, proof = {CDS: ONE, SDS: {}}, {CDS: {**ONE, "c+p": proved("v1", "p")}, SDS: {"p": plain("p")}}
    client = settled(Server(), first, whole=True)
    [made] = client.publish(proof)
    assert client.publish(first) == []
    [again] = client.publish(proof)
    assert bodies(again) == bodies(made)
    assert client.ack(made) == client.ack(again) == []
    assert client.seat.stream.holdings()[CDS].keys() == {"c1", "c+p"}


@pytest.mark.rule(27)
def test_what_went_in_a_full_set_that_another_overtakes_does_not_come_back() -> None:
    client = settled(Server(), {CDS: TWO}, whole=True)
    client.publish({CDS: ONE})
    client.server.clock.now += GRACE
    [gone] = client.publish({CDS: {**ONE, "c+p": proved("v1", "p")}, SDS: {"p": plain("p")}})
    assert names(gone) == ["c+p", "c1"]
    [overtaking] = client.publish({CDS: {**ONE, "c3": proved("v1")}})
    assert names(overtaking) == ["c1", "c3"]


@pytest.mark.rule(27)
@BOTH
@pytest.mark.parametrize("stays", ["cluster", "secret", "client's"])
def test_clusters_wait_for_an_answer_that_no_lost_secret_holds_up(*, whole: bool, stays: str) -> None:
    secrets = {} if stays == "cluster" else {"p": plain("p")}
    client = settled(Server(), {CDS: ONE, SDS: secrets if stays == "client's" else {}}, whole=whole)
    made, *_ = client.publish({CDS: {**ONE, "c+p": proved("v1", "p")}, SDS: secrets})
    kept = {"c+p": proved("v1", "p")} if stays == "cluster" else {}
    offered: Offer = {CDS: {**ONE, **kept, "c2": cluster("v1")}, SDS: secrets if stays == "secret" else {}}
    assert CDS not in {response.type_url for response in client.publish(offered)}
    assert names(client.ack(made)[0])[-1] == "c2"


@pytest.mark.rule(27)
def test_clusters_wait_where_a_client_can_be_told_that_a_secret_is_gone() -> None:
    client = settled(Server(), {CDS: ONE, SDS: {}}, whole=False)
    [_made] = client.publish({CDS: {**ONE, "c+p": proved("v1", "p")}, SDS: {"p": plain("p")}})
    assert client.publish({CDS: {**ONE, "c2": cluster("v1")}}) == []
    [none] = client.change(SDS, ("p",))
    assert (none.type_url, none.removed) == (SDS, ("p",))


@pytest.mark.rule(27)
@pytest.mark.rule(37)
def test_clusters_that_a_returning_client_is_left_are_waited_for_though_their_secrets_are_gone() -> None:
    server = Server()
    settled(server, {CDS: {"c+p": proved("v1", "p")}, SDS: {"p": plain("p")}}, whole=True).leave()
    server.publish({CDS: ONE})
    returned = server.connect(whole=True)
    [left] = returned.ask(CDS, version="old")
    assert names(left) == ["c+p", "c1"]
    assert returned.publish({CDS: TWO}) == []


@pytest.mark.rule(27)
@pytest.mark.rule(66)
def test_a_last_good_cluster_whose_secret_is_gone_is_sent_once_and_waited_for() -> None:
    server = Server()
    settled(server, {CDS: {"c": proved("v1", "p")}, SDS: {"p": plain("p")}}, whole=True).leave()
    server.publish({CDS: {"c": proved("bad")}})
    newcomer = server.connect(whole=True)
    [bad] = newcomer.ask(CDS)
    assert server.hub.receive(newcomer.seat, Ask(CDS, nonce=bad.nonce, error="no")) is None
    good, then = server.hub.next(newcomer.seat), server.hub.next(newcomer.seat)
    assert good is not None
    assert bodies(good) == {"c": proved("v1", "p").body.decode()}
    assert then is None
