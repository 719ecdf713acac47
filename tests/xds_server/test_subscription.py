"""Which names a client gets: conversations about subscriptions, in both variants of the protocol."""

import pytest

from tests.xds_server.honest_envoy import plain
from tests.xds_server.talk import GRACE, Server, Talk, bodies, names
from xds_server.snapshot import CDS, EDS, EMPTY, LDS, RDS, SDS
from xds_server.subscription import Subscription

THREE = {name: plain(name) for name in ("a", "b", "c")}
BOTH = pytest.mark.parametrize("whole", [True, False], ids=["whole", "delta"])


def talk(*, whole: bool) -> Talk:
    server = Server()
    server.publish(dict.fromkeys((CDS, EDS, SDS, LDS, RDS), THREE))
    return server.connect(whole=whole)


@pytest.mark.rule(1)
@BOTH
@pytest.mark.parametrize("kind", [CDS, LDS])
@pytest.mark.parametrize("said", [(), ("*",)])
def test_saying_no_name_first_means_all_of_them(*, whole: bool, kind: str, said: tuple[str, ...]) -> None:
    [all_] = talk(whole=whole).want(kind, *said)
    assert names(all_) == ["a", "b", "c"]


@pytest.mark.rule(2)
def test_an_emptied_list_of_names_means_none_of_them() -> None:
    client = talk(whole=True)
    [one] = client.ask(LDS, "a")
    assert client.ask(LDS, nonce=one.nonce, version=one.version) == []
    assert client.publish({LDS: {"a": plain("new"), "b": plain("new")}}) == []


@pytest.mark.rule(2)
def test_a_delta_client_that_lets_go_of_everything_gets_nothing() -> None:
    client = talk(whole=False)
    [all_] = client.change(LDS)
    client.ack(all_)
    assert client.change(LDS, unsubscribe=("*",)) == []
    assert client.change(LDS) == []
    assert client.publish({LDS: {"a": plain("new")}}) == []


@pytest.mark.rule(3)
def test_everything_and_a_name_live_side_by_side() -> None:
    client = talk(whole=True)
    [all_] = client.ask(CDS, "*", "a")
    assert names(all_) == ["a", "b", "c"]
    assert client.ask(CDS, "a", nonce=all_.nonce, version=all_.version) == []
    [only] = client.publish({CDS: {name: plain("new") for name in "abc"}})
    assert bodies(only) == {"a": "new"}
    [again] = client.ask(CDS, "*", nonce=only.nonce, version=only.version)
    assert names(again) == ["a", "b", "c"]


@pytest.mark.rule(3)
def test_a_delta_client_may_drop_everything_and_keep_a_name() -> None:
    client = talk(whole=False)
    [all_] = client.change(CDS, ("*", "a"))
    assert client.change(CDS, unsubscribe=("*",), nonce=all_.nonce) == []
    [only] = client.publish({CDS: {name: plain("new") for name in "abc"}})
    assert bodies(only) == {"a": "new"}
    assert client.ack(only) == []
    assert client.publish({}) == []
    [gone] = client.hear_after(GRACE)
    assert gone.removed == ("a",)


@pytest.mark.rule(10)
def test_a_delta_client_that_drops_everything_is_not_sent_what_came_meanwhile() -> None:
    client = talk(whole=False)
    [all_] = client.change(CDS)
    assert client.publish({CDS: {name: plain(name) for name in "abcx"}}) == []
    assert client.change(CDS, unsubscribe=("*",)) == client.ack(all_) == []


@pytest.mark.rule(3)
def test_a_delta_client_may_come_back_to_everything() -> None:
    client = talk(whole=False)
    [one] = client.change(CDS, ("a",))
    assert client.ack(one) == []
    [rest] = client.change(CDS, ("*",))
    assert names(rest) == ["b", "c"]


@pytest.mark.rule(4)
@BOTH
@pytest.mark.parametrize("kind", [EDS, SDS, RDS])
@pytest.mark.parametrize("said", [(), ("*",)])
def test_nobody_gets_every_secret_by_asking_for_none(
    *, whole: bool, kind: str, said: tuple[str, ...]
) -> None:
    heard = talk(whole=whole).want(kind, *said)
    assert [entry for response in heard for entry in response.entries] == []


