"""A backend that is emptied while traffic is led away from it: nobody is led where nobody is left."""

from collections.abc import Mapping

import pytest

from tests.xds_server.honest_envoy import GROUP, cluster, plain, table
from tests.xds_server.talk import GRACE, HOLD, Server, Talk, bodies
from tests.xds_server.test_order import BOTH, TRAFFIC, Offer, offer, settled
from xds_server.memory import KEPT_AFTER_REMOVAL
from xds_server.messages import Response
from xds_server.report import Overdue
from xds_server.snapshot import CDS, EDS, LDS, RDS, Resource, Snapshot, no_endpoints

NOBODY = no_endpoints("e1").resource
NONE = NOBODY.body.decode()
SHARED = {"c1": cluster("v1", "e1"), "c2": cluster("v1", "e2")}
REPLACED = {
    "changed": {**SHARED, "c1": cluster("v2", "e1")},
    "by another name": {"proved": cluster("v1", "e1"), "c2": SHARED["c2"]},
}
ALL = (CDS, EDS, LDS, RDS)


def filled(kind: str, *targets: str) -> Offer:
    return {**offer(kind, *targets, clusters=SHARED), EDS: {"e1": plain("here"), "e2": plain("there")}}


def emptied(kind: str, *targets: str, clusters: Mapping[str, Resource] = SHARED) -> Offer:
    return {**offer(kind, *targets, clusters=clusters), EDS: {"e1": NOBODY, "e2": plain("there")}}


def told_of_e1(responses: list[Response]) -> list[str]:
    """What a client is told of these endpoints, and when of the way, in the order in which it hears of it."""
    said_by = (bodies(each) for each in responses)
    return [each.get("e1", "way") for each in said_by if "e1" in each or "way" in each]


def comes_back(server: Server, was: Snapshot, *kinds: str, whole: bool) -> tuple[Talk, list[Response]]:
    """A client that had everything of an earlier offer opens a stream anew; it, and what it hears."""
    client, heard = server.connect(whole=whole), list[Response]()
    for kind in kinds:
        had = {name: each.version for name, each in was.entries[kind].items()}
        subscribes = () if kind in (CDS, LDS) else tuple(had)
        if whole:
            heard += client.ask(kind, *subscribes, version="old")
        else:
            heard += client.change(kind, subscribes, versions=had)
    return client, heard


def left(server: Server, kind: str, *, whole: bool) -> Snapshot:
    """A client took everything of a first offer, and left; what that was."""
    settled(server, filled(kind, "c1"), whole=whole).leave()
    was = server.hub.snapshot(GROUP)
    assert was is not None
    return was


@pytest.mark.rule(36)
@BOTH
@TRAFFIC
def test_endpoints_are_emptied_when_what_leads_away_from_them_was_taken(*, whole: bool, kind: str) -> None:
    client = settled(Server(), filled(kind, "c1"), whole=whole)
    [led] = client.publish(emptied(kind, "c2"))
    assert led.type_url == kind
    [told] = client.ack(led)
    assert bodies(told)["e1"] == NONE


@pytest.mark.rule(36)
@BOTH
@TRAFFIC
def test_endpoints_are_emptied_at_once_where_nobody_is_led_away(*, whole: bool, kind: str) -> None:
    client = settled(Server(), filled(kind, "c1"), whole=whole)
    [told] = client.publish(emptied(kind, "c1"))
    assert bodies(told)["e1"] == NONE


@pytest.mark.rule(35)
@BOTH
@TRAFFIC
def test_endpoints_wait_for_a_bounded_time_to_be_emptied(*, whole: bool, kind: str) -> None:
    server = Server()
    client = settled(server, filled(kind, "c1"), whole=whole)
    [_] = client.publish(emptied(kind, "c2"))
    assert client.hear_after(HOLD - 1) == []
    [told] = client.hear_after(1)
    assert bodies(told)["e1"] == NONE
    assert Overdue(client.seat.stream.envoy, EDS, "e1", HOLD) in server.reports


@pytest.mark.rule(36)
@pytest.mark.rule(40)
@BOTH
@TRAFFIC
@pytest.mark.parametrize("replaced", REPLACED.values(), ids=REPLACED)
def test_endpoints_follow_a_changed_cluster_as_they_were_while_traffic_is_led_away_from_it(
    *, whole: bool, kind: str, replaced: Mapping[str, Resource]
) -> None:
    client = settled(Server(), filled(kind, "c1"), whole=whole)
    also = "c1" if "c1" in replaced else "proved"  # of another route in the same table
    heard = client.take_all(client.publish(emptied(kind, "c2", also, clusters=replaced)))
    assert told_of_e1(heard) == ["here", "way", NONE]


