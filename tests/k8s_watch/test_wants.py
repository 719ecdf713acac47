"""Of the objects that are nobody's business nothing is read, and whoever asks for one is answered."""

import pytest

from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from k8s_watch.kind import ObjectName
from k8s_watch.wants import Errand, Wants

A, B = ObjectName("shop", "a"), ObjectName("shop", "b")


def there(name: ObjectName, version: str) -> Put[None]:
    return Put(name, version, None)


def body(name: ObjectName, version: str) -> Put[str]:
    return Put(name, version, f"body {version}")


def knowing(*changes: Change[None]) -> Wants[str]:
    wants = Wants[str]()
    assert wants.learn([*changes, Synced()]) == [Synced()]
    return wants


def wanting(name: ObjectName, version: str) -> Wants[str]:
    """Return one that was told of an object that is wanted."""
    wants = knowing(there(name, version))
    wants.want({name})
    errand = wants.next_errand()
    assert errand == Errand(name, version)
    assert wants.read(errand, body(name, version)) == [body(name, version)]
    return wants


def test_what_nobody_wants_is_not_read() -> None:
    assert knowing(there(A, "1")).next_errand() is None


def test_what_is_wanted_and_there_is_read_once() -> None:
    assert wanting(A, "1").next_errand() is None


def test_what_is_wanted_and_not_known_is_looked_for_and_answered_once_it_is_not_there() -> None:
    wants = knowing()
    assert wants.want({A}) == []
    assert wants.next_errand() == Errand(A, "")
    assert wants.next_errand() is None
    assert wants.read(Errand(A, ""), None) == [Gone(A)]
    assert wants.want({A}) == []
    assert wants.next_errand() is None


def test_what_is_there_though_its_metadata_was_not_told_yet_is_read_once_it_is() -> None:
    wants = knowing()
    wants.want({A})
    assert wants.next_errand() == Errand(A, "")
    assert wants.read(Errand(A, ""), body(A, "1")) == []
    assert wants.next_errand() is None
    wants.learn([there(A, "1")])
    assert wants.next_errand() == Errand(A, "1")


def test_a_look_that_came_to_nothing_is_taken_again() -> None:
    wants = knowing()
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    wants.put_off(errand)
    assert wants.next_errand() == errand


def test_what_is_wanted_before_all_names_are_known_is_answered_then() -> None:
    wants = Wants[str]()
    assert wants.want({A, B}) == []
    assert wants.learn([there(B, "1")]) == []
    assert wants.learn([Synced()]) == [Synced()]
    assert [wants.next_errand(), wants.next_errand()] == [Errand(B, "1"), Errand(A, "")]


def test_what_is_wanted_of_a_kind_that_is_absent_is_gone() -> None:
    wants = Wants[str]()
    wants.want({A})
    assert wants.learn([Absent()]) == [Absent(), Gone(A)]
    assert wants.learn([Absent()]) == [Absent()]


def test_a_change_is_read() -> None:
    wants = wanting(A, "1")
    wants.learn([there(A, "2")])
    assert wants.next_errand() == Errand(A, "2")
    assert wants.read(Errand(A, "2"), body(A, "2")) == [body(A, "2")]


def test_metadata_that_arrives_after_the_object_itself_leads_to_no_second_reading() -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    assert wants.read(errand, body(A, "3")) == [body(A, "3")]
    wants.learn([there(A, "3")])
    assert wants.next_errand() is None


def test_the_same_body_read_twice_is_told_once() -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    first = wants.next_errand()
    assert first is not None
    assert wants.read(first, body(A, "3")) == [body(A, "3")]
    wants.learn([there(A, "2")])
    assert wants.read(Errand(A, "2"), body(A, "3")) == []


def test_an_errand_overtaken_by_a_change_is_run_again() -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    wants.learn([there(A, "2")])
    assert wants.read(errand, body(A, "1")) == []
    assert wants.next_errand() == Errand(A, "2")


def test_an_errand_that_returns_after_the_deletion_brings_nothing_back() -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    assert wants.learn([Gone(A)]) == [Gone(A)]
    assert wants.read(errand, body(A, "1")) == []


def test_an_errand_that_returns_when_nobody_wants_it_any_more_is_not_told() -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    assert wants.want(set()) == []
    assert wants.read(errand, body(A, "1")) == []


def test_an_object_that_was_deleted_before_it_could_be_read_is_gone_until_it_returns() -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    assert wants.read(errand, None) == [Gone(A)]
    assert wants.learn([Gone(A)]) == []
    wants.learn([there(A, "5")])
    assert wants.next_errand() == Errand(A, "5")


def test_what_is_wanted_no_more_is_withdrawn_and_read_anew_when_it_is_wanted_again() -> None:
    wants = wanting(A, "1")
    assert wants.want(set()) == [Gone(A)]
    wants.want({A})
    assert wants.next_errand() == Errand(A, "1")


def test_a_deletion_of_what_is_wanted_is_told_and_of_anything_else_is_not() -> None:
    wants = wanting(A, "1")
    wants.learn([there(B, "2")])
    assert wants.learn([Gone(B), Gone(A)]) == [Gone(A)]


@pytest.mark.parametrize("due", [True, False])
def test_an_errand_that_came_to_nothing_is_run_again_if_that_still_matters(*, due: bool) -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    if not due:
        wants.want(set())
    wants.put_off(errand)
    assert wants.next_errand() == (errand if due else None)


def test_an_object_that_is_being_read_is_not_asked_for_again() -> None:
    wants = Wants[str]()
    wants.want({A})
    wants.learn([there(A, "1")])
    errand = wants.next_errand()
    assert errand is not None
    wants.learn([Synced()])
    wants.want(set())
    wants.want({A})
    assert wants.next_errand() is None
    assert wants.read(errand, body(A, "1")) == [body(A, "1")]


def test_an_object_that_does_not_fit_is_told_as_it_is() -> None:
    wants = knowing(there(A, "1"))
    wants.want({A})
    errand = wants.next_errand()
    assert errand is not None
    unreadable = Unreadable(A, "1", "no")
    assert wants.read(errand, unreadable) == [unreadable]


def test_what_is_there_and_wanted_is_lacking_until_its_newest_version_was_read() -> None:
    wants = knowing(there(A, "1"))
    assert not wants.lacks(A)
    wants.want({A, B})
    assert (wants.lacks(A), wants.lacks(B)) == (True, False)
    wants.read(Errand(A, "1"), body(A, "1"))
    assert not wants.lacks(A)
    wants.learn([there(A, "2")])
    assert wants.lacks(A)
    wants.learn([Gone(A)])
    assert not wants.lacks(A)


def test_what_is_wanted_for_something_else_is_answered_for_once_more() -> None:
    wants = wanting(A, "1")
    assert wants.want({A, B}, {A, B}) == []
    assert [wants.next_errand(), wants.next_errand()] == [Errand(A, "1"), Errand(B, "")]
    assert wants.read(Errand(A, "1"), body(A, "1")) == [body(A, "1")]
    assert wants.read(Errand(B, ""), None) == [Gone(B)]
    assert wants.want({A, B}, {B}) == []
    assert wants.next_errand() == Errand(B, "")
    assert wants.next_errand() is None


def test_what_is_to_be_told_anew_and_wanted_no_more_is_withdrawn() -> None:
    wants = wanting(A, "1")
    assert wants.want(set(), {A}) == [Gone(A)]
    assert wants.next_errand() is None
