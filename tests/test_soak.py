"""However much comes and goes, as much is held afterwards as before; `make bench SOAK=1` goes on longer."""

import pytest

from bench.soak.churn import CHANGED, DELETED, MADE, Changes, differences
from bench.soak.levels import Growth, Levels, growth
from bench.soak.soak import VISITORS, soak
from tests.legation.manifest_texts import gateway, route, together

ROUNDS = 24
LEVEL = Levels(
    memory=150_000_000,
    blocks=600_000,
    files=20,
    threads=15,
    tasks=30,
    results=2_000,
    series=180,
    circles=2_500,
)


def rising(growth: list[Growth]) -> set[str]:
    return {each.what for each in growth if not each.is_flat}


@pytest.mark.parametrize("what", Levels._fields)
def test_what_rises_a_little_in_every_second_round_is_noticed(what: str) -> None:
    level = getattr(LEVEL, what)
    step = 1 + level // 50
    rounds = [LEVEL._replace(**{what: level + number // 2 * step}) for number in range(ROUNDS)]
    assert rising(growth(rounds, VISITORS)) == {what}


def test_what_is_odd_in_some_rounds_is_as_flat_as_before() -> None:
    rounds = [LEVEL._replace(files=20 + 3 * (number % 7 == 0)) for number in range(ROUNDS)]
    assert rising(growth(rounds, VISITORS)) == set()


def test_what_differs_is_counted_once_for_each_object() -> None:
    before = together(route("a", "pay"), route("b", "pay"), route("c", "pay"))
    after = together(route("b", "pay"), route("c", "cart"), route("d", "pay"), gateway("edge", 80))
    kind = "HTTPRoute"
    expected = [(DELETED, kind), (CHANGED, kind), (MADE, kind), (MADE, "Gateway")]
    assert differences(before, after) == Changes(expected)


async def test_nothing_that_comes_and_goes_leaves_anything() -> None:
    assert rising(growth((await soak(ROUNDS)).levels, VISITORS)) == set()
