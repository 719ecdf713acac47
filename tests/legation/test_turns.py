"""Threads that compute beside the event loop."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, groupby
from time import monotonic

import pytest

from legation import turns
from legation.turns import A_WHILE, FEW, LONGEST, SWITCH, Floor, give_way_soon, in_turns, let_go
from tests.looking import SOON


@pytest.fixture
def usual() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


class Loop:
    """An event loop that is at a turn for so many looks at it."""

    def __init__(self, looks: float) -> None:
        self.looked = 0
        self._looks = looks

    def turn(self) -> float | None:
        self.looked += 1
        return 1.0 if self.looked <= self._looks else None


@pytest.mark.usefixtures("usual")
def test_a_thread_that_computes_gives_way_sooner_than_python_would_have_it() -> None:
    sys.setswitchinterval(0.005)
    give_way_soon()
    assert sys.getswitchinterval() == pytest.approx(SWITCH)
    assert SWITCH < 0.005


def test_one_thread_computes_at_a_time() -> None:
    floor, there = Floor(), threading.Semaphore(1)

    def compute(_: int) -> bool:
        with floor.taken():
            for _ in range(100):
                if not there.acquire(blocking=False):
                    return False
                there.release()
                floor.give_way()
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(compute, range(40)))
    assert floor.is_free


def test_who_wants_the_floor_has_it_before_the_other_is_done() -> None:
    floor, came = Floor(), threading.Event()

    def come() -> None:
        with floor.taken():
            came.set()

    with floor.taken():
        other = threading.Thread(target=come)
        other.start()
        began = monotonic()
        while not came.is_set() and monotonic() - began < SOON:
            floor.give_way()
        assert came.is_set()
    other.join(SOON)
    assert floor.is_free


def test_who_waits_goes_on_when_the_turn_of_the_event_loop_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST", SOON)
    floor, looked = Floor(), threading.Event()
    over = list[bool]()

    def turn() -> float:
        looked.set()
        return 1.0

    def end() -> None:
        looked.wait(SOON)
        while not over:  # whoever waits may not have begun to
            floor.turn_is_over()

    floor.turn = turn
    loop = threading.Thread(target=end)
    loop.start()
    began = monotonic()
    with floor.taken():
        floor.give_way()
    assert monotonic() - began < SOON
    over.append(True)
    loop.join(SOON)


def test_a_turn_that_ends_meanwhile_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LONGEST", SOON)
    floor, loop = Floor(), Loop(looks=1)
    floor.turn = loop.turn
    began = monotonic()
    with floor.taken():
        floor.give_way()
    assert loop.looked == 2
    assert monotonic() - began < SOON


def test_a_turn_without_end_keeps_nobody_for_long_and_not_twice_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turns, "LONGEST", 20 * LONGEST)  # the second look has to come within this
    floor, loop = Floor(), Loop(looks=float("inf"))
    floor.turn = loop.turn
    with floor.taken():
        began = monotonic()
        floor.give_way()
        assert monotonic() - began >= 20 * LONGEST
        looked = loop.looked
        floor.give_way()
    assert loop.looked == looked


def test_who_does_not_hold_the_floor_waits_for_nobody() -> None:
    floor, loop = Floor(), Loop(looks=float("inf"))
    floor.turn = loop.turn
    floor.give_way()
    assert loop.looked == 1


def test_the_floor_is_free_again_after_a_failure() -> None:
    floor = Floor()
    with pytest.raises(KeyError), floor.taken():
        raise KeyError
    assert floor.is_free


async def test_things_come_in_order_and_after_each_few_others_have_their_turn() -> None:
    turns = count()

    async def others() -> None:
        while True:
            next(turns)
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    seen = [(each, next(turns)) async for each in in_turns(range(3 * FEW))]
    task.cancel()
    assert [each for each, _ in seen] == [*range(3 * FEW)]
    whose = [turn - each for each, turn in seen]  # it rises whenever somebody else took one
    assert whose == [0] * FEW + [1] * FEW + [2] * FEW


class Large:
    """Something that takes a while, or a part of it, to be let go of."""

    def __init__(self, events: list[str], takes: float = A_WHILE) -> None:
        self._events, self._takes = events, takes

    def __del__(self) -> None:
        began = monotonic()
        while monotonic() - began <= self._takes:
            pass
        self._events.append("gone")


async def let_go_beside_others(events: list[str], *given: list[object]) -> None:
    """Let go while somebody else notes each turn that he has."""

    async def others() -> None:
        while True:
            events.append("turn")
            await asyncio.sleep(0)

    waiting = asyncio.create_task(others())
    await let_go(*given)
    waiting.cancel()


def in_short(events: list[str]) -> list[str]:
    """Leave out what happens again: whoever had to wait for a processor leaves others more turns."""
    return [event for event, _ in groupby(events)]


async def test_between_large_things_that_are_let_go_of_others_have_their_turn() -> None:
    events: list[str] = []
    things: list[object] = [Large(events), 1, Large(events)]
    await let_go_beside_others(events, things)
    assert (things, in_short(events), events.count("gone")) == ([], ["gone", "turn", "gone", "turn"], 2)


@pytest.mark.parametrize(
    "made", [list, lambda things: dict(enumerate(things)), lambda things: dict.fromkeys(things, 0)]
)
async def test_what_has_shrunk_is_let_go_of_part_by_part(made: Callable[[Iterable[Large]], object]) -> None:
    events: list[str] = []
    many = FEW + 1
    things = [made(Large(events) for _ in range(many))]
    await let_go_beside_others(events, things, [()])
    assert (things, in_short(events), events.count("gone")) == ([], ["gone", "turn"] * many, many)


async def test_many_things_that_take_a_while_together_are_not_let_go_of_in_one_turn() -> None:
    events: list[str] = []
    await let_go_beside_others(events, [Large(events, A_WHILE / 4) for _ in range(40)])
    assert "gone gone gone gone gone gone" not in " ".join(events)
    assert events.count("gone") == 40


async def test_what_has_not_shrunk_is_let_go_of_as_a_whole() -> None:
    events: list[str] = []
    many = FEW + 1
    await let_go_beside_others(events, [[Large(events) for _ in range(many)]], [range(many)])
    assert events == [*["gone"] * many, "turn"]
