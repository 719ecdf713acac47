"""What a piece of work costs, counted instead of timed: the same on any machine, however busy it is."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

FOUR_TIMES = 6  # where there is four times as much to do; a square would be 16


def steps(work: Callable[[], object]) -> int:
    """Count the lines of Python that a piece of work runs, those of loops each time."""
    count = 0

    def traced(_frame: FrameType, event: str, _given: object) -> Any:  # noqa: ANN401  as the library says
        nonlocal count
        count += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def grows_no_faster(work: Callable[[int], Callable[[], object]], few: int) -> bool:
    """Say whether four times as much to do is done in about four times as many steps."""
    return steps(work(4 * few)) < FOUR_TIMES * steps(work(few))


def resident(pid: int) -> int:
    """Return how much memory a process has, in MiB."""
    fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    [said] = [each for each in fields if each.startswith("VmRSS:")]
    return int(said.split()[1]) // 1024
