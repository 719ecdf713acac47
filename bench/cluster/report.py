"""What was found, side by side: counts, and times and bytes as multiples of what the first side had."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bench.cluster.asking import Churned, Probed
from bench.cluster.usage import Usage
from bench.cluster.writes import GATEWAYS, POLICIES, ROUTES

SOON = 0.1  # seconds within which an endpoint should be seen
MEDIAN, LATE = 50, 99
TITLE, CELL = 44, 18  # characters


class Created(NamedTuple):
    """So many routes, as fast as the API takes them."""

    used: Usage  # while they came; the peak is of this time
    writes: Mapping[str, int]  # of statuses, by resource
    behind: float  # seconds from the API's last answer until all are told to be accepted


class Busy(NamedTuple):
    """A while in which endpoints churned, and nothing else happened."""

    churned: Churned
    cpu: float  # of a processor, all the while
    writes: Mapping[str, int]  # of statuses, by resource


class Size(NamedTuple):
    """What was measured beside so many routes."""

    created: Created
    quiet: Probed
    busy: Busy
    under_churn: Probed


class Row(NamedTuple):
    """A count or a share; with a unit, how many times what the first side has beside the fewest routes."""

    title: str
    value: Callable[[Size], float | str]
    unit: Callable[[Size], float] | None = None


def percentile(values: Sequence[float], percent: int) -> float:
    """Give the value that so many of a hundred do not exceed."""
    return sorted(values)[-(-len(values) * percent // 100) - 1]


def _median_of_new(size: Size) -> float:
    return percentile(size.quiet.took, MEDIAN)


ROWS = (
    Row("status writes for routes", lambda size: size.created.writes[ROUTES]),
    Row("status writes for Gateways", lambda size: size.created.writes[GATEWAYS]),
    Row("status writes for policies", lambda size: size.created.writes[POLICIES]),
    *(
        Row(title, of, of)
        for title, of in {
            "processor while they come": lambda size: size.created.used.cpu,
            "most memory meanwhile": lambda size: size.created.used.peak,
            "from the last one until all are accepted": lambda size: size.created.behind,
        }.items()
    ),
    Row("new route to 200, median", _median_of_new, _median_of_new),
    Row("new route to 200, p99", lambda size: percentile(size.quiet.took, LATE), _median_of_new),
    Row("  wrong answers before, after", lambda size: f"{size.quiet.before}, {size.quiet.after}"),
    Row(
        "under churn: new route to 200, median",
        lambda size: percentile(size.under_churn.took, MEDIAN),
        _median_of_new,
    ),
    Row(
        "under churn: new route to 200, p99",
        lambda size: percentile(size.under_churn.took, LATE),
        _median_of_new,
    ),
    Row("  wrong answers before, after", lambda size: f"{size.under_churn.before}, {size.under_churn.after}"),
    Row("churn: changes", lambda size: len(size.busy.churned.seen)),
    Row("churn: share of a processor", lambda size: f"{size.busy.cpu:.3f}"),
    Row("churn: status writes for routes", lambda size: size.busy.writes[ROUTES]),
    Row("churn: status writes for Gateways", lambda size: size.busy.writes[GATEWAYS]),
    Row("churn: status writes for policies", lambda size: size.busy.writes[POLICIES]),
    Row("churn: failed requests", lambda size: f"{size.busy.churned.failed} of {size.busy.churned.asked}"),
    Row("churn: endpoint seen, median, of 100 ms", lambda size: _of_soon(size, MEDIAN)),
    Row("churn: endpoint seen, p99, of 100 ms", lambda size: _of_soon(size, LATE)),
)


def report(sizes: Sequence[int], found: Mapping[str, Sequence[Size]]) -> str:
    """Write a table for each number of routes, with a column for each side."""
    return "\n".join(line for number in range(len(sizes)) for line in _table(sizes[number], number, found))


def _table(routes: int, number: int, found: Mapping[str, Sequence[Size]]) -> Iterator[str]:
    first = next(iter(found.values()))[0]
    yield _line(f"\n{routes} routes", found)
    for row in ROWS:
        yield _line(f"  {row.title}", [_cell(row, sizes[number], first) for sizes in found.values()])


def _line(title: str, cells: Iterable[str]) -> str:
    return f"{title:{TITLE}}" + "".join(f"{cell:>{CELL}}" for cell in cells)


def _cell(row: Row, size: Size, first: Size) -> str:
    value = row.value(size)
    return str(value) if row.unit is None or isinstance(value, str) else f"{value / row.unit(first):.2f}x"


def _of_soon(size: Size, percent: int) -> str:
    return f"{percentile(size.busy.churned.seen, percent) / SOON:.2f}"
