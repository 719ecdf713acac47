"""What a process used so far, as Linux tells it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")  # of CPU time in a second
FORGET_PEAK = "5"  # to clear_refs, see proc(5)


class Usage(NamedTuple):
    """Since it was started."""

    cpu: float  # seconds
    memory: int  # bytes that are resident now
    peak: int  # the most that ever were, or since that was forgotten


def usage(pid: int) -> Usage:
    """Look at a running process."""
    process = Path("/proc", str(pid))
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    now, peak = (int(status[field].split()[0]) * 1024 for field in ("VmRSS", "VmHWM"))
    return Usage((int(fields[11]) + int(fields[12])) / TICKS, now, peak)


def together(pids: Sequence[int]) -> Usage:
    """Look at running processes as if they were one."""
    return Usage(*map(sum, zip(*map(usage, pids), strict=True)))


def forget_peak(pid: int) -> None:
    """Have the peak of memory begin at what is resident now."""
    Path("/proc", str(pid), "clear_refs").write_text(FORGET_PEAK)
