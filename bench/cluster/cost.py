"""What the control plane used so far: CPU time, memory, and what it wrote."""

from typing import NamedTuple

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from bench.cluster.usage import usage
from tests.legation.running import Legation

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
    used = usage(legation.process.pid)
    return Cost(used.cpu, used.memory, await _writes(legation))


async def _writes(legation: Legation) -> float:
    url = f"{await legation.admin()}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        text = await answer.text()
    samples = (each for family in text_string_to_metric_families(text) for each in family.samples)
    return sum(
        each.value for each in samples if each.name == STATUS_WRITES and each.labels["outcome"] == "written"
    )
