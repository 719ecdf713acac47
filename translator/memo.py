"""Memory for pure functions: each result is kept, with what it read, until one of those values changes.

A query is a function of names that learns about the world only through other queries and through inputs.
Touching an input marks its readers stale, transitively. Asking for a stale result first refreshes what it
read last time, in the same order, and runs the function again only if one of those values differs; an equal
result stops the change there.

A failure is a mistake of ours. It goes up to whoever asked, but not past a query that is steady: that returns
what it returned last, so that what fails for one object is no failure of what is made of many together.

Where a result is a long mapping of which most readers want one entry, the query is keyed: readers of an entry
turn stale only when that entry differs. For that, a stale keyed result is made fresh before anything else is
answered, those of a lower rank first.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, KeysView, Mapping
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")
Names = tuple[Any, ...]
NOTHING: frozenset[Any] = frozenset()
FEW = 4  # readers of one result, which most have: a dict for each would be a quarter of all memory


class Remembers(Protocol):
    """Whatever a query asks: it owns the memory that the answers are kept in."""

    @property
    def memory(self) -> "Memory":
        """Where results are kept."""


W = TypeVar("W", bound=Remembers)


def query(function: Callable[Concatenate[W, P], R]) -> Callable[Concatenate[W, P], R]:
    """Remember what `function` returns for each combination of names."""

    @wraps(function)
    def remembered(world: W, /, *names: Any) -> R:
        answer: R = world.memory.recall(remembered, world, names)
        return answer

    return cast("Callable[Concatenate[W, P], R]", remembered)  # by position only: names are a key


def steady(
    otherwise: Callable[..., Any],
) -> Callable[[Callable[Concatenate[W, P], R]], Callable[Concatenate[W, P], R]]:
    """Remember as a query does; where it fails, stay with the last result, or what `otherwise` makes."""

    def decorate(function: Callable[Concatenate[W, P], R]) -> Callable[Concatenate[W, P], R]:
        remembered = query(function)
        remembered.otherwise = otherwise  # type: ignore[attr-defined]  # read where it fails
        return remembered

    return decorate


class Keyed(Generic[W, P, K, V]):
    """A query for a mapping that can be asked for one entry; it reads keyed queries of lower ranks only."""

    def __init__(self, function: Callable[Concatenate[W, P], Mapping[K, V]], rank: int) -> None:
        """Remember mappings, and entries of them."""
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.rank = rank
        self.at = query(self._entry)

    def __call__(self, world: W, /, *names: P.args, **keywords: P.kwargs) -> Mapping[K, V]:
        """Return the whole mapping."""
        assert not keywords, "a query's names are given by position"
        answer: Mapping[K, V] = world.memory.recall(self, world, names)
        return answer

    def _entry(self, world: W, /, key: K, *names: P.args, **keywords: P.kwargs) -> V | None:
        return self(world, *names, **keywords).get(key)


def keyed(
    rank: int,
) -> Callable[[Callable[Concatenate[W, P], Mapping[K, V]]], Keyed[W, P, K, V]]:
    """Remember mappings that are mostly read entry by entry: `taken.at(world, key, *names)`."""

    def decorate(function: Callable[Concatenate[W, P], Mapping[K, V]]) -> Keyed[W, P, K, V]:
        return Keyed(function, rank)

    return decorate


class Results(dict[Names, "Cell"]):
    """All that one memory remembers of one query, and what has to be known of the query for that."""

    __slots__ = ("is_plain", "otherwise", "question", "rank", "runs")

    def __init__(self, question: Callable[..., Any]) -> None:
        """Begin without results."""
        super().__init__()
        self.question = question
        self.rank: int | None = getattr(question, "rank", None)  # of a keyed query
        self.otherwise: Callable[..., Any] | None = getattr(question, "otherwise", None)  # of a steady one
        self.is_plain = self.rank is None and self.otherwise is None
        self.runs = 0

    def __missing__(self, names: Names) -> "Cell":
        """Begin with names that were not asked for before."""
        made = self[names] = Cell(self, names)
        return made


class Questions(dict[Callable[..., Any], Results]):
    """Results by query, of every query that was ever asked."""

    def __missing__(self, question: Callable[..., Any]) -> Results:
        """Begin with a query that was not asked before."""
        made = self[question] = Results(question)
        return made


class Cell:
    """One remembered result: what it read, who read it, and when it last differed."""

    __slots__ = (
        "asked",
        "changed_at",
        "due",
        "failure",
        "names",
        "readers",
        "reads",
        "running",
        "stale",
        "traceback",
        "value",
        "verified_at",
    )

    def __init__(self, asked: Results, names: Names) -> None:
        """Begin without a result: stale, so that the first question computes it."""
        self.asked = asked
        self.names = names
        self.value: Any = None
        self.failure: Exception | None = None
        self.traceback: TracebackType | None = None  # where it failed, without those who asked again since
        self.reads: Collection[Cell] = ()
        self.readers: tuple[Cell, ...] | dict[Cell, None] = ()  # a dict where they are more than a few
        self.stale = True
        self.running = False
        self.changed_at = self.verified_at = -1
        self.due: set[Names] | None = None  # the table that keeps this cell alive wants to hear of changes


class Memory:
    """All remembered results of one world."""

    def __init__(self) -> None:
        """Begin with nothing remembered."""
        self._faults: dict[Cell, Exception] = {}  # steady queries that fail now
        self._asked = Questions()
        self._reads: dict[Cell, None] | None = None  # of the query that runs, if one does
        self._unread: dict[Cell, None] = {}
        self._held: dict[int, list[Cell]] = {}  # stale keyed results, by rank
        self._revision = 0
        self.between: Callable[[], object] = _nothing  # called before each run of a query

    def __len__(self) -> int:
        """Return how many results are kept."""
        return sum(map(len, self._asked.values()))

    @property
    def runs(self) -> Counter[str]:
        """Say how often each query ran: what the benchmarks count."""
        runs = Counter[str]()
        for question, asked in self._asked.items():
            runs[question.__name__] += asked.runs
        return +runs

    @property
    def is_asked(self) -> bool:
        """Say whether a query runs."""
        return self._reads is not None

    def recall(self, question: Callable[..., Any], world: Remembers, names: Names) -> Any:
        """Return the result for these names, computed anew only where something it read has changed."""
        if (reads := self._reads) is None and self._held:
            self.settle(world)
        cell = self._asked[question][names]
        if reads is not None:
            reads[cell] = None
        elif not cell.readers:  # asked for from outside: nothing says that it will be asked for again
            self._unread[cell] = None
        if cell.stale:
            self._refresh(cell, world)
        if cell.failure is not None:
            raise cell.failure.with_traceback(cell.traceback)
        return cell.value

    def cell(self, question: Callable[..., Any], names: Names) -> Cell:
        """Return the place where this result is kept, made on the first question."""
        return self._asked[question][names]

    def knows(self, question: Callable[..., Any], *names: Any) -> bool:
        """Say whether a result is kept."""
        return names in self._asked[question]

    def touch(self, question: Callable[..., Any], *names: Any) -> None:
        """Say that an input may have changed: it and all that was made from it turn stale."""
        assert self._reads is None, "nothing is put while a query runs"
        if (cell := self._asked[question].get(names)) is None:
            return
        self._revision += 1
        self._spread([cell])

    def settle(self, world: Remembers) -> None:
        """Make keyed results fresh, so that whoever reads one of their entries knows whether it differs."""
        while self._held:
            rank = min(self._held)
            for cell in self._held.pop(rank):
                if cell.stale and cell.readers:
                    self._refresh(cell, world)

    def faults(self) -> dict[tuple[str, Names], Exception]:
        """Say which steady queries fail, each with its names."""
        return {(cell.asked.question.__name__, cell.names): bug for cell, bug in self._faults.items()}

    def release(self, cell: Cell) -> None:
        """Let go of a result that a table kept; it is forgotten unless something else reads it."""
        cell.due = None
        self._unread[cell] = None

    def sweep(self) -> None:
        """Forget results that lost their last reader, and what only they had read."""
        while self._unread:
            cell, _ = self._unread.popitem()
            if cell.readers or cell.due is not None:
                continue
            cell.asked.pop(cell.names, None)
            cell.failure = cell.traceback = None  # of which frames are parts that know the cell
            self._faults.pop(cell, None)
            self._unlink(cell, cell.reads)

    def _spread(self, turned: list[Cell]) -> None:
        """Mark results stale, and whatever was made from them, up to keyed ones."""
        while turned:
            cell = turned.pop()
            if cell.stale:
                continue
            cell.stale = True
            if cell.due is not None:
                cell.due.add(cell.names)
            if (rank := cell.asked.rank) is None:
                turned.extend(cell.readers)
            else:
                self._held.setdefault(rank, []).append(cell)

    def _refresh(self, cell: Cell, world: Remembers) -> None:
        """Make a stale cell fresh, running it only if what it read has changed."""
        if cell.running:
            message = f"{cell.asked.question.__name__}{cell.names} asks for itself"
            raise RecursionError(message)
        if not cell.reads or cell.verified_at < 0 or self._has_moved(cell, world):
            self.between()
            self._run(cell, world)
        cell.verified_at = self._revision
        cell.stale = False

    def _has_moved(self, cell: Cell, world: Remembers) -> bool:
        """Refresh what the cell read last time, in the same order, up to the first value that differs."""
        cell.running = True
        try:
            for read in cell.reads:
                if read.running:  # a circle: a run meets it again, and keeps that failure as its result
                    return True
                if read.stale:
                    self._refresh(read, world)
                if read.changed_at > cell.verified_at:
                    return True
        finally:
            cell.running = False
        return False

    def _run(self, cell: Cell, world: Remembers) -> None:
        """Run the function, noting what it reads."""
        asked, before = cell.asked, cell.reads
        reads: dict[Cell, None] = {}
        cell.running = True
        cell.verified_at = -1  # should this run be interrupted, the next question begins it again
        failure: Exception | None = None
        outer, self._reads = self._reads, reads
        try:
            value = asked.question.__wrapped__(world, *cell.names)  # type: ignore[attr-defined]  # put there by wraps
        except Exception as bug:  # noqa: BLE001  # kept as this cell's result: raised again for every reader
            value, failure = None, bug
        finally:
            self._reads = outer
            cell.running = False
            self._link(cell, before, reads)
        asked.runs += 1
        if cell.changed_at < 0 and failure is None and asked.is_plain:  # as most results come about
            cell.value, cell.changed_at = value, self._revision
        else:
            self._take(cell, value, failure)
            failure = None  # of whose traceback this frame is a part: only a collector would part them

    def _take(self, cell: Cell, value: Any, failure: Exception | None) -> None:
        """Note whether a result differs from the one before, and whom that concerns."""
        if cell.asked.otherwise is not None:
            value, failure = self._endured(cell, failure, cell.asked.otherwise, value)
        if failure is not None or cell.failure is not None or cell.changed_at < 0 or value != cell.value:
            old, cell.value = cell.value, value
            cell.failure, cell.changed_at = failure, self._revision
            cell.traceback = failure.__traceback__ if failure else None
            if cell.asked.rank is not None:
                self._spread([reader for reader in cell.readers if _concerns(reader, cell, old)])

    def _endured(
        self, cell: Cell, failure: Exception | None, otherwise: Callable[..., Any], value: Any
    ) -> tuple[Any, None]:
        """Return what a steady query stays with, and note that it failed."""
        if failure is None:
            self._faults.pop(cell, None)
            return value, None
        self._faults[cell] = failure
        return cell.value if cell.changed_at >= 0 else otherwise(*cell.names), None

    def _link(self, cell: Cell, before: Collection[Cell], reads: dict[Cell, None]) -> None:
        """Keep what a run read instead of what was read before it, and tell those who reads them."""
        cell.reads = tuple(reads)
        came: Iterable[Cell] = reads
        if before:
            self._unlink(cell, [read for read in before if read not in reads])
            known = frozenset(before)
            came = [read for read in reads if read not in known]
        for read in came:
            if not (readers := read.readers):
                read.readers = (cell,)
            elif isinstance(readers, dict):
                readers[cell] = None
            elif len(readers) < FEW:
                read.readers = (*readers, cell)
            else:
                read.readers = dict.fromkeys((*readers, cell))

    def _unlink(self, cell: Cell, reads: Iterable[Cell]) -> None:
        for read in reads:
            readers = read.readers
            if isinstance(readers, dict):
                readers.pop(cell, None)
            else:
                read.readers = tuple([each for each in readers if each is not cell])
            if not read.readers:
                self._unread[read] = None


def _nothing() -> None:
    """Go on at once."""


def _concerns(reader: Cell, cell: Cell, old: Mapping[Any, Any] | None) -> bool:
    """Say whether a change of a keyed result is one to a reader of it."""
    if reader.running:  # it is being made from the new one
        return False
    if reader.asked.question is not cell.asked.question.at or cell.value is None or old is None:  # type: ignore[attr-defined]  # keyed
        return True
    key = reader.names[0]
    return bool(cell.value.get(key) != old.get(key))


class Rows(Generic[V]):
    """What a table holds after a refresh: every row's newest good value, and what is new about it."""

    def __init__(
        self, values: Mapping[Any, V], changed: frozenset[Any], broken: Mapping[Any, Exception]
    ) -> None:
        """Hold the values by key, the keys that differ from last time, and the rows whose query failed."""
        self.values = values
        self.changed = changed
        self.broken = broken


