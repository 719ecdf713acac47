"""Versions, nonces, and what is taken or refused: conversations, one rule of the protocol each."""

import pytest

from tests.xds_server.honest_envoy import GROUP, cluster, plain
from tests.xds_server.talk import Server, bodies, names
from xds_server.report import Accepted, Rejected
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Entry, Resource

BOTH = pytest.mark.parametrize("whole", [True, False], ids=["whole", "delta"])
BLAME = "Error adding/updating cluster(s) {}: out of range"
FOUR = {name: plain(name) for name in ("a", "b", "c", "d")}


def versions(resources: dict[str, Resource], kind: str) -> dict[str, str]:
    return {name: Entry(kind, name, resource).version for name, resource in resources.items()}


@pytest.mark.rule(16)
@BOTH
def test_a_nonce_is_used_once_and_by_one_stream(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: FOUR, LDS: FOUR})
    heard = [r for kind in (CDS, LDS) for _ in range(2) for r in server.connect(whole=whole).want(kind)]
    assert len({response.nonce for response in heard}) == len(heard) == 4


@pytest.mark.rule(16)
@BOTH
@pytest.mark.parametrize("kind", [CDS, LDS])
def test_a_first_request_is_answered_whatever_nonce_and_version_it_brings(*, whole: bool, kind: str) -> None:
    server = Server()
    server.publish({kind: FOUR})
    [old] = server.connect(whole=whole).want(kind)
    new = server.connect(whole=whole)
    if whole:
        [answer] = new.ask(kind, nonce=old.nonce, version=old.version)
    else:
        [answer] = new.change(kind, nonce=old.nonce)
    assert names(answer) == ["a", "b", "c", "d"]


@pytest.mark.rule(18)
def test_a_stale_request_is_not_answered_but_its_names_are_kept() -> None:
    server = Server()
    server.publish({EDS: FOUR})
    client = server.connect(whole=True)
    [first] = client.ask(EDS, "a")
    client.ack(first)
    [second] = client.publish({EDS: {**FOUR, "a": plain("new")}})
    assert client.ask(EDS, "a", "b", nonce=first.nonce, version=first.version) == []
    [both] = client.ack(second)
    assert names(both) == ["a", "b"]


@pytest.mark.rule(18)
def test_a_stale_refusal_refuses_nothing() -> None:
    server = Server()
    server.publish({CDS: FOUR})
    client = server.connect(whole=True)
    [first] = client.ask(CDS)
    client.ack(first)
    [second] = client.publish({CDS: {**FOUR, "a": plain("new")}})
    assert client.ask(CDS, nonce=first.nonce, error="too late") == []
    client.ack(second)
    assert [type(report) for report in server.reports] == [Accepted, Accepted]


@pytest.mark.rule(19)
@pytest.mark.parametrize("nonce", ["", "unknown"])
def test_a_delta_subscription_counts_whatever_its_nonce(nonce: str) -> None:
    server = Server()
    server.publish({EDS: FOUR})
    client = server.connect(whole=False)
    [first] = client.change(EDS, ("a",))
    assert client.change(EDS, ("b",), nonce=nonce) == []
    [second] = client.ack(first)
    assert names(second) == ["b"]


@pytest.mark.rule(20)
def test_another_version_without_an_error_is_no_refusal() -> None:
    server = Server()
    server.publish({CDS: FOUR})
    client = server.connect(whole=True)
    [first] = client.ask(CDS)
    assert client.ask(CDS, nonce=first.nonce, version="something else") == []
    assert [type(report) for report in server.reports] == [Accepted]


