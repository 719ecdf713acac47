"""What Envoys of a Gateway with many routes hold at a control plane that runs, with their connections."""

import tempfile
from pathlib import Path

from bench.cluster.usage import usage
from bench.envoys import AT_ONCE, WAYS
from bench.fleet.door import Door
from bench.fleet.envoy import Envoy, complete
from bench.loop import document
from bench.scaling.given import world
from bench.scaling.visits import GROUP
from tests.legation.running import serving


async def held(routes: int, envoys: int) -> dict[str, float]:
    """Return the bytes of memory for each of so many Envoys of one Gateway, by the way they come."""
    found = dict[str, float]()
    for way, door in WAYS.items():
        with tempfile.TemporaryDirectory() as home:
            (folder := Path(home, "served")).mkdir()
            (folder / "all.yaml").write_text("".join(map(document, world(routes, 1))))
            found[way] = await _held(folder, envoys, door(Path(home)))
    return found


async def _held(folder: Path, envoys: int, door: Door) -> float:
    async with serving("up", str(folder), *door.flags) as running:
        await running.logged("xDS port")
        first, *others = (Envoy(GROUP, f"envoy-{n}", door) for n in range(envoys + 1))
        async with complete([first], 1):  # whatever is made once is made now
            before = usage(running.process.pid).memory
            async with complete(others, AT_ONCE):
                return (usage(running.process.pid).memory - before) / envoys
