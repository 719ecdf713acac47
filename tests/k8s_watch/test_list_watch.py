"""Conversations between a list-watch and an API server, one sentence each."""

from collections.abc import Sequence

import pytest
from msgspec import Raw

from k8s_watch.answers import (
    Bookmark,
    Ended,
    Failed,
    Found,
    Item,
    Opened,
    Page,
    Part,
    Received,
    Removed,
    Waited,
)
from k8s_watch.change import Absent, Change, Gone, Put, Synced
from k8s_watch.kind import ObjectName
from k8s_watch.list_watch import Action, List, ListWatch, Pace, Probe, Wait, Watch

REFUSED = Failed(422, "sendInitialEvents is forbidden")
PACE = Pace(first=1.0, longest=8.0, chance=lambda: 1.0)


def name(text: str) -> ObjectName:
    return ObjectName("shop", text)


def item(text: str, version: str) -> Item:
    return Item(name(text), version, Raw(version.encode()))


def put(text: str, version: str) -> Put[Raw]:
    return Put(name(text), version, Raw(version.encode()))


def asks(machine: ListWatch) -> Action:
    """Return what it would do now."""
    return machine.next


def gone(text: str) -> Gone:
    return Gone(name(text))


def tell(machine: ListWatch, *answers: Received) -> list[Change[Raw]]:
    return [change for answer in answers for change in machine.receive(answer)]


def listing() -> ListWatch:
    """Return one whose server does not stream lists, at the first page."""
    machine = ListWatch(PACE)
    assert tell(machine, Found("v1"), REFUSED, Waited()) == []
    assert asks(machine) == List()
    return machine


def watching(*items: Item, version: str = "10") -> ListWatch:
    """Return one that has listed and watches from there."""
    machine = listing()
    tell(machine, Page(items, version))
    assert asks(machine) == Watch(version)
    return machine


def test_it_first_asks_whether_the_kind_is_served() -> None:
    machine = ListWatch()
    assert asks(machine) == Probe()
    tell(machine, Found("apps/v1"))
    assert machine.api_version == "apps/v1"


def test_a_streamed_list_is_complete_at_the_bookmark_that_says_so() -> None:
    machine = ListWatch(PACE)
    tell(machine, Found("v1"))
    assert asks(machine) == Watch()
    assert tell(machine, item("a", "3")) == [put("a", "3")]
    assert asks(machine) == Watch()
    assert tell(machine, Bookmark("9", ends_list=True)) == [Synced()]
    assert asks(machine) == Watch("9")
    assert tell(machine, item("b", "10")) == [put("b", "10")]


def test_parts_of_a_page_are_told_as_they_come_and_the_list_is_complete_with_the_rest() -> None:
    machine = watching(item("gone", "1"))
    tell(machine, Failed(410, "too old"), Waited(), REFUSED, Waited())
    assert tell(machine, Part((item("a", "11"),))) == [put("a", "11")]
    assert asks(machine) == List()
    assert tell(machine, Page((item("b", "12"),), "12")) == [put("b", "12"), gone("gone")]
    assert asks(machine) == Watch("12")


def test_a_server_that_refuses_to_stream_lists_is_asked_for_pages_at_once_and_ever_after() -> None:
    machine = ListWatch(PACE)
    tell(machine, Found("v1"), REFUSED)
    assert asks(machine) == Wait(0.0, List())
    tell(machine, Waited(), Page((), "10"), Failed(410, "too old"))
    assert asks(machine) == Wait(0.0, List())
    assert machine.failures == {410: 1}


def test_a_server_that_has_not_understood_what_a_streamed_list_is_shows_it_by_its_bookmark() -> None:
    machine = ListWatch(PACE)
    tell(machine, Found("v1"), item("a", "3"), Bookmark("9"))
    assert asks(machine) == Wait(0.0, List())


def test_a_streamed_list_that_breaks_off_is_replaced_by_pages_this_once() -> None:
    machine = ListWatch(PACE)
    tell(machine, Found("v1"), item("a", "3"), Ended(lasted=60.0))
    assert asks(machine) == Wait(1.0, List())
    assert tell(machine, Waited(), Page((), "10")) == [gone("a"), Synced()]
    tell(machine, Bookmark("11"), Failed(410, "too old"), Waited())
    assert asks(machine) == Watch()


def test_an_object_deleted_while_the_list_still_streams_is_gone() -> None:
    machine = ListWatch(PACE)
    changes = tell(machine, Found("v1"), item("a", "3"), Removed(name("a"), "4"), Removed(name("b"), "5"))
    assert changes == [put("a", "3"), gone("a")]


