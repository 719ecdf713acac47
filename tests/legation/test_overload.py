"""What an Envoy does when its memory is nearly used up: a real one says what it has begun to do."""

from pathlib import Path

import pytest

from legation.addresses import HostPort, Socket
from legation.bootstrap import Start, as_fields, bootstrap
from legation.overload import STEPS, memory
from tests.real_envoy import running_envoy, until
from translator.names import Name

pytestmark = pytest.mark.envoy


@pytest.mark.parametrize(("most", "begun"), [("1000000", 1), ("1000000000000", 0)], ids=["little", "plenty"])
async def test_an_envoy_takes_less_where_memory_is_short(tmp_path: Path, most: str, begun: int) -> None:
    start = Start(Name("infra", "edge"), "edge-1", Socket(tmp_path / "xds"), HostPort("127.0.0.1", 0))
    flags = ("--config-yaml", memory(most))
    async with running_envoy(as_fields(bootstrap(start)), *flags, wait_ready=False) as envoy:

        async def measured() -> bool:
            return (
                bool(
                    (await envoy.stats("overload.")).get(
                        "overload.envoy.resource_monitors.fixed_heap.pressure"
                    )
                )
                or not begun
            )

        await until(measured)

        async def acts() -> bool:
            told = await envoy.stats("overload.envoy.overload_actions.")
            return [told[f"overload.envoy.overload_actions.{name}.active"] for name, _ in STEPS] == [
                begun for _ in STEPS
            ]

        await until(acts)
