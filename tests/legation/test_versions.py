"""Versions are compared between replicas: the same objects have to give the same bytes in every process."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from tests.legation.running import environment

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"
PATHS = sorted(CASES.rglob("*.given.yaml"))


async def offered(seed: int) -> dict[str, dict[str, dict[str, str]]]:
    """Have a process translate, whose sets and arrivals have an order of their own."""
    paths = map(str, (CASES / "background.yaml", *PATHS))
    own = {**environment(), "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, str(HERE / "versions.py"), str(seed), *paths]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, env=own)
    out, _ = await process.communicate()
    assert process.returncode == 0
    found: dict[str, dict[str, dict[str, str]]] = json.loads(out)
    return found


async def test_the_same_objects_are_offered_in_the_same_versions_by_every_process() -> None:
    first, second = await asyncio.gather(offered(1), offered(2))
    resources = [named for case in first.values() for named in case.values()]
    assert sum(map(len, resources)) > len(PATHS)
    different = {case for case in first if first[case] != second[case]}
    assert different == set()
