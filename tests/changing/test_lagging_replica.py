"""Replicas that know only what was, of everything or of policies: nobody tells them so."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest

from tests.changing.kiosk import bootstrap, furnished, visited, xds_port
from tests.handshakes.manifests import Json
from tests.k8s_watch.faulty_api import FaultyApi, write_kubeconfig
from tests.k8s_watch.faulty_api import serving as api_serving
from tests.legation.running import Legation, free_port, serving
from tests.link import Link, linked
from tests.real_envoy import running_envoy, until
from translator.objects.kinds import KINDS

pytestmark = pytest.mark.envoy

WITHIN = 120.0
PLURALS = {info.kind: info.plural for info in KINDS}


class Replica(NamedTuple):
    """A replica, and its port for Envoys."""

    running: Legation
    port: int

    async def is_ready(self) -> bool:
        """Say whether it may be asked for a configuration."""
        url = f"{await self.running.admin()}/readyz"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status == HTTPStatus.OK

    async def has_served(self) -> bool:
        """Say whether an Envoy is connected here, and has all that is known here."""
        gateways = (await self.running.overview()).gateways
        return [envoy.current for gateway in gateways for envoy in gateway.envoys] == [True]


class Scene(NamedTuple):
    """An API server, two replicas, and the ways between them and to them."""

    api: FaultyApi
    well: Replica
    slow: Replica
    news: Link  # from the API server to the slow one
    way: Link  # from Envoy to either

    async def put(self, objects: Iterable[Json]) -> None:
        """Have these objects, as far as they differ from what there is."""
        for each in objects:
            made = json.loads(json.dumps(each))
            metadata = made.pop("metadata")
            plural = PLURALS[made.pop("kind")]
            key = plural, metadata.get("namespace", ""), metadata["name"]
            del made["apiVersion"]
            there = self.api.objects.get(key, {})
            if any(there.get(field) != value for field, value in made.items()):
                await self.api.put(key[2], *key[:2], labels=metadata.get("labels", {}), **made)

    async def move(self, replica: Replica) -> None:
        """Have Envoy connect to a replica, and wait until it has what is known there."""
        self.way.move(replica.port)
        await until(replica.has_served, within=WITHIN)


@asynccontextmanager
async def started(api: int, folder: Path) -> AsyncIterator[Replica]:
    """Run a replica that finds the API server at a port, until it is ready."""
    kubeconfig = write_kubeconfig(folder, f"http://127.0.0.1:{api}", token="t0")  # noqa: S106  # proves nothing
    place = ("--kubeconfig", str(kubeconfig), "--namespace", "shop", "--xds", f"127.0.0.1:{free_port()}")
    async with serving("run", *place) as running:
        replica = Replica(running, await xds_port(running))
        await until(replica.is_ready, within=WITHIN)
        yield replica


@asynccontextmanager
async def scene(folder: Path, objects: Iterable[Json]) -> AsyncIterator[Scene]:
    """Have both replicas know some objects, and an Envoy that is connected to the first."""
    api = FaultyApi()
    api.roots = {f"/apis/{info.group}/{info.versions[0]}" for info in KINDS if info.group} | {"/api/v1"}
    api.kinds = set(PLURALS.values())
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(api_serving(api))
        news = await stack.enter_async_context(linked("127.0.0.1", api.port))
        well = await stack.enter_async_context(started(api.port, folder))
        slow = await stack.enter_async_context(started(news.port, folder))
        way = await stack.enter_async_context(linked("127.0.0.1", well.port))
        made = Scene(api, well, slow, news, way)
        await made.put(objects)
        await stack.enter_async_context(running_envoy(await bootstrap(way.port)))
        yield made


async def test_an_envoy_goes_back_to_what_a_lagging_replica_knows_and_forth_without_a_failure(
    tmp_path: Path,
) -> None:
    async with furnished(tmp_path) as kiosk, scene(tmp_path, kiosk.objects) as made, visited(kiosk):
        await made.move(made.slow)
        made.news.silence()
        kiosk.lead_to("new")
        await made.put(kiosk.objects)
        await made.move(made.well)
        await kiosk.answered_by("new")
        await made.move(made.slow)
        await kiosk.answered_by("old")
        await made.move(made.well)
        await kiosk.answered_by("new")
        await made.move(made.slow)
        made.news.mend()
        await kiosk.reached()
    assert kiosk.broken == 0


async def test_a_new_service_is_reached_as_its_policy_says_though_the_watch_of_policies_is_dead(
    tmp_path: Path,
) -> None:
    async with furnished(tmp_path) as kiosk:
        known = [each for each in kiosk.objects if "new" not in json.dumps(each["metadata"])]
        async with scene(tmp_path, known) as made, visited(kiosk):
            await made.api.hush("backendtlspolicies")
            kiosk.lead_to("new")
            await made.put(kiosk.objects)
            await kiosk.reached()
        assert kiosk.broken == 0
