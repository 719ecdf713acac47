"""`legation up` and a real Envoy, while a shop is changed in every way, a thousand times in a row."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from msgspec import Struct

from tests.changing.changes import ALL
from tests.changing.scene import BURST, LULL, START, Behind, Scene, change_unnoticed, furnished, visited
from tests.changing.shop import ASIDE, PLAIN, SECURE, SPARE, Grounds, Judge, Shop, right, sold, written
from tests.handshakes.manifests import SERVED_BY_US
from tests.legation.running import Legation, free_port, legation_up
from tests.loopback import LOOPBACK

pytestmark = pytest.mark.envoy

CHANGES = 1000
UNNOTICED = 69


class Folder(Struct, frozen=True):
    """A folder that `legation up` watches, with an Envoy of its own."""

    place: Path
    grounds: Grounds
    running: Legation

    @property
    def doors(self) -> Sequence[str]:
        """Where its Envoy is."""
        return (LOOPBACK,)

    async def save(self, shop: Shop) -> None:
        """Replace the manifests at once, as editors do."""
        write(self.place, shop, self.grounds)

    async def tidy(self) -> None:
        """Nothing is left over."""

    async def is_held(self) -> bool:
        """Say whether Envoy has all of it."""
        return await self.running.is_held()


def write(folder: Path, shop: Shop, grounds: Grounds) -> None:
    """Have a folder say what a shop is, at once."""
    documents = [SERVED_BY_US, *written(shop, grounds)]
    (folder / "shop.new").write_text("---\n".join(json.dumps(each) + "\n" for each in documents))
    (folder / "shop.new").rename(folder / "shop.yaml")


@asynccontextmanager
async def opened(folder: Path, judge: Judge) -> AsyncIterator[tuple[Scene, Behind]]:
    """Open the shop, with visitors at all places."""
    async with furnished({name: free_port() for name in (PLAIN, SECURE, SPARE, ASIDE)}) as behind:
        write(folder, START, behind.grounds)
        async with legation_up(folder) as running:
            await running.logged("programmed")
            site = Folder(folder, behind.grounds, running)
            async with visited(site, behind, LOOPBACK, judge) as scene:
                yield scene, behind
        assert behind.silent()


async def test_no_request_fails_in_a_thousand_changes_but_where_they_say_so(tmp_path: Path) -> None:
    chance = Random(20)  # noqa: S311  not for secrets
    async with opened(tmp_path, right) as (scene, _):
        while scene.made.total() < CHANGES:
            for change in chance.choices(ALL, k=chance.randint(1, BURST)):
                await scene.make(change, chance)
                await asyncio.sleep(LULL * chance.random())
            await scene.settle()
    scene.tell()
    assert len(scene.made) == len(ALL), "each change was made"
    assert scene.ended() == {}


async def test_no_request_fails_and_no_connection_ends_in_many_changes_that_need_neither(
    tmp_path: Path,
) -> None:
    chance = Random(7)  # noqa: S311  not for secrets
    async with opened(tmp_path, sold) as (scene, _):
        await change_unnoticed(scene, UNNOTICED, chance)
    scene.tell()
    assert len(scene.made) == len(ALL), "each change was made"
    assert scene.ended() == {}