@pytest.mark.rule(5)
@BOTH
def test_a_newly_named_resource_comes_although_nothing_changed(*, whole: bool) -> None:
    client = talk(whole=whole)
    [one] = client.want(EDS, "a")
    client.ack(one)
    [two] = client.ask(EDS, "a", "b", nonce=one.nonce) if whole else client.change(EDS, ("b",))
    assert "b" in names(two)


@pytest.mark.rule(5)
@pytest.mark.parametrize("kind", [CDS, EDS, SDS, LDS, RDS])
def test_a_name_dropped_and_named_again_comes_again(kind: str) -> None:
    client = talk(whole=True)
    [one] = client.ask(kind, "a", "b")
    assert client.ask(kind, "a", nonce=one.nonce, version=one.version) == []
    [two] = client.ask(kind, "a", "b", nonce=one.nonce, version=one.version)
    assert names(two) == ["a", "b"]


@pytest.mark.rule(5)
def test_a_new_stream_with_a_known_version_and_other_names_is_answered() -> None:
    client = talk(whole=True)
    [first] = client.ask(SDS, "a")
    client.leave()
    [other] = client.server.connect(whole=True).ask(SDS, "b", version=first.version, nonce=first.nonce)
    assert names(other) == ["b"]


@pytest.mark.rule(6)
def test_a_name_subscribed_again_is_sent_again() -> None:
    client = talk(whole=False)
    [first] = client.change(EDS, ("a",))
    client.ack(first)
    [again] = client.change(EDS, ("a",))
    assert bodies(again) == {"a": "a"}


@pytest.mark.rule(7)
@BOTH
def test_a_name_that_does_not_exist_yet_delays_nobody_and_comes_when_it_can(*, whole: bool) -> None:
    client = talk(whole=whole)
    [now] = client.want(SDS, "a", "later")
    assert names(now) == ["a"]
    client.ack(now)
    [later] = client.publish({SDS: {**THREE, "later": plain("here")}})
    assert bodies(later)["later"] == "here"


@pytest.mark.rule(7)
def test_nothing_is_said_while_none_of_the_named_exists() -> None:
    client = talk(whole=True)
    assert client.ask(SDS, "later") == []
    [later] = client.publish({SDS: {"later": plain("here")}})
    assert names(later) == ["later"]


@pytest.mark.rule(8)
@pytest.mark.parametrize("kind", [CDS, EDS, SDS, LDS, RDS, *EMPTY])
def test_a_delta_client_is_told_once_that_a_name_does_not_exist(kind: str) -> None:
    client = talk(whole=False)
    [told] = client.change(kind, ("nobody",))
    assert (told.entries, told.removed) == ((), ("nobody",))
    assert client.ack(told) == []
    assert client.publish({CDS: {"d": plain("d")}}) == []


@pytest.mark.rule(9)
def test_letting_go_of_what_was_never_asked_for_is_no_fault() -> None:
    client = talk(whole=False)
    [first] = client.change(EDS, ("a",))
    assert client.change(EDS, unsubscribe=("b", "nobody"), nonce=first.nonce) == []
    [update] = client.publish({EDS: {"a": plain("new")}})
    assert bodies(update) == {"a": "new"}


@pytest.mark.rule(9)
def test_a_name_let_go_of_is_not_forgotten_while_everything_is_wanted() -> None:
    client = talk(whole=False)
    [all_] = client.change(LDS, ("*", "a", "nobody"))
    client.ack(all_)
    [again] = client.change(LDS, unsubscribe=("a", "nobody"))
    assert (bodies(again), again.removed) == ({"a": "a"}, ("nobody",))


@pytest.mark.rule(9)
def test_what_was_let_go_of_is_delivered_when_it_is_wanted_again() -> None:
    client = talk(whole=False)
    [first] = client.change(RDS, ("a",))
    client.ack(first)
    assert client.change(RDS, unsubscribe=("a",)) == []
    [again] = client.change(RDS, ("a",))
    assert bodies(again) == {"a": "a"}


