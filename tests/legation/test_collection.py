"""When the garbage collector may run."""

import gc
from collections.abc import Iterator

import pytest

from legation.collection import LARGE, undisturbed


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


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


def test_only_what_a_large_batch_made_is_taken_to_stay() -> None:
    gc.unfreeze()
    gc.collect()
    with undisturbed():
        few = [[] for _ in range(10)]  # type: ignore[var-annotated]  # lists of nothing
    assert gc.get_freeze_count() == 0
    with undisturbed():
        many = [[] for _ in range(LARGE + 1)]  # type: ignore[var-annotated]  # lists of nothing
    assert gc.get_freeze_count() > LARGE
    assert len(few) < len(many)
