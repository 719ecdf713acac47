"""Whatever a tenant writes, another's requests through the Gateway that both share all succeed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from msgspec.structs import replace

from legation.standing import Overview
from legation.written_status import Condition
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.running import Legation, free_port, legation_up
from tests.loopback import ask, http_backend
from tests.poison.circles import CIRCLES, all_circles
from tests.poison.effort import resident
from tests.poison.hostile import refused, some_of_each_kind, the_same
from tests.poison.pems import bad_bundles, bad_writings, manifests, secret_lines, writings
from tests.poison.spells import TENANT
from tests.poison.test_quarantine import answers
from tests.real_envoy import until
from translator.objects.kinds import Object, as_manifest

pytestmark = pytest.mark.envoy
BATCHES = 5
OF_EACH = 8
OF_EACH_KIND = 5  # in each batch one, so that no more Envoys than that run for the tenant's own Gateways
REFUSED = 80
MOST_GROWTH = 128  # MiB that a tenant's objects may take of `up`
#: How files may be called.
FILES = (
    "{}.yaml",
    "Zo\xeb's \U0001f4a9 {}.yaml",
    "-{}.yml",
    "$(id) `id` ; & | {}.yaml",
    "line\n{}.yaml",
    "\u202elmay.{}.yaml",
    "%00%2e%2e{}.json",
    "[{}]*?.yaml",
    "a" * 200 + "{}.yaml",
    "a..{}..yaml.yml",
)
WITHIN = 240.0
QUIET = {"host": "quiet.example"}
EARLY, LATE = "creationTimestamp: 2020-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)


def written(thing: Object, number: int) -> str:
    """Write an object of the hostile tenant under a name of its own."""
    metadata = replace(thing.metadata, name=f"drawn-{number}", creation_timestamp=LATE)
    named = replace(thing, metadata=metadata)
    return yaml.safe_dump(as_manifest(named))


def older(name: str, host: str) -> str:
    """Write a route of the bystander's, older than all that the other writes: so it holds its hostname."""
    written = route(name, "store", host=host, parent="shared")
    return written.replace("namespace: shop}", f"namespace: shop, {EARLY}}}", 1)


def as_refused(manifest: dict[str, Any], number: int) -> str:
    """Write what no API server would take, under a name of its own."""
    return yaml.safe_dump({**manifest, "metadata": {"name": f"drawn-{number}", "namespace": TENANT}})


async def served(legation: Legation, name: str) -> None:
    """Wait until a route is among those that something is said of."""

    async def there() -> bool:
        return name in {each.name for each in (await legation.overview()).routes}

    await until(there)


class Shared(NamedTuple):
    """A Gateway that a bystander and a hostile tenant share, while the bystander's requests go on."""

    folder: Path
    legation: Legation
    port: int
    said: Counter[str]

    async def write(self, manifests: Sequence[str]) -> None:
        """Have the hostile tenant write, and wait until what was written then is served."""
        name = f"marker-{len(manifests)}-{self.said.total()}"
        marker = older(name, f"{name}.example")
        (self.folder / f"{TENANT}.yaml").write_text("\n---\n".join([marker, *manifests]))
        await served(self.legation, f"shop/{name}")
        await answers(self.port, f"{name}.example")


@asynccontextmanager
async def shared(folder: Path) -> AsyncIterator[Shared]:
    """Serve the bystander, and ask for him without end; nothing but his own answer may come."""
    port, said = free_port(), Counter[str]()

    async def asking() -> None:
        while True:
            said[(await ask(port, headers=QUIET)).body] += 1

    async with AsyncExitStack() as stack:
        backend = await stack.enter_async_context(http_backend("store"))
        base = together(LEGATION_CLASS, gateway("shared", port), service("store", backend.port))
        (folder / "a.yaml").write_text(together(base, older("quiet", QUIET["host"])))
        legation = await stack.enter_async_context(legation_up(folder))
        await answers(port, QUIET["host"])
        traffic = asyncio.create_task(asking())
        try:
            yield Shared(folder, legation, port, said)
            assert not traffic.done(), traffic
        finally:
            traffic.cancel()
    assert said.keys() == {"store"}
    assert said["store"] > BATCHES


