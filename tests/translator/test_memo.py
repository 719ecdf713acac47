"""Memory for pure functions: equal to recomputing everything, and cheaper."""

import gc
from collections.abc import Callable
from contextlib import suppress
from sys import getsizeof
from weakref import ref

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import Struct

from translator.memo import FEW, Cell, Memory, Rows, Table, query, steady

INPUTS = 4


class Add(Struct, frozen=True):
    """The sum of some places."""

    places: tuple[int, ...]


class Parity(Struct, frozen=True):
    """Whether a place is odd: most changes to it stop here."""

    place: int


class Pick(Struct, frozen=True):
    """One of two places, as a third one says: what is read depends on what was read."""

    test: int
    odd: int
    even: int


class Share(Struct, frozen=True):
    """One place by another: fails where that is zero."""

    place: int
    by: int


Formula = Add | Parity | Pick | Share


class Sheet:
    """Numbers in the first places, and formulas over them in the places that follow."""

    def __init__(self, numbers: tuple[int, ...], formulas: tuple[Formula, ...]) -> None:
        self.numbers = list(numbers)
        self.formulas = formulas
        self.memory = Memory()
        self.ran: list[int] = []

    def put(self, place: int, number: int) -> None:
        self.numbers[place] = number
        self.memory.touch(cell, place)


@query
def cell(sheet: Sheet, place: int) -> int:
    sheet.ran.append(place)
    if place < len(sheet.numbers):
        return sheet.numbers[place]
    return work_out(sheet.formulas[place - len(sheet.numbers)], lambda read: cell(sheet, read))


def work_out(formula: Formula, ask: Callable[[int], int]) -> int:
    match formula:
        case Add(places):
            return sum(ask(place) for place in places)
        case Parity(place):
            return ask(place) % 2
        case Pick(test, odd, even):
            return ask(odd if ask(test) % 2 else even)
        case Share(place, by):
            return ask(place) // ask(by)


def afresh(sheet: Sheet, place: int) -> int:
    """Compute a place from the numbers, remembering nothing."""
    if place < len(sheet.numbers):
        return sheet.numbers[place]
    return work_out(sheet.formulas[place - len(sheet.numbers)], lambda read: afresh(sheet, read))


def outcome(ask: Callable[[Sheet, int], int], sheet: Sheet, place: int) -> int | type[Exception]:
    """Return what asking gives, a failure included."""
    try:
        return ask(sheet, place)
    except (ZeroDivisionError, RecursionError) as failure:
        return type(failure)


def runs(sheet: Sheet, place: int) -> list[int]:
    """Ask for a place, and return which places ran for it."""
    sheet.ran.clear()
    outcome(cell, sheet, place)
    return sheet.ran


def table_of(sheet: Sheet) -> Table[int]:
    return Table(sheet.memory, cell)


def test_a_second_question_runs_nothing() -> None:
    sheet = Sheet((1, 2), (Add((0, 1)),))
    assert runs(sheet, 2) == [2, 0, 1]
    assert runs(sheet, 2) == []
    assert sheet.memory.runs == {"cell": 3}


def test_only_what_read_a_changed_input_runs_again() -> None:
    sheet = Sheet((1, 2), (Add((0,)), Add((1,)), Add((2, 3))))
    assert cell(sheet, 4) == 3
    sheet.put(1, 5)
    assert runs(sheet, 4) == [1, 3, 4]
    assert cell(sheet, 4) == 6


def test_an_equal_result_stops_the_change() -> None:
    sheet = Sheet((1,), (Parity(0), Add((1,))))
    assert cell(sheet, 2) == 1
    sheet.put(0, 3)
    assert runs(sheet, 2) == [0, 1]


def test_an_input_that_was_touched_but_is_equal_runs_no_reader() -> None:
    sheet = Sheet((1,), (Add((0,)),))
    assert cell(sheet, 1) == 1
    sheet.put(0, 1)
    assert runs(sheet, 1) == [0]


def test_touching_what_nobody_asked_for_remembers_nothing() -> None:
    sheet = Sheet((1,), ())
    sheet.put(0, 2)
    assert len(sheet.memory) == 0


