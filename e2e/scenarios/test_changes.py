"""All that a user can change is changed through the API server, under traffic through managed proxies."""

import os
from random import Random

from msgspec import structs

from e2e.scenarios.market import opened
from e2e.scenarios.release import Release
from e2e.scenarios.shop import Shop
from tests.changing.changes import ALL
from tests.changing.scene import START, change_unnoticed

CHANGES = int(os.environ.get("LEGATION_E2E_CHANGES", "100"))


async def test_no_request_fails_and_no_connection_ends_in_a_hundred_changes_that_need_neither(
    release: Release, shop: Shop
) -> None:
    async with opened(release, shop) as scene:
        await change_unnoticed(scene, CHANGES, Random(7))  # noqa: S311  not for secrets
    scene.tell()
    assert len(scene.made) == len(ALL), "each change was made"
    assert scene.ended() == {}


async def test_requests_fail_while_a_service_has_no_policy_or_no_endpoints_and_no_others_do(
    release: Release, shop: Shop
) -> None:
    async with opened(release, shop) as scene:
        for without in ({"policy": None}, {"pods": ()}):
            store = structs.replace(START.stores["s-0"], **without)
            await scene.save(structs.replace(START, stores={**START.stores, "s-0": store}), "taken away")
            await scene.settle()
            await scene.save(START, "given back")
            await scene.settle()
    assert scene.ended() == {}
