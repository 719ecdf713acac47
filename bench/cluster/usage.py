"""What a process used so far, as Linux tells it."""

import os
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")  # of CPU time in a second


class Usage(NamedTuple):
    """Since it was started."""

    cpu: float  # seconds
    memory: int  # bytes that are resident now


def usage(pid: int) -> Usage:
    """Look at a running process."""
    process = Path("/proc", str(pid))
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    [resident] = [line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS")]
    return Usage((int(fields[11]) + int(fields[12])) / TICKS, int(resident.split()[1]) * 1024)