def test_a_query_may_stop_reading_what_it_read_before() -> None:
    sheet = Sheet((1, 10, 20), (Pick(0, 1, 2),))
    assert cell(sheet, 3) == 10
    sheet.put(0, 2)
    assert cell(sheet, 3) == 20
    sheet.put(1, 11)
    assert runs(sheet, 3) == []


def test_what_the_last_run_would_no_longer_ask_for_is_not_refreshed() -> None:
    sheet = Sheet((1, 7, 20, 1), (Share(1, 3), Pick(0, 4, 2)))
    assert cell(sheet, 5) == 7
    sheet.put(3, 0)
    sheet.put(0, 2)
    assert runs(sheet, 5) == [0, 5, 2]
    assert cell(sheet, 5) == 20


def test_a_failure_is_remembered_and_told_to_every_reader() -> None:
    sheet = Sheet((1, 0), (Share(0, 1), Add((2,))))
    with pytest.raises(ZeroDivisionError):
        cell(sheet, 3)
    assert runs(sheet, 3) == []
    sheet.put(1, 1)
    assert cell(sheet, 3) == 1


def test_a_failure_told_twice_does_not_grow() -> None:
    sheet = Sheet((1, 0), (Share(0, 1),))
    depths = []
    for _ in range(3):
        with pytest.raises(ZeroDivisionError) as told:
            cell(sheet, 2)
        depths.append(len(told.traceback))
    assert depths[1] == depths[2]


def test_a_query_that_asks_for_itself_fails_instead_of_recursing() -> None:
    sheet = Sheet((1,), (Add((0, 2)), Add((1,))))
    with pytest.raises(RecursionError, match=r"cell\(1,\) asks for itself"):
        cell(sheet, 1)


def test_what_asked_for_itself_recovers_when_it_stops_asking() -> None:
    sheet = Sheet((1, 5), (Pick(0, 3, 1), Add((2,))))
    assert outcome(cell, sheet, 2) is RecursionError
    sheet.put(0, 2)
    assert cell(sheet, 2) == 5
    assert cell(sheet, 3) == 5


def test_a_row_that_still_asks_for_itself_after_a_change_recovers_with_a_later_one() -> None:
    sheet = Sheet((1, 5), (Add((3,)), Pick(0, 2, 1)))
    table = table_of(sheet)
    assert isinstance(table.keep(frozenset({3}), sheet).broken[3], RecursionError)
    sheet.put(0, 1)
    assert isinstance(table.keep(frozenset({3}), sheet).broken[3], RecursionError)
    sheet.put(0, 2)
    recovered = table.keep(frozenset({3}), sheet)
    assert (dict(recovered.values), recovered.broken) == ({3: 5}, {})


def test_nothing_is_put_while_a_query_runs() -> None:
    sheet = Sheet((1,), ())

    @query
    def meddle(_: Sheet) -> None:
        sheet.put(0, 2)

    with pytest.raises(AssertionError, match="nothing is put while a query runs"):
        meddle(sheet)


def test_a_name_given_by_keyword_is_not_lost() -> None:
    sheet = Sheet((1,), ())

    @query
    def scaled(_: Sheet, number: int, by: int = 1) -> int:
        return number * by

    assert scaled(sheet, 2, 3) == 6
    with pytest.raises(TypeError, match="by"):
        scaled(sheet, 2, by=3)


def test_a_run_that_was_interrupted_is_begun_again() -> None:
    sheet = Sheet((1, 2), ())
    interruptions = iter([None, KeyboardInterrupt(), None])

    @query
    def both(_: Sheet) -> int:
        first = cell(sheet, 0)
        if (interruption := next(interruptions)) is not None:
            raise interruption
        return first + cell(sheet, 1)

    assert both(sheet) == 3
    sheet.put(1, 4)
    with pytest.raises(KeyboardInterrupt):
        both(sheet)
    assert both(sheet) == 5


