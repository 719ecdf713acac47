"""What the control plane used so far: CPU time, memory, and what it wrote."""

from pathlib import Path
from typing import NamedTuple

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.legation.running import Legation

TICKS = 100  # of CPU time in a second, as Linux counts for programs
STATUS_WRITES = "legation_status_writes_total"


class Cost(NamedTuple):
    """Since the control plane was started."""

    cpu: float  # seconds
    memory: int  # bytes now
    writes: float  # of statuses

    def since(self, before: "Cost") -> "Cost":
        """Give what came in between; memory is what it is now."""
        return Cost(self.cpu - before.cpu, self.memory, self.writes - before.writes)


async def cost(legation: Legation) -> Cost:
    """Look at a running control plane."""
    process = Path("/proc", str(legation.process.pid))
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    cpu = (int(fields[11]) + int(fields[12])) / TICKS
    [resident] = [line for line in (process / "status").read_text().splitlines() if line.startswith("VmRSS")]
    return Cost(cpu, int(resident.split()[1]) * 1024, await _writes(legation))


async def _writes(legation: Legation) -> float:
    url = f"{await legation.admin()}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        text = await answer.text()
    samples = (each for family in text_string_to_metric_families(text) for each in family.samples)
    return sum(
        each.value for each in samples if each.name == STATUS_WRITES and each.labels["outcome"] == "written"
    )
