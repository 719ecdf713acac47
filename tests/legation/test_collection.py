"""When the garbage collector may run, and how much it looks at."""

import gc
from collections.abc import Iterator
from time import thread_time

import pytest

from legation.collection import LONG, LOOKS, YOUNG, look_at_the_young_only, undisturbed


class Ring:
    """Refers to itself."""

    def __init__(self) -> None:
        """Begin with a circle."""
        self.self = self


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    gc.collect()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


def rings() -> int:
    """Count those that are there."""
    gc.unfreeze()
    return sum(isinstance(each, Ring) for each in gc.get_objects())


def test_nothing_is_collected_inside_and_again_afterwards() -> None:
    with undisturbed():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_begins_while_another_is_undisturbed_leaves_it_so() -> None:
    with undisturbed():
        with undisturbed():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_ends_first_leaves_it_so_for_who_goes_on() -> None:
    first, second = undisturbed(), undisturbed()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_failure_inside_leaves_the_collector_as_it_was() -> None:
    with pytest.raises(KeyError), undisturbed():
        raise KeyError
    assert gc.isenabled()


def test_only_what_took_long_to_make_is_taken_to_stay() -> None:
    gc.unfreeze()
    gc.collect()
    with undisturbed():
        few = [[] for _ in range(10)]  # type: ignore[var-annotated]  # lists of nothing
    assert gc.get_freeze_count() == 0
    with undisturbed():
        many, until = [few], thread_time() + 2 * LONG
        while thread_time() < until:
            many.append([[]])
    assert gc.get_freeze_count() > len(many)
    before = gc.get_freeze_count()
    with undisturbed():
        few = [[] for _ in range(10)]
    assert gc.get_freeze_count() == before, "what is made of few afterwards is looked at again"


def test_what_is_young_and_refers_to_itself_is_found_without_being_asked_for() -> None:
    look_at_the_young_only()
    for _ in range(YOUNG + 10):
        Ring()
    assert rings() <= YOUNG


def test_what_has_been_there_for_a_while_is_never_looked_at_again() -> None:
    look_at_the_young_only()
    found = set[int]()

    def note(phase: str, told: dict[str, int]) -> None:
        if phase == "start":
            found.add(told["generation"])

    gc.callbacks.append(note)
    try:
        kept = [[] for _ in range(YOUNG * LOOKS * 50)]  # type: ignore[var-annotated]  # lists of nothing
    finally:
        gc.callbacks.remove(note)
    assert kept
    assert found == {0, 1}
