"""How long streams are kept."""

from collections import Counter

from xds_server.lifetime import UNTIL_ANSWERED, Lifetime, connection_options, lifetime

LONGEST = 100.0


def test_a_stream_is_kept_for_at_least_half_of_the_longest_time_and_at_most_all_of_it() -> None:
    drawn = [lifetime(7.0, LONGEST).ends or 0.0 for _ in range(1_000)]
    assert 57.0 <= min(drawn) < 58.0
    assert 106.0 < max(drawn) <= 107.0


def test_streams_that_began_together_end_apart() -> None:
    tenths = Counter(int(((lifetime(0.0, LONGEST).ends or 0.0) - 50.0) / 5.0) for _ in range(1_000))
    assert len(tenths) >= 10
    assert max(tenths.values()) < 200


def test_without_a_longest_time_a_stream_is_kept_for_ever() -> None:
    kept = lifetime(7.0, None)
    assert not kept.is_over(1e12, settled=True)
    assert kept.next_look(1e12) is None
    assert connection_options(None) == ()


def test_an_envoy_that_owes_an_answer_is_heard_out_but_not_for_ever() -> None:
    kept = Lifetime(ends=50.0)
    assert kept.next_look(49.0) == 50.0
    assert not kept.is_over(49.9, settled=True)
    assert kept.is_over(50.0, settled=True)
    assert not kept.is_over(50.0, settled=False)
    assert kept.next_look(50.0) == 50.0 + UNTIL_ANSWERED
    assert kept.is_over(50.0 + UNTIL_ANSWERED, settled=False)


def test_connections_take_no_new_stream_before_the_first_one_ends() -> None:
    """gRPC draws a time of its own, a tenth around the one it is given."""
    [(_, milliseconds)] = connection_options(LONGEST)
    earliest = min(lifetime(0.0, LONGEST).ends or 0.0 for _ in range(1_000))
    assert milliseconds * 1.1 < earliest * 1_000