def test_pages_are_told_as_they_come_and_the_list_is_complete_with_the_last() -> None:
    machine = listing()
    assert tell(machine, Page((item("a", "1"),), "10", "more")) == [put("a", "1")]
    assert asks(machine) == List("more")
    assert tell(machine, Page((item("b", "2"),), "10")) == [put("b", "2"), Synced()]
    assert asks(machine) == Watch("10")
    assert machine.failure is None


def test_an_expired_token_begins_a_list_in_one_piece() -> None:
    machine = listing()
    tell(machine, Page((item("a", "1"), item("b", "1")), "10", "more"), Failed(410, "expired"))
    assert asks(machine) == Wait(0.0, List(whole=True))
    assert tell(machine, Waited(), Page((item("b", "1"),), "20")) == [gone("a"), Synced()]


def test_a_page_that_failed_for_a_passing_reason_is_asked_for_again() -> None:
    machine = listing()
    tell(machine, Page((item("a", "1"),), "10", "more"), Failed(500, "etcd"), Waited())
    assert asks(machine) == List("more")
    assert tell(machine, Page((), "10")) == [Synced()]


@pytest.mark.parametrize("code", [0, 401, 403, 410, 429, 500, 504])
def test_a_first_page_that_failed_is_asked_for_again(code: int) -> None:
    machine = listing()
    tell(machine, Failed(code, "no"), Waited())
    assert asks(machine) == List()


def test_what_a_relist_does_not_change_is_not_told() -> None:
    machine = watching(item("a", "1"), item("b", "2"), item("c", "3"))
    tell(machine, Failed(410, "too old"), Waited())
    assert asks(machine) == List()
    changes = tell(machine, Page((item("a", "1"), item("b", "12"), item("d", "13")), "20"))
    assert changes == [put("b", "12"), put("d", "13"), gone("c")]
    assert machine.lists == 3


def fails_by(machine: ListWatch) -> Failed | None:
    """Return what stands between it and the newest."""
    return machine.failure


def lists_again(machine: ListWatch) -> bool:
    """Say whether it has the server list once more, after a while."""
    doing = asks(machine)
    return isinstance(doing, Wait) and doing.seconds > 0 and doing.then == List()


def test_everything_is_gone_only_if_list_after_list_says_so() -> None:
    machine = watching(item("a", "1"), item("b", "2"))
    assert tell(machine, Failed(410, "too old"), Waited(), Page((), "20")) == []
    assert lists_again(machine)
    assert fails_by(machine) == Failed(0, "a list has nothing of all that was there")
    assert tell(machine, Waited(), Page((), "20")) == []
    assert lists_again(machine)
    assert tell(machine, Waited(), Page((), "20")) == [gone("a"), gone("b")]
    assert (asks(machine), fails_by(machine)) == (Watch("20"), None)


def test_what_an_empty_list_had_lost_for_a_moment_is_not_told_of() -> None:
    machine = watching(item("a", "1"), item("b", "2"))
    for _ in range(2):
        assert tell(machine, Failed(410, "too old"), Waited(), Page((), "20")) == []
        assert tell(machine, Waited(), Page((), "20")) == []
        assert tell(machine, Waited(), Page((item("a", "1"), item("b", "2")), "30")) == []
        assert (asks(machine), fails_by(machine)) == (Watch("30"), None)


def test_some_may_be_gone_by_one_list_and_the_last_by_a_word_of_the_watch() -> None:
    machine = watching(item("a", "1"), item("b", "2"))
    assert tell(machine, Failed(410, "too old"), Waited(), Page((item("b", "2"),), "20")) == [gone("a")]
    assert tell(machine, Removed(name("b"), "21")) == [gone("b")]
    assert tell(machine, Failed(410, "too old"), Waited(), Page((), "30")) == []
    assert asks(machine) == Watch("30")


def test_it_is_synced_only_once() -> None:
    machine = watching(item("a", "1"))
    assert tell(machine, Failed(410, "too old"), Waited(), Page((item("a", "1"),), "20")) == []


def test_changes_are_told_as_they_come() -> None:
    machine = watching(item("a", "1"))
    assert tell(machine, item("a", "11"), item("b", "12")) == [put("a", "11"), put("b", "12")]
    assert tell(machine, Removed(name("a"), "13")) == [gone("a")]


def test_what_came_before_is_not_told_again() -> None:
    machine = watching(item("a", "1"))
    tell(machine, item("b", "11"), Removed(name("b"), "12"), item("a", "13"))
    assert tell(machine, item("b", "11"), Removed(name("a"), "9"), item("a", "13")) == []


def test_a_deletion_of_what_was_never_there_is_not_told() -> None:
    assert tell(watching(), Removed(name("a"), "11")) == []


