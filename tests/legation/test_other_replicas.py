"""A replica finds others by the API server, hears them, and lets them hear what it confides."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from k8s_watch.reader import Reader
from legation.channel.authority import make_root
from legation.journal import Copy
from legation.other_replicas import OtherReplicas, OwnService
from legation.quarantined import Held
from legation.telling import Telling
from tests.k8s_watch.faulty_api import FaultyApi, serving
from tests.k8s_watch.listener import reached, running
from tests.legation.replicas import SERVER_NAME, Replica, day
from tests.looking import SOON
from tests.xds_server.honest_envoy import GROUP
from translator.names import Name, Ref

SLICES = "/apis/discovery.k8s.io/v1/namespaces/legation-system/endpointslices"


@pytest.fixture
async def there() -> AsyncIterator[Replica]:
    """Another replica, with an Envoy that holds what it is offered."""
    made = Replica((make_root(day()),))
    made.offer("v1")
    async with made.running():
        made.envoy().settle()
        yield made


@pytest.fixture
async def api(there: Replica) -> AsyncIterator[FaultyApi]:
    """A server that knows where the other replica is."""
    made = FaultyApi()
    made.roots, made.kinds = {"/apis/discovery.k8s.io/v1"}, {"endpointslices"}
    host, _, port = there.address.rpartition(":")
    await made.put(
        "legation-1",
        "endpointslices",
        "legation-system",
        addressType="IPv4",
        endpoints=[{"addresses": [host]}],
        ports=[{"name": "xds", "port": int(port)}],
    )
    async with serving(made):
        yield made


async def test_other_replicas_are_found_and_heard(there: Replica, api: FaultyApi, tmp_path: Path) -> None:
    news = asyncio.Event()
    own = OwnService(Name("legation-system", "legation"), 18000)
    assert own.server_name == SERVER_NAME
    async with reached(api, tmp_path) as server:
        here = OtherReplicas(own, Reader(server), lambda: there.roots, news.set)
        assert here.known().incomplete
        async with asyncio.timeout(SOON), running(here.run()):
            await here.complete()
            while not (told := here.known().about(GROUP)):
                news.clear()
                await news.wait()
            assert told == [there.journal.tellings[GROUP]]
            assert await _forgotten(here, api, news)
    asked = {seen.path: seen.query for seen in api.requests if seen.sort in {"list", "watch"}}
    assert asked.keys() == {SLICES}
    assert asked[SLICES]["labelSelector"] == "kubernetes.io/service-name=legation"


async def test_what_is_confided_is_told_to_whoever_follows(api: FaultyApi, tmp_path: Path) -> None:
    own = OwnService(Name("legation-system", "legation"), 18000)
    async with reached(api, tmp_path) as server, asyncio.timeout(SOON):
        here = OtherReplicas(own, Reader(server), tuple, lambda: None)
        held = Held(Ref("HTTPRoute", Name("shop", "pay")), "what it says", "no such path")
        here.confide({GROUP: Telling()}, {str(held.about): held})
        copy = Copy()
        copy.take(await anext(aiter(here.feed.told())))
    assert copy.tellings == {GROUP: Telling()}
    assert list(copy.held.values()) == [held]


async def _forgotten(here: OtherReplicas, api: FaultyApi, news: asyncio.Event) -> bool:
    """Have the other one be no endpoint any more, and wait until it counts no more."""
    await api.delete("legation-1", "endpointslices", "legation-system")
    while here.known().tellings:
        news.clear()
        await news.wait()
    return not here.known().incomplete