@pytest.mark.rule(40)
@BOTH
@TRAFFIC
def test_a_new_cluster_does_not_wait_to_be_told_of_endpoints_from_which_a_route_is_led_to_it(
    *, whole: bool, kind: str
) -> None:
    client = settled(Server(), filled(kind, "c1"), whole=whole)
    proved = {**SHARED, "proved": cluster("v1", "e1")}
    heard = client.publish(emptied(kind, "proved", clusters=proved))
    assert told_of_e1(client.take_all(heard)) == ["here", "way", NONE]


@pytest.mark.rule(35)
@BOTH
@TRAFFIC
def test_endpoints_stay_as_they_were_behind_a_changed_cluster_for_a_bounded_time(
    *, whole: bool, kind: str
) -> None:
    server = Server()
    client = settled(server, filled(kind, "c1"), whole=whole)
    changed, as_before, _ = client.publish(emptied(kind, "c2", clusters=REPLACED["changed"]))
    client.ack(changed)
    assert client.ack(as_before) == client.hear_after(HOLD - 1) == []
    again = client.publish(emptied(kind, "c2", clusters={**SHARED, "c1": cluster("v3", "e1")}))
    assert told_of_e1(again) == ["here"]
    for each in again:
        client.ack(each)
    [last] = client.hear_after(1)
    assert bodies(last)["e1"] == NONE
    assert Overdue(client.seat.stream.envoy, EDS, "e1", HOLD) in server.reports


@pytest.mark.rule(40)
@BOTH
@TRAFFIC
def test_a_changed_cluster_whose_endpoints_were_none_before_is_told_so_at_once(
    *, whole: bool, kind: str
) -> None:
    client = settled(Server(), emptied(kind, "c1"), whole=whole)
    heard = client.take_all(client.publish(emptied(kind, "c2", "c1", clusters=REPLACED["changed"])))
    assert told_of_e1(heard) == [NONE, "way"]


@pytest.mark.rule(37)
@BOTH
@TRAFFIC
@pytest.mark.parametrize("clusters", [SHARED, *REPLACED.values()], ids=["same", *REPLACED])
@pytest.mark.parametrize("others", [0, 1], ids=["alone", "after another"])
def test_a_returning_client_loses_endpoints_when_it_took_what_leads_away_from_them(
    *, whole: bool, kind: str, clusters: Mapping[str, Resource], others: int
) -> None:
    server = Server()
    was = left(server, kind, whole=whole)
    also = "proved" if "proved" in clusters else "c1"
    server.publish(emptied(kind, "c2", also, clusters=clusters))
    for _ in range(others):
        another, all_of_it = comes_back(server, was, *ALL, whole=whole)
        another.take_all(all_of_it)
    client, heard = comes_back(server, was, *ALL, whole=whole)
    *before, then, last = told_of_e1(client.take_all(heard))
    assert (then, last) == ("way", NONE)
    assert set(before) <= {"here", "way"}


@pytest.mark.rule(37)
@BOTH
def test_a_returning_client_loses_endpoints_when_it_took_the_last_table_that_waited(*, whole: bool) -> None:
    server = Server()
    first = {**filled(RDS, "c1"), RDS: {"way": table("v1", "c1"), "other": table("v1", "c2")}}
    settled(server, first, whole=whole).leave()
    was = server.hub.snapshot(GROUP)
    assert was is not None
    new = {**SHARED, "c3": cluster("v1", "e3")}
    tables = {"way": table("v2", "c3"), "other": table("v2", "c2")}
    server.publish({**emptied(RDS, "c2", clusters=new), RDS: tables})
    client, heard = comes_back(server, was, *ALL, whole=whole)
    told = client.take_all(heard)
    assert NONE not in told_of_e1(told)
    asks_for_new = client.ask(EDS, "e1", "e2", "e3") if whole else client.change(EDS, ("e3",))
    assert told_of_e1(client.take_all(asks_for_new))[-2:] == ["way", NONE]


@pytest.mark.rule(37)
@TRAFFIC
def test_a_returning_client_whose_routes_are_current_loses_endpoints_at_once(kind: str) -> None:
    server = Server()
    was = left(server, kind, whole=False)
    server.publish(emptied(kind, "c1"))
    _, heard = comes_back(server, was, *ALL, whole=False)
    assert told_of_e1(heard) == [NONE]


@pytest.mark.rule(34)
@pytest.mark.rule(37)
@pytest.mark.parametrize("opened", [(), (LDS,)], ids=["neither", "listeners"])
def test_a_returning_client_is_heard_for_some_time_on_what_it_sends_traffic_by(
    opened: tuple[str, ...],
) -> None:
    server = Server()
    was = left(server, LDS, whole=False)
    server.publish(emptied(LDS, "c1"))
    client, heard = comes_back(server, was, CDS, EDS, *opened, whole=False)
    assert told_of_e1(heard) == []
    assert client.seat.stream.wake_at == server.clock.now + GRACE
    assert client.hear_after(GRACE - 1) == []
    [last] = client.hear_after(1)
    assert bodies(last) == {"e1": NONE}
    assert [each for each in server.reports if isinstance(each, Overdue)] == []


