"""Whether an informer told all that there is: the server itself is asked."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from k8s_watch.answers import Failed
from k8s_watch.informer import Informer
from k8s_watch.inquiry import CATCHES_UP, Inquiry
from k8s_watch.kind import ObjectName
from k8s_watch.reader import Limits, Reader
from tests.k8s_watch.faults import mute, refusing
from tests.k8s_watch.faulty_api import FaultyApi, serving
from tests.k8s_watch.listener import QUICK, WIDGETS, Listener, Widget, reached, running
from tests.looking import eventually
from tests.real_envoy import until

EVERYWHERE = [ObjectName("", "")]


def wholly(*namespaces: str) -> list[ObjectName]:
    """Name all that is in some namespaces."""
    return [ObjectName(each, "") for each in namespaces]


@pytest_asyncio.fixture
async def api() -> AsyncIterator[FaultyApi]:
    made = FaultyApi()
    await made.put("a", size=1)
    async with serving(made):
        yield made


@asynccontextmanager
async def watching(
    api: FaultyApi, folder: Path, namespaces: Sequence[str] = (), limits: Limits | None = None
) -> AsyncIterator[tuple[Informer[Widget], Inquiry[Widget]]]:
    """Watch widgets, from when all were told or it was said that there are none."""
    told = Listener[Widget]()
    async with reached(api, folder) as server:
        reader = Reader(server, limits)
        informer = Informer(WIDGETS, reader, told, namespaces, QUICK)
        async with running(informer.run()):
            await told.until(lambda: told.synced + told.absent > 0)
            yield informer, Inquiry(informer, reader)


async def test_what_was_told_is_certain_and_only_metadata_is_asked_for(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with watching(api, tmp_path) as (_, inquiry):
        assert await inquiry.is_told(EVERYWHERE)
        [asked] = [seen for seen in api.requests if seen.sort == "list"]
        assert "as=PartialObjectMetadataList" in asked.headers["accept"]
        assert "resourceVersion" not in asked.query


async def test_all_pages_are_asked_for(api: FaultyApi, tmp_path: Path) -> None:
    await api.put("b", size=1)
    async with watching(api, tmp_path, limits=Limits(light_page=1)) as (_, inquiry):
        assert await inquiry.is_told(EVERYWHERE)
        asked = [seen.query for seen in api.requests if seen.sort == "list"]
        assert [("limit" in each, "continue" in each) for each in asked] == [(True, False), (True, True)]


async def test_a_watch_that_keeps_something_to_itself_is_begun_anew_where_it_was(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with watching(api, tmp_path) as (informer, inquiry):
        await api.hush("widgets")
        await api.put("b", size=2)
        assert not await inquiry.is_told(EVERYWHERE)
        assert inquiry.failure == Failed(0, "the watch does not tell all that there is")
        await eventually(lambda: informer.held == 2)
        assert await inquiry.is_told(EVERYWHERE)
        assert inquiry.failure is None
        assert informer.lists == 1


@pytest.mark.parametrize("names", [wholly("farm", "shop"), EVERYWHERE], ids=["namespaces", "everywhere"])
async def test_what_went_is_waited_for_though_a_list_does_not_name_it(
    api: FaultyApi, tmp_path: Path, names: list[ObjectName]
) -> None:
    await api.put("b", namespace="farm", size=2)
    async with watching(api, tmp_path) as (informer, inquiry):
        await api.hush("widgets")
        await api.delete("a")
        assert await inquiry.is_told(wholly("farm"))
        assert not await inquiry.is_told(names)
        await eventually(lambda: informer.held == 1)
        assert await inquiry.is_told(names)


async def test_a_watch_that_was_begun_anew_has_longer_to_tell_what_there_is(
    api: FaultyApi, tmp_path: Path
) -> None:
    slow = Limits(watch_silence=2 * CATCHES_UP)
    async with watching(api, tmp_path, limits=slow) as (_, inquiry):
        await api.hush("widgets")
        api.fault("watch", mute)
        await api.put("b", size=2)
        assert not await inquiry.is_told(EVERYWHERE)
        assert await inquiry.is_told(EVERYWHERE)


async def test_an_older_version_is_not_the_one_that_is_there(api: FaultyApi, tmp_path: Path) -> None:
    async with watching(api, tmp_path) as (_, inquiry):
        await api.hush("widgets")
        await api.put("a", size=2)
        assert not await inquiry.is_told(EVERYWHERE)


async def test_a_server_that_does_not_say_what_there_is_leaves_it_uncertain(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with watching(api, tmp_path) as (informer, inquiry):
        api.fault("list", refusing(503, "too busy"))
        assert not await inquiry.is_told(EVERYWHERE)
        assert inquiry.failure == Failed(503, "too busy")
        assert informer.failure is None


async def test_only_the_namespaces_in_question_are_asked_about(api: FaultyApi, tmp_path: Path) -> None:
    async with watching(api, tmp_path) as (_, inquiry):
        await api.hush("widgets")
        await api.put("b", namespace="farm", size=2)
        assert await inquiry.is_told(wholly("mall", "shop"))
        listed = {seen.path for seen in api.requests if seen.sort == "list"}
        assert listed == {f"/apis/example.com/v1/namespaces/{each}/widgets" for each in ("mall", "shop")}
        assert not await inquiry.is_told(wholly("farm"))


async def test_single_objects_are_asked_about_by_their_names(api: FaultyApi, tmp_path: Path) -> None:
    async with watching(api, tmp_path) as (_, inquiry):
        await api.hush("widgets")
        await api.put("b", size=2)
        assert await inquiry.is_told([ObjectName("shop", "a"), ObjectName("shop", "nowhere")])
        assert api.count("list") == 0
        assert not await inquiry.is_told([ObjectName("shop", "b")])
        await until(partial(inquiry.is_told, [ObjectName("shop", "b")]))
        api.fault("get", refusing(503, "too busy"))
        assert not await inquiry.is_told([ObjectName("shop", "a")])
        assert inquiry.failure == Failed(503, "too busy")
        api.fault("get", refusing(403))
        assert await inquiry.is_told([ObjectName("shop", "a")])


async def test_namespaces_that_are_not_watched_are_not_asked_about(api: FaultyApi, tmp_path: Path) -> None:
    await api.put("b", namespace="farm", size=2)
    async with watching(api, tmp_path, ["shop", "mall"]) as (_, inquiry):
        assert await inquiry.is_told(EVERYWHERE)
        assert await inquiry.is_told(wholly("farm", "shop"))
        listed = [seen.path.split("/")[-2] for seen in api.requests if seen.sort == "list"]
        assert sorted(listed) == ["mall", "shop", "shop"]


async def test_of_a_kind_that_is_absent_everything_was_told_until_it_comes(
    api: FaultyApi, tmp_path: Path
) -> None:
    api.kinds.remove("widgets")
    async with watching(api, tmp_path) as (informer, inquiry):
        assert await inquiry.is_told(EVERYWHERE)
        api.fail("find", refusing(503, "starting"))  # the informer looks, too
        assert not await inquiry.is_told(EVERYWHERE)
        api.faults.clear()
        api.kinds.add("widgets")
        await eventually(lambda: informer.held == 1)
        assert await inquiry.is_told(EVERYWHERE)