class Table(Generic[V]):
    """One query over many keys: a refresh costs what changed; a row whose query fails stays as it was."""

    def __init__(self, memory: Memory, question: Callable[..., V]) -> None:
        """Begin without rows."""
        self._memory = memory
        self._question = question
        self._keys: frozenset[Any] | None = frozenset()  # if all of them were given at once
        self._cells: dict[Any, Cell] = {}
        self._due: set[Names] = set()
        self._values: dict[Any, V] = {}
        self._broken: dict[Any, Exception] = {}

    def keep(self, keys: frozenset[Any], world: Remembers) -> Rows[V]:
        """Hold exactly these keys, each the query's one name, and bring every stale row up to date."""
        before = frozenset(self._cells) if self._keys is None else self._keys
        came, gone = (NOTHING, NOTHING) if keys is before else (keys - before, before - keys)
        rows = self.move(came, gone, world)
        self._keys = keys
        return rows

    def keys(self) -> KeysView[Any]:
        """Return the keys that are held."""
        return self._cells.keys()

    def move(self, came: Collection[Any], gone: Collection[Any], world: Remembers) -> Rows[V]:
        """Hold other keys, for whoever knows the difference, and bring every stale row up to date."""
        self._keys = None
        for key in gone:
            self._drop(key)
        for key in came:
            self._add(key)
        self._memory.settle(world)
        due = tuple(self._due)
        self._due.clear()
        news = {key: value for (key,) in due if key in self._cells for value in self._ask(key, world)}
        if gone or news:  # what was handed out before stays as it was
            self._values = self._values | news
            for key in gone:
                self._values.pop(key, None)
        return Rows(self._values, frozenset((*gone, *news)), dict(self._broken))

    def _add(self, key: Any) -> None:
        cell = self._cells[key] = self._memory.cell(self._question, (key,))
        assert cell.due is None, "another table keeps this row"
        cell.due = self._due
        self._due.add((key,))

    def _drop(self, key: Any) -> None:
        self._memory.release(self._cells.pop(key))
        self._broken.pop(key, None)

    def _ask(self, key: Any, world: Remembers) -> tuple[V, ...]:
        """Bring one row up to date; return its value if that differs."""
        try:
            value: V = self._memory.recall(self._question, world, (key,))
        except Exception as bug:  # noqa: BLE001  # our own mistake: this row stays as it was, all others go on
            self._broken[key] = bug
            return ()
        self._broken.pop(key, None)
        return () if key in self._values and self._values[key] == value else (value,)