@pytest.mark.rule(35)
@pytest.mark.rule(37)
@TRAFFIC
def test_a_returning_client_that_takes_no_routes_loses_endpoints_after_a_bounded_time(kind: str) -> None:
    server = Server()
    was = left(server, kind, whole=False)
    server.publish(emptied(kind, "c2"))
    client, heard = comes_back(server, was, *ALL, whole=False)
    assert told_of_e1(heard) == ["way"]
    assert client.hear_after(HOLD - 1) == []
    [last] = client.hear_after(1)
    assert bodies(last) == {"e1": NONE}
    assert Overdue(client.seat.stream.envoy, EDS, "e1", HOLD) in server.reports


@pytest.mark.rule(37)
@TRAFFIC
def test_a_returning_client_that_lost_endpoints_before_does_not_get_them_again(kind: str) -> None:
    server = Server()
    client = settled(server, filled(kind, "c1"), whole=False)
    client.take_all(client.publish(emptied(kind, "c1")))
    client.leave()
    was = server.hub.snapshot(GROUP)
    assert was is not None
    server.publish(emptied(kind, "c2", "c1", clusters=REPLACED["changed"]))
    client, heard = comes_back(server, was, *ALL, whole=False)
    assert told_of_e1(client.take_all(heard)) == [NONE, "way"]


@pytest.mark.rule(37)
@BOTH
@TRAFFIC
def test_a_changed_cluster_is_told_that_it_has_no_endpoints_where_nobody_knows_who_was_there(
    *, whole: bool, kind: str
) -> None:
    was = left(Server(), kind, whole=whole)
    started_since = Server()
    started_since.publish(emptied(kind, "c2", "c1", clusters=REPLACED["changed"]))
    client, heard = comes_back(started_since, was, *ALL, whole=whole)
    assert told_of_e1(client.take_all(heard)) == [NONE, "way"]


@pytest.mark.rule(37)
@TRAFFIC
def test_a_server_that_was_started_since_lets_traffic_be_led_away_before_endpoints_are_emptied(
    kind: str,
) -> None:
    was = left(Server(), kind, whole=False)
    started_since = Server()
    started_since.publish(emptied(kind, "c2"))
    client, heard = comes_back(started_since, was, *ALL, whole=False)
    assert told_of_e1(client.take_all(heard)) == ["way", NONE]


@pytest.mark.rule(37)
@BOTH
def test_endpoints_that_were_emptied_long_ago_are_not_said_as_they_were(*, whole: bool) -> None:
    server = Server()
    was = left(server, RDS, whole=whole)
    server.publish(emptied(RDS, "c1"))
    server.clock.now += KEPT_AFTER_REMOVAL
    server.publish(emptied(RDS, "c2", "c1", clusters=REPLACED["changed"]))
    client, heard = comes_back(server, was, *ALL, whole=whole)
    assert told_of_e1(client.take_all(heard)) == [NONE, "way"]


@pytest.mark.rule(36)
@TRAFFIC
def test_endpoints_are_emptied_after_what_led_there_and_is_offered_no_more(kind: str) -> None:
    client = settled(Server(), filled(kind, "c1"), whole=False)
    gone, told = client.publish({**emptied(kind, "c1"), kind: {}})
    assert (gone.type_url, gone.removed) == (kind, ("way",))
    assert bodies(told)["e1"] == NONE


@pytest.mark.rule(35)
@BOTH
def test_endpoints_do_not_wait_for_what_was_refused_while_something_else_is_led_elsewhere(
    *, whole: bool
) -> None:
    def tables(way: str, other: str) -> Offer:
        return {RDS: {"way": table("v1", way), "other": table("v1", other)}}

    client = settled(Server(), {**filled(RDS, "c1"), **tables("c1", "c2")}, whole=whole)
    [refused] = client.publish({**filled(RDS, "c1"), **tables("c2", "c2")})
    assert client.nack(refused, "'way' is wrong") == []
    [told, _] = client.publish({**emptied(RDS, "c2"), **tables("c2", "elsewhere")})
    assert bodies(told)["e1"] == NONE


@pytest.mark.rule(37)
def test_endpoints_are_emptied_once_a_returning_client_has_let_go_of_a_table_that_nobody_knows() -> None:
    server = Server()
    was = left(server, RDS, whole=False)
    server.publish({CDS: SHARED, EDS: {"e1": NOBODY, "e2": plain("there")}})
    client, _ = comes_back(server, was, CDS, EDS, LDS, whole=False)
    gone, told = client.change(RDS, ("lost",), versions={"lost": "old"})
    assert (gone.type_url, gone.removed) == (RDS, ("lost",))
    assert bodies(told) == {"e1": NONE}
