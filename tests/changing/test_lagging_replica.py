"""Replicas that know only what was, of everything or of policies: nobody tells them so."""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.changing.kiosk import COPIED, HTTPS, NAMES, Kiosk, bootstrap, furnished, visited
from tests.changing.replicas import WITHIN, Api, Replica, api_serving, started
from tests.changing.stock import Stock
from tests.handshakes.manifests import EDGE, Json
from tests.link import Link, linked
from tests.real_envoy import running_envoy, until

pytestmark = pytest.mark.envoy

OLD, NEW = ({"name": name, "port": HTTPS} for name in NAMES)


class Scene(NamedTuple):
    """An API server, two replicas, and the ways between them and to them."""

    api: Api
    stock: Stock
    well: Replica
    slow: Replica
    news: Link  # from the API server to the slow one
    way: Link  # from Envoy to either

    async def put(self, objects: Iterable[Json]) -> None:
        """Have these objects and no others."""
        await self.stock.hold(objects)

    async def move(self, replica: Replica) -> None:
        """Have Envoy connect to a replica, and wait until it has what is known there."""
        self.way.move(replica.port)
        await until(replica.has_served, within=WITHIN)


@asynccontextmanager
async def scene(folder: Path, objects: Iterable[Json]) -> AsyncIterator[Scene]:
    """Have both replicas know some objects, and an Envoy that is connected to the first."""
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(api_serving())
        news = await stack.enter_async_context(linked("127.0.0.1", api.server.port))
        well = await stack.enter_async_context(started(api.server.port, folder))
        slow = await stack.enter_async_context(started(news.port, folder))
        way = await stack.enter_async_context(linked("127.0.0.1", well.port))
        made = Scene(api, Stock(api), well, slow, news, way)
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
    assert (kiosk.broken, kiosk.dismissed) == (0, 0)


def unknown(kiosk: Kiosk) -> list[Json]:
    """Have nothing of the second backend."""
    return [each for each in kiosk.objects if not is_of_new(each)]


def unused(kiosk: Kiosk) -> list[Json]:
    """Have it get no requests."""
    return unproved(kiosk, {"backendRefs": [OLD, {**NEW, "weight": 0}]})


def copied(kiosk: Kiosk) -> list[Json]:
    """Have it get copies only."""
    marked = {"requestHeaderModifier": {"set": [{"name": COPIED, "value": "yes"}]}}
    copies = {"requestMirror": {"backendRef": NEW}}
    filters = [{"type": "RequestHeaderModifier", **marked}, {"type": "RequestMirror", **copies}]
    return unproved(kiosk, {"backendRefs": [OLD], "filters": filters})


def unproved(kiosk: Kiosk, rule: Json) -> list[Json]:
    """Have no policy for it, and a route with this rule."""
    *others, way = kiosk.objects
    known = [each for each in others if each["kind"] != "BackendTLSPolicy" or not is_of_new(each)]
    return [*known, way | {"spec": {"parentRefs": [EDGE], "rules": [rule]}}]


def is_of_new(each: Json) -> bool:
    """Say whether an object is there for the second backend."""
    return NAMES[1] in json.dumps(each["metadata"])


@pytest.mark.parametrize("before", [unknown, unused, copied])
async def test_a_backend_that_begins_to_get_requests_gets_them_as_its_policy_says_though_that_watch_is_dead(
    before: Callable[[Kiosk], list[Json]], tmp_path: Path
) -> None:
    async with furnished(tmp_path) as kiosk:
        async with scene(tmp_path, before(kiosk)) as made, visited(kiosk):
            await made.api.server.hush("backendtlspolicies")
            kiosk.lead_to(*NAMES)
            await made.put(kiosk.objects)
            await kiosk.reached()
        assert (kiosk.broken, kiosk.dismissed) == (0, 0)
        got_copies = COPIED.encode() in kiosk.behind[NAMES[1]].tap.cleartext
        assert got_copies == (before is copied), "copies went there before anybody knew of the policy"