def test_versions_that_are_no_numbers_count_as_later() -> None:
    machine = watching(version="x1")
    assert tell(machine, item("a", "x0"), item("a", "x0"), item("a", "x2")) == [
        put("a", "x0"),
        put("a", "x2"),
    ]
    assert tell(machine, Ended(5.0), Waited()) == []
    assert asks(machine) == Watch("x2")


@pytest.mark.parametrize(
    "last", [item("b", "12"), Bookmark("12"), Removed(name("a"), "12")], ids=["item", "bookmark", "removed"]
)
def test_a_watch_goes_on_where_the_last_one_ended(last: Received) -> None:
    machine = watching(item("a", "1"))
    tell(machine, last, Bookmark("9"), Ended(lasted=300.0))
    assert asks(machine) == Wait(0.0, Watch("12"))
    assert machine.failures == {}


@pytest.mark.parametrize("code", [0, 401, 403, 429, 500, 503, 504])
def test_a_watch_that_failed_for_a_passing_reason_goes_on_where_it_ended(code: int) -> None:
    machine = watching()
    tell(machine, item("a", "11"), Failed(code, "no"), Waited())
    assert asks(machine) == Watch("11")


@pytest.mark.parametrize("code", [400, 410, 422])
def test_a_version_that_the_server_cannot_go_on_from_leads_to_a_list_at_once(code: int) -> None:
    machine = watching()
    tell(machine, item("a", "11"), Failed(code, "too old"))
    assert asks(machine) == Wait(0.0, List())


def test_a_watch_that_fails_again_and_again_is_given_up_for_a_list() -> None:
    machine = watching()
    for _ in range(2):
        tell(machine, Opened(), Failed(0, "garbage"), Waited())
        assert asks(machine) == Watch("10")
    tell(machine, Opened(), Failed(0, "garbage"), Waited())
    assert asks(machine) == List()


@pytest.mark.parametrize("code", [0, 429, 502, 503, 504])
def test_a_server_that_is_away_for_long_is_asked_to_go_on_where_it_was(code: int) -> None:
    machine = watching()
    for _ in range(20):
        tell(machine, Failed(code, "away"), Waited())
        assert asks(machine) == Watch("10")


def test_failures_before_an_outage_count_with_those_after_it() -> None:
    machine = watching()
    tell(machine, Failed(500, "broken"), Waited(), Failed(500, "broken"), Waited())
    tell(machine, Failed(0, "away"), Waited())
    assert asks(machine) == Watch("10")
    tell(machine, Failed(500, "broken"), Waited())
    assert asks(machine) == List()


def test_a_watch_that_ends_at_once_without_a_word_is_a_failure() -> None:
    machine = watching()
    tell(machine, Bookmark("11"), Ended(lasted=0.01))
    assert asks(machine) == Wait(1.0, Watch("11"))
    tell(machine, Waited(), Ended(lasted=0.01))
    assert asks(machine) == Wait(2.0, Watch("11"))


def waits(machine: ListWatch, failures: Sequence[Received]) -> list[float]:
    seconds = []
    for failure in failures:
        tell(machine, failure)
        assert isinstance(machine.next, Wait)
        seconds.append(machine.next.seconds)
        tell(machine, Waited())
    return seconds


def test_it_waits_longer_after_each_failure_up_to_a_limit() -> None:
    assert waits(ListWatch(PACE), [Failed(503, "no")] * 6) == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_how_long_it_waits_is_left_to_chance_from_nothing_up() -> None:
    chances = iter([0.0, 0.5, 1.0])
    machine = ListWatch(Pace(first=1.0, longest=8.0, chance=lambda: next(chances)))
    assert waits(machine, [Failed(503, "no")] * 3) == [0.0, 1.0, 4.0]


@pytest.mark.parametrize("sign", [item("a", "11"), Bookmark("11"), Removed(name("a"), "11")])
def test_a_sign_of_life_makes_it_patient_again(sign: Received) -> None:
    machine = watching()
    waits(machine, [Failed(503, "no")] * 2)
    assert machine.failure == Failed(503, "no")
    tell(machine, sign)
    assert machine.failure is None
    assert waits(machine, [Failed(503, "no")]) == [1.0]


def test_a_quiet_watch_that_lasted_makes_it_patient_again() -> None:
    machine = watching()
    waits(machine, [Failed(503, "no")] * 2)
    assert waits(machine, [Failed(0, "reset", lasted=60.0)]) == [1.0]


def test_a_watch_that_stands_again_is_well_even_if_nothing_happens() -> None:
    machine = watching()
    tell(machine, Failed(503, "no"), Waited())
    assert machine.failure == Failed(503, "no")
    assert tell(machine, Opened()) == []
    assert machine.failure is None
    assert asks(machine) == Watch("10")