@pytest.mark.rule(10)
@BOTH
def test_what_nobody_wants_any_more_is_not_updated(*, whole: bool) -> None:
    client = talk(whole=whole)
    [both] = client.want(EDS, "a", "b")
    if whole:
        client.ask(EDS, "a", nonce=both.nonce, version=both.version)
    else:
        client.change(EDS, unsubscribe=("b",), nonce=both.nonce)
    assert client.publish({EDS: {**THREE, "b": plain("new")}}) == []


@pytest.mark.rule(10)
def test_what_was_let_go_of_on_its_way_is_not_held() -> None:
    client = talk(whole=False)
    [both] = client.change(EDS, ("a", "b"))
    client.change(EDS, unsubscribe=("b",))
    client.ack(both)
    assert client.seat.stream.holdings()[EDS].keys() == {"a"}


@pytest.mark.rule(11)
@BOTH
def test_a_name_said_twice_comes_once(*, whole: bool) -> None:
    [once] = talk(whole=whole).want(LDS, "a", "*", "a", "b", "*")
    assert names(once) == ["a", "b", "c"]


@pytest.mark.rule(12)
@BOTH
def test_nothing_comes_that_was_not_named(*, whole: bool) -> None:
    [named] = talk(whole=whole).want(SDS, "b")
    assert names(named) == ["b"]


@pytest.mark.rule(13)
@pytest.mark.parametrize("kind", [CDS, LDS])
def test_a_full_set_leaves_out_what_is_deleted_and_nothing_else(kind: str) -> None:
    client = talk(whole=True)
    client.take_all(client.ask(kind))
    client.take_all(client.publish({kind: {"a": plain("new"), "c": THREE["c"]}}))
    client.take_all(client.hear_after(GRACE))
    [whole] = client.publish({kind: {"a": plain("newest"), "c": THREE["c"]}})
    assert bodies(whole) == {"a": "newest", "c": "c"}


@pytest.mark.rule(13)
@pytest.mark.parametrize("kind", [EDS, SDS, RDS])
def test_every_named_resource_comes_with_each_change_of_one(kind: str) -> None:
    client = talk(whole=True)
    [both] = client.ask(kind, "a", "b")
    client.ack(both)
    [update] = client.publish({kind: {**THREE, "a": plain("new")}})
    assert bodies(update) == {"a": "new", "b": "b"}


@pytest.mark.rule(13)
@pytest.mark.parametrize("kind", [EDS, SDS, RDS])
def test_nothing_is_said_of_a_deletion_that_cannot_be_said(kind: str) -> None:
    client = talk(whole=True)
    [both] = client.ask(kind, "a", "b")
    client.ack(both)
    assert client.publish({kind: {"a": THREE["a"]}}) == []
    [update] = client.publish({kind: {"a": plain("new")}})
    assert bodies(update) == {"a": "new"}


@pytest.mark.rule(14)
def test_a_delta_brings_only_what_changed() -> None:
    client = talk(whole=False)
    [all_] = client.change(LDS)
    client.ack(all_)
    [change] = client.publish({LDS: {"a": plain("new"), "b": plain("b")}})
    assert (bodies(change), change.removed) == ({"a": "new"}, ("c",))


@pytest.mark.rule(15)
@BOTH
@pytest.mark.parametrize("kind", [CDS, LDS])
def test_clusters_and_listeners_can_be_had_by_name(*, whole: bool, kind: str) -> None:
    [one] = talk(whole=whole).want(kind, "b")
    assert names(one) == ["b"]


@pytest.mark.rule(15)
def test_a_named_listener_that_does_not_exist_is_answered_by_an_empty_set() -> None:
    [none] = talk(whole=True).ask(LDS, "nobody")
    assert none.entries == ()


@pytest.mark.rule(71)
def test_of_names_that_were_let_go_of_no_letter_counts() -> None:
    subscription = Subscription(EDS)
    subscription.amend(("a", "bb"), ("phantom",))
    subscription.amend(("bb", "ccc"), ("a",))
    assert subscription.letters == len("bbccc")
    subscription.replace(("a", "a"))
    assert subscription.letters == len("a")