def test_sweeping_forgets_what_nobody_reads_and_keeps_what_a_table_holds() -> None:
    sheet = Sheet((1, 10, 20), (Pick(0, 1, 2), Add((1,))))
    table = table_of(sheet)
    table.keep(frozenset({3}), sheet)
    assert cell(sheet, 4) == 10
    sheet.put(0, 2)
    table.keep(frozenset({3}), sheet)
    sheet.memory.sweep()
    assert len(sheet.memory) == 3
    assert runs(sheet, 3) == []


def test_what_lost_its_reader_and_found_another_is_not_forgotten() -> None:
    sheet = Sheet((1, 10, 20), (Pick(0, 1, 2), Add((1,))))
    table = table_of(sheet)
    table.keep(frozenset({3}), sheet)
    sheet.put(0, 2)
    table.keep(frozenset({3, 4}), sheet)
    sheet.memory.sweep()
    sheet.ran.clear()
    sheet.put(1, 11)
    assert dict(table.keep(frozenset({3, 4}), sheet).values) == {3: 20, 4: 11}
    assert sheet.ran == [1, 4]


def test_a_row_that_something_else_reads_outlives_its_table() -> None:
    sheet = Sheet((1,), (Add((0,)), Add((1,))))
    narrow, wide = table_of(sheet), table_of(sheet)
    narrow.keep(frozenset({1}), sheet)
    wide.keep(frozenset({2}), sheet)
    narrow.keep(frozenset(), sheet)
    sheet.memory.sweep()
    assert len(sheet.memory) == 3
    wide.keep(frozenset(), sheet)
    sheet.memory.sweep()
    assert len(sheet.memory) == 0


@pytest.mark.parametrize("many", [1, FEW, FEW + 1, 3 * FEW])
def test_all_readers_hear_of_a_change_however_many_and_are_forgotten(many: int) -> None:
    sheet = Sheet((1,), (Add((0,)),) * many)
    table, everyone = table_of(sheet), frozenset(range(1, many + 1))
    table.keep(everyone, sheet)
    sheet.put(0, 2)
    assert dict(table.keep(everyone, sheet).values) == dict.fromkeys(everyone, 2)
    for kept in (frozenset({1}), frozenset[int]()):
        table.keep(kept, sheet)
        sheet.memory.sweep()
        assert len(sheet.memory) == 2 * len(kept)


def test_who_reads_a_result_takes_less_than_a_table_where_they_are_few() -> None:
    sheet = Sheet((1,), (Add((0,)),))
    assert cell(sheet, 1) == 1
    read = sheet.memory.cell(cell, (0,))
    assert list(read.readers) == [sheet.memory.cell(cell, (1,))]
    assert getsizeof(read.readers) < getsizeof({read: None}) / 3


def test_a_row_has_one_table() -> None:
    sheet = Sheet((1,), ())
    table_of(sheet).keep(frozenset({0}), sheet)
    with pytest.raises(AssertionError, match="another table"):
        table_of(sheet).keep(frozenset({0}), sheet)


def test_a_table_tells_which_rows_differ() -> None:
    sheet = Sheet((1, 2, 3), ())
    table = table_of(sheet)
    everyone = frozenset({0, 1, 2})
    assert table.keep(everyone, sheet).changed == everyone
    assert table.keep(everyone, sheet).changed == frozenset()
    sheet.put(1, 20)
    sheet.put(2, 3)
    assert table.keep(everyone, sheet).changed == {1}
    assert table.keep(frozenset({0, 1}), sheet).changed == {2}


def test_rows_that_were_handed_out_stay_as_they_were() -> None:
    sheet = Sheet((1,), ())
    table = table_of(sheet)
    before = table.keep(frozenset({0}), sheet)
    sheet.put(0, 2)
    after = table.keep(frozenset({0}), sheet)
    assert (dict(before.values), dict(after.values)) == ({0: 1}, {0: 2})


def test_a_failing_row_keeps_its_last_good_value_until_it_recovers() -> None:
    sheet = Sheet((6, 2, 1), (Share(0, 1), Add((2,))))
    table = table_of(sheet)
    table.keep(frozenset({3, 4}), sheet)
    sheet.put(1, 0)
    sheet.put(2, 8)
    failing = table.keep(frozenset({3, 4}), sheet)
    assert dict(failing.values) == {3: 3, 4: 8}
    assert failing.changed == {4}
    assert isinstance(failing.broken[3], ZeroDivisionError)
    sheet.put(1, 3)
    recovered = table.keep(frozenset({3, 4}), sheet)
    assert dict(recovered.values) == {3: 2, 4: 8}
    assert recovered.changed == {3}
    assert recovered.broken == {}