@pytest.mark.rule(20)
@BOTH
def test_an_error_without_words_is_a_refusal(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    client = server.connect(whole=whole)
    client.nack(client.want(CDS)[0], "")
    assert [type(report) for report in server.reports] == [Rejected]


@pytest.mark.rule(21)
@BOTH
def test_a_rejected_version_is_not_offered_twice(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(CDS))
    [bad] = client.publish({CDS: {"a": plain("v2")}})
    assert client.nack(bad, BLAME.format("a")) == []
    assert client.publish({CDS: {"a": plain("v2")}, SDS: FOUR}) == []
    [good] = client.publish({CDS: {"a": plain("v3")}, SDS: FOUR})
    assert bodies(good) == {"a": "v3"}


@pytest.mark.rule(21)
@BOTH
def test_what_was_rejected_for_the_sake_of_envoys_machine_is_offered_again_on_request(*, whole: bool) -> None:
    server = Server()
    server.publish({LDS: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=whole)
    [bad] = client.want(LDS)
    client.take_all(client.nack(bad, BLAME.format("a")))
    server.hub.pardon("others", LDS, "a")
    server.hub.pardon(GROUP, LDS, "b")
    assert client.hear() == []
    server.hub.pardon(GROUP, LDS, "a")
    [again] = client.hear()
    assert bodies(again)["a"] == "v1"
    assert client.nack(again, BLAME.format("a")) == []


@pytest.mark.rule(21)
@BOTH
def test_what_was_rejected_stays_out_of_later_responses(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(CDS))
    [bad] = client.publish({CDS: {"a": plain("v2"), "b": plain("v1")}})
    client.nack(bad, BLAME.format("a"))
    [next_] = client.publish({CDS: {"a": plain("v2"), "b": plain("v2")}})
    assert bodies(next_) == ({"a": "v1", "b": "v2"} if whole else {"b": "v2"})


@pytest.mark.rule(21)
def test_a_delta_client_that_asks_again_for_what_it_rejected_gets_the_last_good_version() -> None:
    server = Server()
    server.publish({EDS: {"a": plain("v1")}})
    client = server.connect(whole=False)
    client.take_all(client.change(EDS, ("a",)))
    [bad] = client.publish({EDS: {"a": plain("v2")}})
    client.nack(bad, "no")
    [good] = client.change(EDS, ("a",))
    assert bodies(good) == {"a": "v1"}


@pytest.mark.rule(21)
def test_a_delta_client_that_rejected_all_there_is_hears_that_there_is_none() -> None:
    server = Server()
    server.publish({EDS: {"a": plain("v1")}})
    client = server.connect(whole=False)
    client.nack(client.change(EDS, ("a",))[0], "no")
    [none] = client.change(EDS, ("a",))
    assert (none.entries, none.removed) == ((), ("a",))


@pytest.mark.rule(22)
@BOTH
def test_a_refusal_stops_neither_other_types_nor_new_names_nor_the_next_change(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}, EDS: FOUR, SDS: FOUR})
    client = server.connect(whole=whole)
    client.nack(client.want(CDS)[0], "no")
    assert [names(r) for kind in (EDS, SDS) for r in client.want(kind, "a")] == [["a"], ["a"]]
    [new] = client.publish({CDS: {"a": plain("v1"), "b": plain("v1")}, EDS: FOUR, SDS: FOUR})
    assert names(new) == ["b"]
    [] = client.ack(new)
    [fixed] = client.publish({CDS: {"a": plain("v2"), "b": plain("v1")}, EDS: FOUR, SDS: FOUR})
    assert bodies(fixed)["a"] == "v2"


@pytest.mark.rule(23)
@BOTH
def test_after_a_refusal_the_others_of_the_response_are_made_sure_of(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: FOUR})
    client = server.connect(whole=whole)
    [all_] = client.want(CDS)
    [rest] = client.nack(all_, BLAME.format("b"))
    assert names(rest) == ["a", "c", "d"]


@pytest.mark.rule(23)
@BOTH
def test_what_a_refused_response_may_have_brought_is_taken_back_when_it_is_not_wanted(*, whole: bool) -> None:
    server = Server()
    server.publish({LDS: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(LDS))
    [bad] = client.publish({LDS: {"a": plain("v2"), "b": plain("v2"), "c": plain("v2")}})
    server.publish({LDS: {"a": plain("v1"), "b": plain("v1")}})
    [back] = client.nack(bad, BLAME.format("b"))
    assert bodies(back)["a"] == "v1"
    assert "c" in back.removed if not whole else "c" not in bodies(back)


@pytest.mark.rule(23)
@BOTH
def test_what_a_refused_response_may_have_taken_away_is_given_back_when_it_is_wanted_again(
    *, whole: bool
) -> None:
    server = Server()
    first = {LDS: {"a": plain("v1"), "b": plain("v1")}}
    server.publish(first)
    client = server.connect(whole=whole)
    client.take_all(client.want(LDS))
    [bad] = client.publish({LDS: {"a": plain("bad")}})
    server.publish(first)
    [back] = client.nack(bad, BLAME.format("a"))
    assert bodies(back)["b"] == "v1"


@pytest.mark.rule(23)
@BOTH
def test_what_is_live_of_a_refused_response_is_taken_back_also_where_its_successor_is_refused(
    *, whole: bool
) -> None:
    server = Server()
    first = {LDS: {"a": plain("v1"), "b": plain("v1")}}
    server.publish(first)
    client = server.connect(whole=whole)
    client.take_all(client.want(LDS))
    [half_taken] = client.publish({LDS: {"a": plain("live"), "b": plain("bad")}})
    server.publish({LDS: {"a": plain("bad"), "b": plain("bad")}})
    [refused] = client.nack(half_taken, BLAME.format("b"))
    [back] = client.nack(refused, BLAME.format("a"))
    assert bodies(back)["a"] == "v1"


@pytest.mark.rule(24)
@pytest.mark.rule(66)
@BOTH
def test_a_refusal_is_reported_with_the_resource_the_node_and_the_words(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: FOUR})
    client = server.connect(whole=whole)
    client.nack(client.want(CDS)[0], BLAME.format("c"))
    [report] = server.reports
    assert isinstance(report, Rejected)
    assert (report.envoy.group, report.envoy.node, report.type_url) == ("shop/edge", "envoy-1", CDS)
    assert (report.versions, report.isolated) == (versions({"c": FOUR["c"]}, CDS), True)
    assert report.error == BLAME.format("c")
    assert server.hub.connected()[0].rejections == {CDS: {"c": report}}


