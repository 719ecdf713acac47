"""`legation run` and a real Envoy, while a shop is changed at an API server whose watches are late."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from msgspec import Struct

from tests.changing.changes import ALL, MOVING, Change
from tests.changing.kiosk import bootstrap
from tests.changing.replicas import Replica, api_serving, started
from tests.changing.scene import START, change_unnoticed, furnished, visited
from tests.changing.shop import ASIDE, PLAIN, SECURE, SPARE, Grounds, Shop, sold, written
from tests.changing.stock import Stock
from tests.handshakes.manifests import SERVED_BY_US
from tests.legation.running import free_port
from tests.loopback import LOOPBACK
from tests.real_envoy import running_envoy

pytestmark = pytest.mark.envoy

CHANGES = 40


class Counter(Struct, frozen=True):
    """An API server, a replica that watches it, and an Envoy."""

    stock: Stock
    grounds: Grounds
    replica: Replica
    is_hasty: bool  # what nobody leads to any more is deleted at once

    @property
    def doors(self) -> Sequence[str]:
        """Where its Envoy is."""
        return (LOOPBACK,)

    async def save(self, shop: Shop) -> None:
        """Write what differs from the state before."""
        await self.stock.hold([SERVED_BY_US, *written(shop, self.grounds)])
        if self.is_hasty:
            await self.stock.tidy()

    async def tidy(self) -> None:
        """Delete what nobody leads to any more."""
        await self.stock.tidy()

    async def is_held(self) -> bool:
        """Say whether Envoy has all that the replica knows."""
        return await self.replica.has_served()


@pytest.mark.parametrize(("every", "is_hasty"), [(ALL, False), (MOVING, True)], ids=["careful", "hasty"])
async def test_no_request_fails_though_an_api_server_tells_of_each_kind_on_its_own(
    every: Sequence[Change], tmp_path: Path, *, is_hasty: bool
) -> None:
    async with (
        furnished({name: free_port() for name in (PLAIN, SECURE, SPARE, ASIDE)}) as behind,
        api_serving() as api,
        started(api.server.port, tmp_path) as replica,
    ):
        api.server.lags = Random(11)  # noqa: S311  # not for secrets
        site = Counter(Stock(api), behind.grounds, replica, is_hasty)
        await site.save(START)
        async with (
            running_envoy(await bootstrap(replica.port)),
            visited(site, behind, LOOPBACK, sold) as scene,
        ):
            await change_unnoticed(scene, CHANGES, Random(7), every)  # noqa: S311  not for secrets
            scene.tell()
        assert len(scene.made) == len(every), "each change was made"
        assert scene.ended() == {}
        assert behind.silent()
