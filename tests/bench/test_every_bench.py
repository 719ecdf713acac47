"""Whatever `make bench` runs, it runs to its end at sizes that say nothing."""

import asyncio
import sys
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from tests.legation.running import environment

BENCH = Path(__file__).parents[2] / "bench"
SMALL = {"ROUTES": "16", "ENVOYS": "5", "QUIET": "1", "ROUNDS": "1"}
WITHIN = 300.0


@pytest.mark.tree
@pytest.mark.parametrize("name", sorted(each.stem for each in BENCH.glob("[a-z]*.py")))
async def test_a_benchmark_runs_to_its_end(name: str) -> None:
    command = (sys.executable, "-m", f"bench.{name}")
    process = await asyncio.create_subprocess_exec(
        *command, stdout=PIPE, stderr=STDOUT, env={**environment(), **SMALL}, cwd=BENCH.parent
    )
    try:
        told, _ = await asyncio.wait_for(process.communicate(), WITHIN)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, told.decode()
    assert told