def test_a_row_that_never_worked_has_no_value_and_goes_without_a_trace() -> None:
    sheet = Sheet((6, 0), (Share(0, 1),))
    table = table_of(sheet)
    rows = table.keep(frozenset({2}), sheet)
    assert dict(rows.values) == {}
    assert rows.broken.keys() == {2}
    gone = table.keep(frozenset(), sheet)
    assert (dict(gone.values), gone.broken) == ({}, {})


@st.composite
def formulas(draw: st.DrawFn) -> tuple[Formula, ...]:
    """Draw formulas that read only places before their own."""
    drawn: list[Formula] = []
    for own in range(INPUTS, INPUTS + draw(st.integers(1, 8))):
        place = st.integers(0, own - 1)
        drawn.append(
            draw(
                st.builds(Add, st.lists(place, min_size=1, max_size=3).map(tuple))
                | st.builds(Parity, place)
                | st.builds(Pick, place, place, place)
                | st.builds(Share, place, place)
            )
        )
    return tuple(drawn)


class AnyChanges(RuleBasedStateMachine):
    """Whatever is put, asked, kept and swept, in whatever order."""

    def __init__(self) -> None:
        super().__init__()
        self.sheet = Sheet((0,) * INPUTS, ())
        self.table = table_of(self.sheet)
        self.keys: frozenset[int] = frozenset()
        self.good: dict[int, int] = {}
        self.read: dict[int, dict[int, int | type[Exception]]] = {}

    @initialize(drawn=formulas())
    def begin(self, drawn: tuple[Formula, ...]) -> None:
        self.sheet.formulas = drawn

    @rule(place=st.integers(0, INPUTS - 1), number=st.integers(-2, 3))
    def put(self, place: int, number: int) -> None:
        self.sheet.put(place, number)

    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        place = data.draw(self.places())
        self.sheet.ran.clear()
        assert outcome(cell, self.sheet, place) == outcome(afresh, self.sheet, place)
        self.every_run_had_a_reason()

    @rule(data=st.data())
    def keep(self, data: st.DataObject) -> None:
        self.keys = frozenset(data.draw(st.sets(self.places(), max_size=6)))
        self.refresh()

    @rule()
    def refresh(self) -> None:
        self.sheet.ran.clear()
        rows = self.table.keep(self.keys, self.sheet)
        self.every_run_had_a_reason()
        fresh = {key: outcome(afresh, self.sheet, key) for key in self.keys}
        before, self.good = self.good, {key: self.good[key] for key in self.keys & self.good.keys()}
        self.good |= {key: value for key, value in fresh.items() if isinstance(value, int)}
        self.agrees(rows, before)
        assert {key: type(bug) for key, bug in rows.broken.items()} == {
            key: value for key, value in fresh.items() if not isinstance(value, int)
        }

    @rule()
    def sweep(self) -> None:
        self.sheet.memory.sweep()
        needed = self.reached(self.keys)
        kept = {one.names[0] for one in self.cells()}
        assert kept <= needed
        self.read = {place: reads for place, reads in self.read.items() if place in kept}

    @invariant()
    def nobody_reads_nothing(self) -> None:
        cells = self.cells()
        assert all(one in read.readers for one in cells for read in one.reads)
        assert all(one in reader.reads for one in cells for reader in one.readers)

    def teardown(self) -> None:
        self.table.keep(frozenset(), self.sheet)
        self.sheet.memory.sweep()
        assert len(self.sheet.memory) == 0

    def cells(self) -> list[Cell]:
        return [one for cells in self.sheet.memory._asked.values() for one in cells.values()]

    def places(self) -> st.SearchStrategy[int]:
        return st.integers(0, INPUTS + len(self.sheet.formulas) - 1)

    def agrees(self, rows: Rows[int], before: dict[int, int]) -> None:
        assert dict(rows.values) == self.good
        differ = {key for key in before.keys() | self.good.keys() if before.get(key) != self.good.get(key)}
        assert differ <= rows.changed <= differ | (rows.changed - self.keys)

    def every_run_had_a_reason(self) -> None:
        """A place ran once, and only if it is an input, is new, or read something that differed or failed."""
        assert len(set(self.sheet.ran)) == len(self.sheet.ran)
        for place in self.sheet.ran:
            reads = self.read.get(place, {})
            assert not reads or any(
                isinstance(was, type) or was != outcome(afresh, self.sheet, read)
                for read, was in reads.items()
            )
            self.read[place] = self.reads_of(place)
        for reads in self.read.values():
            for read, was in reads.items():
                if was != outcome(afresh, self.sheet, read):
                    reads[read] = (
                        Exception  # others may have asked meanwhile: it differed, whatever comes back
                    )

    def reads_of(self, place: int) -> dict[int, int | type[Exception]]:
        cells = self.sheet.memory._asked[cell][place,].reads
        return {read.names[0]: outcome(afresh, self.sheet, read.names[0]) for read in cells}

    def reached(self, keys: frozenset[int]) -> set[int]:
        """Return the places that these rows read at their last run, directly or not."""
        found, look = set(keys), list(keys)
        while look:
            for read in self.sheet.memory._asked[cell][look.pop(),].reads:
                if read.names[0] not in found:
                    found.add(read.names[0])
                    look.append(read.names[0])
        return found


