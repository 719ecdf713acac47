"""How much may be told at once, by whom, and when again."""

from hypothesis import given
from hypothesis import strategies as st

from legation.telemetry.rations import Ration, Rations

EACH, TOGETHER = Ration(at_once=3, every=10.0), Ration(at_once=5, every=1.0)
STEPS = st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0.0, 5.0)), max_size=200)


def allowed(rations: Rations, namespace: str, now: float, asked: int = 10) -> int:
    return sum(rations.allow(namespace, now) for _ in range(asked))


def test_a_namespace_has_some_at_once_and_more_only_as_time_goes_by() -> None:
    rations = Rations(EACH, TOGETHER, 0.0)
    assert allowed(rations, "shop", 0.0) == 3
    assert allowed(rations, "shop", 9.0) == 0
    assert allowed(rations, "shop", 10.0) == 1
    assert allowed(rations, "shop", 1000.0) == 3


def test_one_namespace_leaves_something_for_others_and_all_together_have_a_bound() -> None:
    rations = Rations(EACH, TOGETHER, 0.0)
    assert [allowed(rations, name, 0.0) for name in ("shop", "infra", "third")] == [3, 2, 0]
    assert allowed(rations, "third", 1.0) == 1


@given(STEPS)
def test_never_is_more_allowed_than_was_saved_up_and_no_quiet_namespace_is_remembered(
    steps: list[tuple[str, float]],
) -> None:
    rations, now, granted = Rations(EACH, TOGETHER, 0.0), 0.0, 0
    for namespace, wait in steps:
        now += wait
        granted += rations.allow(namespace, now)
        assert granted <= TOGETHER.at_once + now / TOGETHER.every + 1e-6
    rations.allow("last", now + 1000.0)
    assert len(rations) == 1
