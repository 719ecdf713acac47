"""Writes of one thing are the further apart the longer it changes, and prompt again after a rest."""

from legation.spacing import FURTHEST, NEAREST, Spacing

STEP = 0.05


def written(spacing: Spacing[str], begin: float, end: float) -> list[float]:
    """Write whenever it may be; give when that was."""
    times, now = [], begin
    while now < end:
        if not spacing.left("edge", now):
            spacing.wrote("edge", now)
            times.append(now)
        now += STEP
    return times


def test_what_was_never_written_does_not_wait() -> None:
    assert Spacing[str]().left("edge", 1000.0) == 0


def test_a_change_soon_after_the_first_write_waits_no_longer_than_it_always_did() -> None:
    spacing = Spacing[str]()
    spacing.wrote("edge", 1000.0)
    assert spacing.left("edge", 1000.0 + NEAREST) == 0


def test_what_never_rests_is_written_twenty_times_in_half_a_minute_and_at_least_every_two_seconds() -> None:
    times = written(Spacing(), 1000.0, 1030.0)
    assert len(times) <= 20
    assert times[-1] >= 1030.0 - FURTHEST - STEP
    assert times[:2] == [1000.0, times[1]]
    assert times[1] - times[0] < 2 * NEAREST + STEP


def test_after_a_rest_it_is_as_prompt_as_at_first() -> None:
    spacing = Spacing[str]()
    last = written(spacing, 1000.0, 1030.0)[-1]
    again = last + 2 * FURTHEST + STEP
    spacing.wrote("edge", again)
    assert spacing.left("edge", again) <= NEAREST


def test_what_is_gone_leaves_nothing_and_who_comes_after_it_does_not_wait() -> None:
    spacing = Spacing[str]()
    written(spacing, 1000.0, 1010.0)
    spacing.forget("edge")
    assert spacing.left("edge", 1010.0) == 0
    assert not spacing._last
