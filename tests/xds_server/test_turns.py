"""Many conversations on one event loop: whoever has much to do leaves others their turn."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from xds_server.turns import Turns


def loud(said: list[str], word: str) -> Callable[[], str]:
    def work() -> str:
        said.append(word)
        return word.upper()

    return work


async def passing_by(said: list[str], times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)
        said.append("-")


@pytest.mark.parametrize(("at_once", "order"), [(0.0, "a-b-c-"), (60.0, "abc---")])
async def test_others_have_their_turn_when_a_slice_is_over(at_once: float, order: str) -> None:
    turns, said = Turns(at_once), list[str]()
    doing = [asyncio.create_task(turns.do(loud(said, word))) for word in "abc"]
    await asyncio.gather(*doing, passing_by(said, 3))
    assert "".join(said) == order
    assert [task.result() for task in doing] == ["A", "B", "C"]


async def test_what_nobody_waits_for_any_more_is_not_done() -> None:
    turns, said = Turns(), list[str]()
    kept, left = (asyncio.create_task(turns.do(loud(said, word))) for word in "ab")
    await asyncio.sleep(0)  # both have asked
    left.cancel()
    assert await kept == "A"
    with pytest.raises(asyncio.CancelledError):
        await left
    assert said == ["a"]


async def test_what_fails_fails_for_whoever_asked_for_it() -> None:
    turns, said = Turns(), list[str]()
    failing = asyncio.create_task(turns.do(partial(int, "x")))
    going_on = asyncio.create_task(turns.do(loud(said, "b")))
    with pytest.raises(ValueError, match="invalid literal"):
        await failing
    assert await going_on == "B"


async def test_what_is_asked_for_by_work_itself_has_its_own_turn() -> None:
    turns, said = Turns(), list[str]()
    later: list[asyncio.Task[str]] = []
    await turns.do(lambda: later.append(asyncio.ensure_future(turns.do(loud(said, "late")))))
    assert await later[0] == "LATE"


async def test_a_group_with_much_to_do_keeps_another_waiting_for_one_piece() -> None:
    turns, said = Turns(at_once=0.0), list[str]()
    many = [asyncio.create_task(turns.do(loud(said, word), "many")) for word in "abcdefgh"]
    few = [asyncio.create_task(turns.do(loud(said, word), "few")) for word in "xy"]
    await asyncio.gather(*many, *few)
    assert "".join(said) == "axbycdefgh"
