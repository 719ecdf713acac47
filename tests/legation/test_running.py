"""What tests of `legation` as a process count on."""

from contextlib import closing

import pytest

from tests.legation.running import Ports

TWO = range(19_998, 20_000)


def test_a_port_that_was_given_is_given_to_nobody_else_until_it_is_given_back() -> None:
    with closing(Ports(TWO)) as mine:
        with closing(Ports(TWO)) as theirs:
            assert {mine.give(), theirs.give()} == set(TWO)
            with pytest.raises(OSError, match="every port is taken"):
                mine.give()
        assert mine.give() in TWO
