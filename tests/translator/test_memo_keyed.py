"""Mappings that are read entry by entry: as right as recomputing everything, and only what differs costs."""

from collections.abc import Mapping

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from translator.memo import Memory, Table, keyed, query

GUESTS, ROOMS = 6, 3


class House:
    """Who sleeps where."""

    def __init__(self) -> None:
        self.beds = dict.fromkeys(range(GUESTS), 0)
        self.broken = False
        self.memory = Memory()
        self.asked: list[int] = []

    def move(self, guest: int, room: int) -> None:
        self.beds[guest] = room
        self.memory.touch(bed, guest)

    def burst(self, *, broken: bool) -> None:
        self.broken = broken
        self.memory.touch(whole)

    def crowd(self, room: int) -> int:
        return sum(each == room for each in self.beds.values())


@query
def bed(house: House, guest: int) -> int:
    return house.beds[guest]


@query
def whole(house: House) -> bool:
    return not house.broken


@keyed(rank=0)
def rooms(house: House) -> Mapping[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for guest in range(GUESTS):
        found[bed(house, guest)] = (*found.get(bed(house, guest), ()), guest)
    if not whole(house):
        message = "the pipe burst"
        raise ValueError(message)
    return found


@query
def crowd(house: House, room: int) -> int:
    house.asked.append(room)
    return len(rooms.at(house, room) or ())


@keyed(rank=1)
def by_crowd(house: House) -> Mapping[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for room in range(ROOMS):
        found[crowd(house, room)] = (*found.get(crowd(house, room), ()), room)
    return found


@query
def rooms_of(house: House, size: int) -> tuple[int, ...]:
    return by_crowd.at(house, size) or ()


@query
def occupied(house: House) -> int:
    return len(rooms(house))


def test_only_readers_of_an_entry_that_differs_run_again() -> None:
    house = House()
    assert [crowd(house, room) for room in range(ROOMS)] == [GUESTS, 0, 0]
    house.asked.clear()
    house.move(0, 1)
    assert [crowd(house, room) for room in range(ROOMS)] == [GUESTS - 1, 1, 0]
    assert house.asked == [0, 1]


def test_a_reader_of_the_whole_runs_whenever_anything_differs() -> None:
    house = House()
    assert occupied(house) == 1
    house.move(0, 2)
    assert occupied(house) == 2


def test_a_table_hears_of_entries_that_differ() -> None:
    house = House()
    table: Table[int] = Table(house.memory, crowd)
    keys = frozenset(range(ROOMS))
    assert table.keep(keys, house).changed == keys
    house.move(0, 1)
    assert table.keep(keys, house).changed == {0, 1}
    assert table.keep(keys, house).changed == frozenset()


def test_a_failure_is_told_to_readers_of_every_entry_and_so_is_its_end() -> None:
    house = House()
    assert crowd(house, 0) == GUESTS
    house.burst(broken=True)
    for room in range(ROOMS):
        with pytest.raises(ValueError, match="burst"):
            crowd(house, room)
    house.burst(broken=False)
    assert crowd(house, 0) == GUESTS


def test_a_mapping_that_nobody_reads_is_not_made() -> None:
    house = House()
    house.memory.settle(house)
    assert rooms(house) == {0: tuple(range(GUESTS))}
    house.memory.sweep()
    house.move(0, 1)
    house.memory.settle(house)
    assert house.memory.runs["rooms"] == 1


class AnyMoves(RuleBasedStateMachine):
    """However guests move and whoever asks in between, the answers are those of a new house."""

    def __init__(self) -> None:
        super().__init__()
        self.house = House()

    @rule(guest=st.integers(0, GUESTS - 1), room=st.integers(0, ROOMS - 1))
    def move(self, guest: int, room: int) -> None:
        self.house.move(guest, room)

    @rule(room=st.integers(0, ROOMS - 1))
    def ask_for_a_room(self, room: int) -> None:
        assert crowd(self.house, room) == self.house.crowd(room)

    @rule(size=st.integers(0, GUESTS))
    def ask_for_a_size(self, size: int) -> None:
        rooms = tuple(room for room in range(ROOMS) if self.house.crowd(room) == size)
        assert rooms_of(self.house, size) == rooms

    @rule()
    def ask_for_all(self) -> None:
        assert occupied(self.house) == len(set(self.house.beds.values()))

    @rule()
    def sweep(self) -> None:
        self.house.memory.sweep()


AnyMoves.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestAnyMoves = AnyMoves.TestCase
