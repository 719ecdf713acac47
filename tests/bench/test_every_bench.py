"""Whatever `make bench` runs, it runs to its end at sizes that say nothing."""

from pathlib import Path

import pytest

from tests.legation.running import run_module

BENCH = Path(__file__).parents[2] / "bench"
SMALL = {"ROUTES": "16", "ENVOYS": "5", "QUIET": "1", "ROUNDS": "1", "PROBES": "3"}
WITHIN = 300.0


@pytest.mark.tree
@pytest.mark.parametrize("name", sorted(each.stem for each in BENCH.glob("[a-z]*.py")))
async def test_a_benchmark_runs_to_its_end(name: str) -> None:
    code, out, err = await run_module(f"bench.{name}", within=WITHIN, **SMALL)
    assert code == 0, f"{out}{err}"
    assert out