@pytest.mark.rule(24)
@BOTH
@pytest.mark.parametrize("kind", [CDS, EDS], ids=["clusters", "endpoints"])
def test_all_that_is_refused_is_told_until_it_is_mended_or_taken_back(*, whole: bool, kind: str) -> None:
    def refused() -> tuple[dict[str, str], int]:
        [connected] = server.hub.connected()
        told = {name: each.error for name, each in connected.rejections.get(kind, {}).items()}
        return told, server.hub.held_back()[kind]

    server = Server()
    server.publish({kind: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(kind, *(("a", "b") if kind == EDS else ())))
    for offered in ({"a": plain("v2"), "b": plain("v1")}, {"a": plain("v2"), "b": plain("v2")}):
        [bad] = client.publish({kind: offered})
        client.nack(bad, BLAME.format("b" if offered["b"] == plain("v2") else "a"))
    assert refused() == ({name: BLAME.format(name) for name in ("a", "b")}, 2)
    client.take_all(client.publish({kind: {"a": plain("v3"), "b": plain("v2")}}))
    assert refused() == ({"b": BLAME.format("b")}, 1)
    client.take_all(client.publish({kind: {"a": plain("v3"), "b": plain("v1")}}))
    assert refused() == ({}, 0)


@pytest.mark.rule(24)
@BOTH
def test_who_was_a_suspect_only_is_not_told_of(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: FOUR})
    client = server.connect(whole=whole)
    open_ = client.want(CDS)
    while open_:
        response = open_.pop()
        is_bad = "c" in names(response)
        open_ += client.nack(response, "a constraint failed") if is_bad else client.ack(response)
    assert server.hub.connected()[0].rejections[CDS].keys() == {"c"}


@pytest.mark.rule(66)
@BOTH
@pytest.mark.parametrize("culprits", [{"a"}, {"d"}, {"b", "c"}, {"a", "b", "c", "d"}])
def test_culprits_without_a_name_are_found_by_halving_while_the_others_go_live(
    *, whole: bool, culprits: set[str]
) -> None:
    server = Server()
    server.publish({CDS: FOUR})
    client = server.connect(whole=whole)
    open_, taken, refusals = client.want(CDS), set[str](), 0
    while open_:
        response = open_.pop()
        bad = culprits & set(names(response))
        refusals += bool(bad)
        taken |= set() if bad else set(names(response))
        open_ += client.nack(response, "a constraint failed") if bad else client.ack(response)
    blamed = {n for r in server.reports if isinstance(r, Rejected) and r.isolated for n in r.versions}
    assert (blamed, taken) == (culprits, set(FOUR) - culprits)
    assert refusals <= 7


@pytest.mark.rule(66)
def test_a_search_ends_early_when_nobody_wants_the_suspects_any_more() -> None:
    server = Server()
    server.publish({EDS: FOUR})
    client = server.connect(whole=False)
    [both] = client.change(EDS, ("a", "b"))
    [first] = client.nack(both, "a constraint failed")
    assert names(first) == ["a"]
    assert client.change(EDS, unsubscribe=("b",)) == []
    assert client.ack(first) == []


