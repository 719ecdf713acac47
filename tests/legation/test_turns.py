"""Threads that compute beside the event loop."""

import sys
from collections.abc import Iterator

import pytest

from legation.turns import TURN, give_way_soon


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


def test_a_thread_that_computes_gives_way_sooner_than_python_would_have_it() -> None:
    sys.setswitchinterval(0.005)
    give_way_soon()
    assert sys.getswitchinterval() == pytest.approx(TURN)
    assert TURN < 0.005
