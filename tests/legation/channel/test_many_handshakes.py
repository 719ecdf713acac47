"""`legation up` as a process while Envoys come by the hundred, each with a certificate."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.envoys import GATEWAYS, fleet, lay_out
from bench.fleet.door import guarded
from bench.fleet.envoy import complete
from tests.legation.running import serving
from tests.looking import SOON

ENVOYS = 100
ROUNDS = 3
PACE = 0.3  # seconds between two renewals, so that some come amid handshakes; nothing waits for them


@asynccontextmanager
async def renewing(certificate: Path) -> AsyncIterator[None]:
    """Have the file with the control plane's certificate be another again and again until the block ends."""

    async def renew() -> None:
        while True:
            await asyncio.sleep(PACE)
            lengthen(certificate)

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        task.cancel()


def lengthen(file: Path) -> None:
    """Write what it says in more bytes."""
    file.write_text(f"{file.read_text()}\n")


async def test_a_certificate_that_is_renewed_while_many_envoys_come_at_once_costs_none_its_stream(
    tmp_path: Path,
) -> None:
    door = guarded(tmp_path, GATEWAYS)
    (served := tmp_path / "served").mkdir()
    lay_out(served)
    async with serving("up", str(served), *door.flags) as running:
        await running.logged("xDS port")
        async with renewing(tmp_path / "cert"), asyncio.timeout(SOON):
            for _ in range(ROUNDS):
                envoys = fleet(ENVOYS, door)
                async with complete(envoys, ENVOYS):
                    assert {each.opened for each in envoys} == {1}
