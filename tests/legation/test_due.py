"""What is due is looked at once at a time, in order, and not too early."""

import asyncio

from legation.due import MOST_HISTORY, Due
from tests.looking import SOON


async def test_what_is_marked_twice_is_due_once() -> None:
    due: Due[str] = Due()
    for name in ("a", "b", "a"):
        due.mark(name)
    async with asyncio.timeout(SOON):
        taken = []
        for _ in range(2):
            async with due.next() as name:
                taken.append(name)
    assert taken == ["a", "b"]
    assert await nothing_is_due(due)


async def test_what_is_looked_at_waits_until_that_is_done() -> None:
    due: Due[str] = Due()
    due.mark("a")
    async with asyncio.timeout(SOON):
        async with due.next():
            due.mark("a")
            assert await nothing_is_due(due)
        async with due.next() as again:
            assert again == "a"


async def test_an_earlier_time_wins_and_a_later_one_is_waited_for() -> None:
    due: Due[str] = Due()
    loop = asyncio.get_running_loop()
    began = loop.time()
    due.mark("late", after=0.2)
    due.mark("early", after=100.0)
    due.mark("early", after=0.0)
    async with asyncio.timeout(SOON):
        async with due.next() as first:
            assert first == "early"
        async with due.next() as second:
            assert second == "late"
    assert loop.time() - began >= 0.2


async def test_what_is_marked_while_somebody_waits_is_noticed() -> None:
    due: Due[str] = Due()

    async def take() -> str:
        async with due.next() as name:
            return name

    due.mark("late", after=100.0)
    waiting = asyncio.create_task(take())
    await asyncio.sleep(0)
    due.mark("now")
    async with asyncio.timeout(SOON):
        assert await waiting == "now"


async def test_what_is_forgotten_is_not_due() -> None:
    due: Due[str] = Due()
    due.mark("a")
    due.forget("a")
    due.forget("b")
    assert await nothing_is_due(due)


async def test_what_comes_and_goes_while_nobody_looks_leaves_nothing() -> None:
    due: Due[str] = Due()
    due.mark("stays")
    for number in range(20 * MOST_HISTORY):
        due.mark(f"a{number}")
        due.forget(f"a{number}")
    assert len(due._order) < 2 * MOST_HISTORY
    async with asyncio.timeout(SOON), due.next() as name:
        assert name == "stays"
    assert await nothing_is_due(due)


async def nothing_is_due(due: Due[str]) -> bool:
    """Say whether nobody who asks gets anything."""
    try:
        async with asyncio.timeout(0.05), due.next():
            return False
    except TimeoutError:
        return True
