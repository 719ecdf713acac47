"""Whatever a tenant writes, another's requests through the Gateway that both share all succeed."""

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import Legation, free_port, legation_up
from tests.loopback import ask, http_backend
from tests.poison.hostile import the_same
from tests.poison.spells import TENANT
from tests.poison.test_quarantine import answers
from tests.real_envoy import until
from translator.objects.gateway import Gateway
from translator.objects.kinds import Object, as_manifest

BATCHES = 5
OF_EACH = 8
QUIET = {"host": "quiet.example"}
EARLY, LATE = "creationTimestamp: 2020-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)


def written(thing: Object, number: int) -> str:
    """Write an object of the hostile tenant under a name of its own."""
    metadata = replace(thing.metadata, name=f"drawn-{number}", creation_timestamp=LATE)
    named = replace(thing, metadata=metadata)
    return json.dumps(as_manifest(named))


def older(name: str, host: str) -> str:
    """Write a route of the bystander's, older than all that the other writes: so it holds its hostname."""
    written = route(name, "store", host=host, parent="shared")
    return written.replace("namespace: shop}", f"namespace: shop, {EARLY}}}", 1)


async def served(legation: Legation, name: str) -> None:
    """Wait until a route is among those that something is said of."""

    async def there() -> bool:
        return name in {each.name for each in (await legation.overview()).routes}

    await until(there, within=60)


async def test_no_request_of_a_bystander_fails_while_a_tenant_writes_anything(tmp_path: Path) -> None:
    port, said = free_port(), Counter[str]()
    objects = [each for each in the_same(3 * BATCHES * OF_EACH) if not isinstance(each, Gateway)]

    async def asking() -> None:
        while True:
            said[(await ask(port, headers=QUIET)).body] += 1

    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(http_backend("store"))
        base = together(LEGATION_CLASS, gateway("shared", port), service("store", backend.port))
        (tmp_path / "a.yaml").write_text(together(base, older("quiet", QUIET["host"])))
        legation = await stack.enter_async_context(legation_up(tmp_path))
        await answers(port, QUIET["host"])
        traffic = asyncio.create_task(asking())
        for batch in range(BATCHES):
            drawn = objects[batch * OF_EACH : (batch + 1) * OF_EACH]
            marker = older(f"marker-{batch}", f"marker-{batch}.example")
            hostile = [written(each, number) for number, each in enumerate(drawn)]
            (tmp_path / f"{TENANT}.yaml").write_text("\n---\n".join([marker, *hostile]))
            await served(legation, f"shop/marker-{batch}")
            await answers(port, f"marker-{batch}.example")
        assert not traffic.done(), traffic
        traffic.cancel()
    assert said.keys() == {"store"}
    assert said["store"] > BATCHES