AnyChanges.TestCase.settings = settings(max_examples=150, stateful_step_count=30)
test_any_changes_give_what_a_fresh_start_gives = AnyChanges.TestCase


@steady(lambda place: -place)
def portion(sheet: Sheet, place: int) -> int:
    """Divide by a place, as a rule does that did not think of zero."""
    return 100 // cell(sheet, place)


@query
def portions(sheet: Sheet, _: str) -> tuple[int, ...]:
    """Fold what could fail for one place."""
    return tuple(portion(sheet, place) for place in range(len(sheet.numbers)))


def test_a_steady_query_that_fails_stays_with_its_last_result_and_harms_no_fold() -> None:
    sheet = Sheet((10, 5), ())
    table: Table[tuple[int, ...]] = Table(sheet.memory, portions)
    every = frozenset({"every"})
    table.keep(every, sheet)
    sheet.put(0, 0)
    sheet.put(1, 4)
    during = table.keep(every, sheet)
    assert (dict(during.values), dict(during.broken)) == ({"every": (10, 25)}, {})
    [(failing, bug)] = sheet.memory.faults().items()
    assert (failing, type(bug)) == (("portion", (0,)), ZeroDivisionError)
    sheet.put(0, 2)
    assert dict(table.keep(every, sheet).values) == {"every": (50, 25)}
    assert sheet.memory.faults() == {}


def test_a_steady_query_that_always_failed_has_what_it_is_given_and_is_forgotten_with_it() -> None:
    sheet = Sheet((3, 0), ())
    table: Table[tuple[int, ...]] = Table(sheet.memory, portions)
    assert dict(table.keep(frozenset({"every"}), sheet).values) == {"every": (33, -1)}
    assert sheet.memory.faults().keys() == {("portion", (1,))}
    table.keep(frozenset(), sheet)
    sheet.memory.sweep()
    assert sheet.memory.faults() == {}


class LostError(Exception):
    """That something is lost; all that were made are known."""

    made: list[ref["LostError"]] = []  # noqa: RUF012  # of this one test

    def __init__(self) -> None:
        super().__init__()
        self.made.append(ref(self))


@query
def losing(sheet: Sheet, place: int) -> int:
    """Fail at zero."""
    if not (number := cell(sheet, place)):
        raise LostError
    return number


def test_a_failure_that_is_forgotten_goes_without_a_collector() -> None:
    sheet = Sheet((0,), ())
    gc.disable()
    try:
        with suppress(LostError):
            losing(sheet, 0)
        [lost] = LostError.made
        assert lost() is not None
        sheet.memory.sweep()
        assert lost() is None
    finally:
        gc.enable()