async def test_no_request_of_a_bystander_fails_while_a_tenant_writes_anything(tmp_path: Path) -> None:
    objects = some_of_each_kind(OF_EACH_KIND)
    async with shared(tmp_path) as place:
        before = resident(place.legation.process.pid)
        for batch in range(BATCHES):
            some = objects[batch::BATCHES]
            await place.write([written(each, number) for number, each in enumerate(some)])
            overview = await place.legation.overview()
            assert bad(overview) <= {each.object for each in overview.findings}
        assert resident(place.legation.process.pid) < before + MOST_GROWTH


def bad(overview: Overview) -> set[str]:
    """Return the objects that say of themselves that something is wrong."""
    told = [
        (f"{each.kind} {each.name}", said.is_bad)
        for each in (*overview.routes, *overview.policies)
        for about in each.by
        for said in about.conditions
    ]
    gateways = (
        (f"Gateway {each.name}", said.is_bad) for each in overview.gateways for said in each.conditions
    )
    return {name for name, is_bad in (*told, *gateways) if is_bad}


async def test_no_request_of_a_bystander_fails_while_a_tenant_writes_what_no_api_server_would_take(
    tmp_path: Path,
) -> None:
    """Each object is in a file of its own; while one of them may hide a policy, nothing else changes."""
    drawn = the_same(REFUSED, refused())
    expected = {f"{each['kind']} {TENANT}/drawn-{number}" for number, each in enumerate(drawn)}
    async with shared(tmp_path) as place:
        before = resident(place.legation.process.pid)
        files = [tmp_path / FILES[number % len(FILES)].format(number) for number in range(REFUSED)]
        for number, (file, each) in enumerate(zip(files, drawn, strict=True)):
            file.write_text(as_refused(each, number))

        async def named() -> bool:
            return expected <= {each.object for each in (await place.legation.overview()).findings}

        await until(named, within=WITHIN)
        for file in files:
            file.unlink()
        await place.write([])
        assert resident(place.legation.process.pid) < before + MOST_GROWTH
    assert place.legation.process.returncode == 0


async def test_no_request_fails_and_no_envoy_objects_whatever_is_pasted_as_a_certificate(
    tmp_path: Path,
) -> None:
    pasted = the_same(BATCHES * OF_EACH, writings())
    async with shared(tmp_path) as place:
        await place.write([manifests(bad_writings(), free_port())])
        told = repr(await place.legation.overview())
        assert [says for _, says in bad_bundles().values() if says not in told] == []
        for batch in range(BATCHES):
            some = pasted[batch * OF_EACH : (batch + 1) * OF_EACH]
            await place.write([manifests(some, free_port())])
        overview = await place.legation.overview()
        assert any(each.reason == "Accepted" for each in judgements(overview))
        assert any(each.reason == "InvalidCACertificateRef" for each in judgements(overview))
        nacks = [envoy.last_nack for each in overview.gateways for envoy in each.envoys]
        assert nacks == [None]
        told = "\n".join([*place.legation.lines, repr(overview)])
    assert [line for line in secret_lines() if line.decode() in told] == []


async def test_no_request_of_a_bystander_fails_while_references_lead_in_circles(tmp_path: Path) -> None:
    async with shared(tmp_path) as place:
        before = resident(place.legation.process.pid)
        for circle, says in CIRCLES.values():
            await place.write([yaml.safe_dump_all(circle)])
            assert says in repr(await place.legation.overview())
        await place.write([yaml.safe_dump_all(all_circles())])
        await place.write([])
        assert resident(place.legation.process.pid) < before + MOST_GROWTH
    assert place.legation.process.returncode == 0


def judgements(overview: Overview) -> list[Condition]:
    """Return what the tenant's policies are told."""
    return [said for policy in overview.policies for about in policy.by for said in about.conditions]