def test_a_list_that_has_only_begun_to_stream_brings_nobody_up_to_date() -> None:
    machine = ListWatch(PACE)
    tell(machine, Found("v1"), Bookmark("10", ends_list=True), Failed(410, "too old"), Waited(), Opened())
    assert machine.failure == Failed(410, "too old")
    tell(machine, Bookmark("20", ends_list=True))
    assert machine.failure is None


def test_watches_that_are_agreed_to_and_fail_at_once_are_not_asked_for_without_a_pause() -> None:
    machine = watching()
    waits = []
    for _ in range(2):
        tell(machine, Opened(), Failed(0, "no"))
        waits.append(asks(machine))
        tell(machine, Waited())
    assert waits == [Wait(1.0, Watch("10")), Wait(2.0, Watch("10"))]


def test_it_counts_the_objects_that_are_there() -> None:
    machine = watching(item("a", "1"), item("b", "2"))
    assert machine.held == 2
    tell(machine, Removed(name("a"), "11"))
    assert machine.held == 1


def test_lists_that_lead_to_nothing_but_refused_watches_are_not_asked_for_without_a_pause() -> None:
    machine = watching()
    failures: list[Received] = [Failed(410, "too old"), Page((), "10")] * 4
    seconds = []
    for answer in failures:
        tell(machine, answer)
        if isinstance(machine.next, Wait):
            seconds.append(machine.next.seconds)
            tell(machine, Waited())
    assert seconds == [0.0, 2.0, 4.0, 8.0]


def test_a_server_that_says_when_to_come_back_is_obeyed_within_reason() -> None:
    assert waits(ListWatch(PACE), [Failed(429, "busy", retry_after=20.0)]) == [20.0]
    assert waits(ListWatch(PACE), [Failed(429, "busy", retry_after=1e9)]) == [120.0]


def test_a_kind_that_the_api_lacks_is_absent_and_looked_for_now_and_then() -> None:
    machine = ListWatch(PACE)
    assert tell(machine, Found(None)) == [Absent()]
    assert machine.absent
    assert asks(machine) == Wait(15.0, Probe())
    assert tell(machine, Waited(), Found(None)) == []


def test_a_kind_that_comes_later_is_listed() -> None:
    machine = ListWatch(PACE)
    tell(machine, Found(None), Waited(), Found("v1"), REFUSED, Waited())
    assert not machine.absent
    assert tell(machine, Page((item("a", "1"),), "10")) == [put("a", "1"), Synced()]


def test_a_kind_that_went_takes_its_objects_along_once_that_is_certain() -> None:
    machine = watching(item("a", "1"), item("b", "2"))
    tell(machine, Bookmark("11"), Failed(404, "the server could not find the requested resource"))
    assert asks(machine) == Wait(0.0, Probe())
    assert tell(machine, Waited(), Found(None), Waited(), Found(None), Waited()) == []
    assert tell(machine, Found(None)) == [gone("a"), gone("b"), Absent()]
    assert machine.failure is None
    tell(machine, Waited(), Found("v1"))
    assert tell(machine, Page((item("a", "30"),), "40")) == [put("a", "30")]


def test_a_kind_that_seemed_to_be_gone_for_a_moment_loses_no_object() -> None:
    machine = watching(item("a", "1"))
    changes = tell(machine, Failed(404, "no"), Waited(), Found(None), Waited(), Found("v2"))
    changes += tell(machine, Page((item("a", "1"),), "11"))
    assert changes == []
    assert machine.api_version == "v2"


def test_a_kind_that_is_found_and_yet_cannot_be_listed_is_not_asked_for_without_a_pause() -> None:
    machine = listing()
    seconds = []
    for _ in range(3):
        seconds += waits(machine, [Failed(404, "no")])
        tell(machine, Found("v1"))
    assert seconds == [0.0, 2.0, 4.0]


def test_a_kind_that_is_still_absent_after_an_outage_is_no_failure() -> None:
    machine = ListWatch(PACE)
    assert tell(machine, Found(None), Waited()) == [Absent()]
    tell(machine, Failed(503, "away"), Waited())
    assert machine.failure == Failed(503, "away")
    assert tell(machine, Found(None)) == []
    assert machine.failure is None


def test_failing_to_look_for_the_kind_says_nothing_about_it() -> None:
    machine = watching(item("a", "1"))
    tell(machine, Failed(404, "no"), Waited())
    assert tell(machine, Failed(503, "starting")) == []
    assert asks(machine) == Wait(2.0, Probe())