@pytest.mark.rule(66)
@BOTH
def test_a_newcomer_gets_the_last_good_version_of_what_it_refuses(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    veteran = server.connect(whole=whole)
    veteran.take_all(veteran.want(CDS))
    server.publish({CDS: {"a": plain("v2")}})
    newcomer = server.connect(whole=whole)
    [new] = newcomer.want(CDS)
    [old] = newcomer.nack(new, "no")
    assert (bodies(new), bodies(old)) == ({"a": "v2"}, {"a": "v1"})
    assert newcomer.nack(old, "no") == []


@pytest.mark.rule(66)
@BOTH
def test_a_complaint_about_what_was_taken_before_holds_nothing_back(*, whole: bool) -> None:
    server = Server()
    server.publish({LDS: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(LDS))
    [less] = client.publish({LDS: {"a": plain("v1")}})
    assert client.nack(less, "I liked it") == []
    [next_] = client.publish({LDS: {"a": plain("v2")}})
    assert bodies(next_) == {"a": "v2"}


@pytest.mark.rule(25)
@BOTH
def test_equal_content_has_equal_versions_on_every_server(*, whole: bool) -> None:
    heard = []
    for _ in range(2):
        server = Server()
        server.publish({CDS: {"b": cluster("v1"), "a": cluster("v1")}})
        heard += server.connect(whole=whole).want(CDS)
    first, second = heard
    assert first.version == second.version
    assert [e.version for e in first.entries] == [e.version for e in second.entries]


@pytest.mark.rule(25)
def test_the_version_of_a_set_differs_with_any_name_or_content_in_it() -> None:
    server = Server()
    seen = set()
    for offered in (
        {"a": plain("1")},
        {"a": plain("2")},
        {"b": plain("1")},
        {"a": plain("1"), "b": plain("1")},
    ):
        server.publish({LDS: offered})
        seen |= {response.version for response in server.connect(whole=True).want(LDS)}
    assert len(seen) == 4


@pytest.mark.rule(26)
@BOTH
def test_publishing_the_same_again_says_nothing(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(CDS))
    assert client.publish({CDS: {"a": plain("v1")}}) == []


@pytest.mark.rule(26)
@BOTH
def test_a_change_taken_back_before_it_was_sent_says_nothing(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(CDS))
    server.publish({CDS: {"a": plain("v2")}})
    assert client.publish({CDS: {"a": plain("v1")}}) == []


@pytest.mark.rule(27)
@BOTH
def test_changes_gather_behind_an_unanswered_response(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    client = server.connect(whole=whole)
    [first] = client.want(CDS)
    for text in ("v2", "v3", "v4"):
        assert client.publish({CDS: {"a": plain(text)}}) == []
    [newest] = client.ack(first)
    assert bodies(newest) == {"a": "v4"}


@pytest.mark.rule(28)
@pytest.mark.parametrize(
    ("kind", "said"), [(LDS, ()), (LDS, ("*",)), (EDS, ("a", "b", "c")), (RDS, ("a", "b", "c"))]
)
def test_a_returning_delta_client_gets_what_is_outdated_or_gone(kind: str, said: tuple[str, ...]) -> None:
    server = Server()
    server.publish({kind: {"a": plain("v2"), "b": plain("v1")}})
    had = versions({name: plain("v1") for name in "abc"}, kind)
    [news] = server.connect(whole=False).change(kind, said, versions=had)
    assert (bodies(news), news.removed) == ({"a": "v2"}, ("c",))


@pytest.mark.rule(28)
@pytest.mark.parametrize("kind", [EDS, SDS, RDS])
def test_a_returning_delta_client_that_has_everything_hears_nothing(kind: str) -> None:
    server = Server()
    server.publish({kind: FOUR})
    assert server.connect(whole=False).change(kind, tuple(FOUR), versions=versions(FOUR, kind)) == []


@pytest.mark.rule(28)
@pytest.mark.parametrize("kind", [CDS, LDS])
def test_a_returning_delta_client_that_has_all_there_is_hears_so(kind: str) -> None:
    server = Server()
    server.publish({kind: FOUR})
    [nothing] = server.connect(whole=False).change(kind, versions=versions(FOUR, kind))
    assert (nothing.entries, nothing.removed) == ((), ())


@pytest.mark.rule(28)
def test_versions_of_what_is_not_subscribed_are_ignored() -> None:
    server = Server()
    server.publish({EDS: FOUR})
    client = server.connect(whole=False)
    assert client.change(EDS, ("a",), versions=versions({"a": FOUR["a"], "b": plain("old")}, EDS)) == []
    assert client.seat.stream.holdings()[EDS].keys() == {"a"}


@pytest.mark.rule(29)
@pytest.mark.parametrize("kind", [CDS, EDS, SDS, LDS, RDS])
def test_a_returning_client_is_always_answered_in_full(kind: str) -> None:
    server = Server()
    server.publish({kind: FOUR})
    [first] = server.connect(whole=True).ask(kind, *FOUR)
    [again] = server.connect(whole=True).ask(kind, *FOUR, version=first.version)
    assert names(again) == list(FOUR)


@pytest.mark.rule(30)
def test_endpoints_and_secrets_of_before_a_reconnect_are_sent_again_with_their_parent() -> None:
    server = Server()
    old = {CDS: {"c": cluster("v1", "e", "s")}, EDS: {"e": plain("e")}, SDS: {"s": plain("s")}}
    server.publish(old)
    client = server.connect(whole=False)
    client.take_all(client.change(CDS, versions=versions(old[CDS], CDS)))
    assert client.change(EDS, ("e",), versions=versions(old[EDS], EDS)) == []
    assert client.change(SDS, ("s",), versions=versions(old[SDS], SDS)) == []
    new = {**old, CDS: {"c": cluster("v2", "e", "s")}}
    heard = client.publish(new)
    assert [(r.type_url, names(r)) for r in heard] == [(CDS, ["c"]), (EDS, ["e"]), (SDS, ["s"])]


@pytest.mark.rule(66)
def test_a_returning_client_keeps_its_last_good_clusters_while_a_nameless_culprit_is_sought() -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=True)
    [before] = client.take_all(client.want(CDS))
    client.leave()
    server.publish({CDS: {"a": plain("v1"), "b": plain("v2")}})
    client = server.connect(whole=True)
    [all_] = client.want(CDS, version=before.version)
    [first] = client.nack(all_, "a constraint failed")
    [second] = client.ack(first)
    heard = [bodies(all_), bodies(first), bodies(second)]
    assert heard == [{"a": "v1", "b": "v2"}, {"a": "v1", "b": "v1"}, {"a": "v1", "b": "v2"}]
    assert client.nack(second, "a constraint failed") == []


@pytest.mark.rule(24)
@pytest.mark.rule(66)
def test_what_a_returning_client_refuses_stays_held_back_when_it_takes_what_stands_in_for_it() -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    client = server.connect(whole=True)
    [before] = client.take_all(client.want(CDS))
    client.leave()
    server.publish({CDS: {"a": plain("bad"), "b": plain("live")}})
    client = server.connect(whole=True)
    [half_taken] = client.want(CDS, version=before.version)
    server.publish({CDS: {"a": plain("bad"), "b": plain("bad")}})
    [refused] = client.nack(half_taken, BLAME.format("a"))
    [good] = client.nack(refused, BLAME.format("b"))
    assert bodies(good) == {"a": "v1", "b": "live"}
    assert client.ack(good) == []
    assert server.hub.held_back() == {CDS: 2}


@pytest.mark.rule(23)
def test_a_returning_client_that_refused_the_only_listener_is_told_that_the_others_are_gone() -> None:
    server = Server()
    server.publish({LDS: {"new": plain("bad")}})
    client = server.connect(whole=True)
    [all_] = client.want(LDS, version="old")
    [none] = client.nack(all_, "no")
    assert none.entries == ()


@pytest.mark.rule(21)
@BOTH
def test_a_version_that_was_refused_is_offered_again_once_another_was_taken(*, whole: bool) -> None:
    server = Server()
    server.publish({CDS: {"a": plain("v1")}})
    client = server.connect(whole=whole)
    client.take_all(client.want(CDS))
    for _ in range(2):
        [refused] = client.publish({CDS: {"a": plain("v2")}})
        assert bodies(refused) == {"a": "v2"}
        client.nack(refused, "no")
        client.take_all(client.publish({CDS: {"a": plain("v3")}}))


@pytest.mark.rule(23)
def test_what_a_refused_response_may_have_brought_is_taken_back_though_others_are_answered_before() -> None:
    server, first = Server(), {RDS: {name: plain("v1") for name in "ab"}}
    server.publish(first)
    client = server.connect(whole=False)
    client.take_all(client.want(RDS, *"ab"))
    [both] = client.publish({RDS: {name: plain("v2") for name in "ab"}})
    server.publish(first)
    heard = client.take_all(client.nack(both, "nobody is named"))
    assert [bodies(each) for each in heard] == [{"a": "v1"}, {"b": "v1"}]


@pytest.mark.rule(21)
@BOTH
def test_what_was_refused_on_its_own_is_not_taken_back(*, whole: bool) -> None:
    server = Server()
    server.publish({RDS: {name: plain("v1") for name in "ab"}})
    client = server.connect(whole=whole)
    client.take_all(client.want(RDS, *"ab"))
    [both] = client.publish({RDS: {name: plain("v2") for name in "ab"}})
    [first] = client.nack(both, "nobody is named")
    [second] = client.nack(first, "nobody is named")
    assert bodies(second)["b"] == "v2"
    assert client.ack(second) == []
