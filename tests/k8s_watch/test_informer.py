"""Informers over real HTTP: whatever goes wrong on the way, what was told is in the end what there is."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from k8s_watch.answers import Failed
from k8s_watch.change import Absent, Change, Gone, Put, Synced
from k8s_watch.informer import PORTION, Informer
from k8s_watch.kind import Kind
from k8s_watch.list_watch import Watch
from k8s_watch.reader import Limits, Reader, Where
from tests.k8s_watch.faults import Answer, bookmark, mute, refusing, saying, silence, trickle
from tests.k8s_watch.faulty_api import COMPACTED, SOON, FaultyApi, serving
from tests.k8s_watch.listener import QUICK, WIDGETS, Listener, Widget, named, reached, running
from tests.looking import eventually

IMPATIENT = Limits(connect=5.0, answer=0.3, silence=0.2, watch_silence=0.2)


class Scene:
    """An API server with two widgets, a listener, and an informer between them."""

    def __init__(self, folder: Path, api: FaultyApi, closing: AsyncExitStack) -> None:
        self.api = api
        self.told = Listener[Widget]()
        self.informer: Informer[Widget] | None = None
        self._folder = folder
        self._closing = closing

    async def watch(self, limits: Limits | None = None, namespaces: Sequence[str] = ()) -> Informer[Widget]:
        """Begin to watch."""
        server = await self._closing.enter_async_context(reached(self.api, self._folder))
        reader = Reader(server, limits)
        self.informer = Informer(WIDGETS, reader, self.told, namespaces, QUICK)
        await self._closing.enter_async_context(running(self.informer.run()))
        return self.informer

    async def until_told(self, **sizes: int) -> None:
        """Wait until these widgets are told to be there, and no others."""
        await self.told.until(lambda: {n: w.size for n, w in self.told.things.items()} == sizes)


@pytest_asyncio.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    api = FaultyApi()
    await api.put("a", size=1)
    await api.put("b", size=2)
    async with serving(api), AsyncExitStack() as closing:
        yield Scene(tmp_path, api, closing)


async def goes_on(scene: Scene) -> None:
    """Check that everything is known, and that what changes from now on is told."""
    await scene.until_told(a=1, b=2)
    await scene.api.put("a", size=10)
    await scene.api.delete("b")
    await scene.api.put("c", size=3)
    await scene.until_told(a=10, c=3)
    assert scene.told.synced == 1
    versions = [(change.name, change.version) for change in scene.told.changes if isinstance(change, Put)]
    assert len(versions) == len(set(versions))


async def test_a_list_is_streamed_where_the_server_can(scene: Scene) -> None:
    await scene.watch()
    await goes_on(scene)
    assert scene.api.count("list") == 0
    [watch] = [seen for seen in scene.api.requests if seen.sort == "watch"]
    assert watch.query["sendInitialEvents"] == "true"
    assert watch.query["resourceVersionMatch"] == "NotOlderThan"
    assert watch.query["allowWatchBookmarks"] == "true"
    assert 300 <= int(watch.query["timeoutSeconds"]) <= 600


async def test_a_list_is_read_in_pages_where_the_server_cannot(scene: Scene) -> None:
    scene.api.streams_lists = False
    await scene.watch(Limits(page=1))
    await goes_on(scene)
    assert scene.api.count("list") == 2


async def test_an_expired_token_leads_to_a_list_in_one_piece(scene: Scene) -> None:
    scene.api.streams_lists = False
    page = {"metadata": {"resourceVersion": "100", "continue": "99:1"}, "items": []}
    scene.api.forget()
    scene.api.fault("list", saying(json.dumps(page).encode()))
    await scene.watch(Limits(page=1))
    await goes_on(scene)
    assert [seen.query for seen in scene.api.requests if seen.sort == "list"] == [
        {"limit": "1"},
        {"limit": "1", "continue": "99:1"},
        {},
    ]


BROKEN_ON_THE_WAY = {
    "410 in the stream": saying(
        json.dumps({"type": "ERROR", "object": {"code": 410, "message": COMPACTED}}).encode() + b"\n"
    ),
    "410 when it begins": refusing(410, COMPACTED),
    "429": refusing(429, "slow down", retry_after="0"),
    "500": refusing(500),
    "a page of a proxy": saying(b"<html>Bad gateway</html>"),
    "403": refusing(403),
    "a redirect": refusing(302, location="http://127.0.0.1:1/"),
    "a line that breaks off": saying(b'{"type":"MODIFIED","object":{"metadata":{"na'),
    "a connection that breaks off": saying(b'{"type":"MODIFIED","object":{"metadata":{"na', whole=False),
    "garbage": saying(b"\x00\xff{{{\n"),
    "text that is no UTF-8": saying(b'{"type":"ADDED","object":{"metadata":{"name":"\xff\xff"}}}\n'),
    "an unknown event": saying(b'{"type":"SHRUNK","object":{}}\n'),
    "an object without a name": saying(b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"900"}}}\n'),
    "nesting without end": saying(b"[" * 200_000 + b"\n"),
    "a gigantic line": saying(*[b"x" * 2**20] * 3),
    "an end at once": saying(),
}


@pytest.mark.parametrize("answer", BROKEN_ON_THE_WAY.values(), ids=BROKEN_ON_THE_WAY)
@pytest.mark.parametrize("streams_lists", [True, False])
async def test_a_watch_that_goes_wrong_loses_nothing(
    scene: Scene, answer: Answer, *, streams_lists: bool
) -> None:
    scene.api.streams_lists = streams_lists
    await scene.watch(Limits(line=2**21))
    await scene.until_told(a=1, b=2)
    scene.api.fault("watch", answer, times=4)
    await scene.api.end_watches()
    await scene.api.until(lambda: not scene.api.faults)
    await goes_on(scene)


@pytest.mark.parametrize("answer", BROKEN_ON_THE_WAY.values(), ids=BROKEN_ON_THE_WAY)
async def test_a_list_that_goes_wrong_is_read_again(scene: Scene, answer: Answer) -> None:
    scene.api.streams_lists = False
    scene.api.fault("list", answer, times=2)
    await scene.watch()
    await goes_on(scene)
    assert scene.api.faults == []


async def test_what_changed_while_nobody_watched_is_told_after_a_relist(scene: Scene) -> None:
    await scene.watch()
    await scene.until_told(a=1, b=2)
    scene.api.fault("watch", refusing(503), times=2)
    await scene.api.end_watches()
    await scene.api.delete("a")
    await scene.api.put("c", size=3)
    scene.api.forget()
    await scene.until_told(b=2, c=3)
    assert Gone(named("a")) in scene.told.changes


async def test_a_watch_goes_on_from_the_newest_bookmark(scene: Scene) -> None:
    await scene.watch()
    await scene.until_told(a=1, b=2)
    scene.api.fault("watch", saying(json.dumps(bookmark(150)).encode() + b"\n"))
    await scene.api.end_watches()
    await scene.api.until(lambda: scene.api.count("watch") >= 3)
    assert scene.api.requests[-1].query["resourceVersion"] == "150"


async def test_a_connection_that_says_nothing_is_given_up(scene: Scene) -> None:
    scene.api.fault("find", mute)
    scene.api.fault("watch", mute)
    scene.api.fault("list", mute)
    informer = await scene.watch(IMPATIENT)
    await scene.until_told(a=1, b=2)
    assert scene.api.faults == []
    assert informer.failures[0] >= 3


async def test_a_watch_that_was_never_answered_is_not_said_to_have_lasted(
    scene: Scene, tmp_path: Path
) -> None:
    scene.api.fault("watch", mute)
    async with reached(scene.api, tmp_path) as server:
        asked = Reader(server, IMPATIENT).watch(Where(WIDGETS, "example.com/v1"), Watch("100"))
        [[failed]] = [answer async for answer in asked]
    assert isinstance(failed, Failed)
    assert (failed.code, failed.lasted) == (0, 0.0)


async def test_a_watch_that_falls_silent_is_resumed_where_it_was(scene: Scene) -> None:
    await scene.watch(IMPATIENT)
    await scene.until_told(a=1, b=2)
    metadata = {"name": "z", "namespace": "shop", "resourceVersion": "170"}
    line = json.dumps({"type": "ADDED", "object": {"metadata": metadata, "size": 9}})
    scene.api.fault("watch", silence(line.encode() + b"\n"))
    await scene.until_told(a=1, b=2, z=9)
    await scene.api.until(lambda: scene.api.count("watch") >= 4)
    assert any(seen.query.get("resourceVersion") == "170" for seen in scene.api.requests)


async def test_an_event_that_trickles_in_byte_by_byte_is_read(scene: Scene) -> None:
    await scene.watch()
    await scene.until_told(a=1, b=2)
    line = (
        b'{"type":"DELETED","object":{"metadata":{"name":"a","namespace":"shop","resourceVersion":"170"}}}\n'
    )
    scene.api.fault("watch", saying(*(bytes([byte]) for byte in line)))
    await scene.api.end_watches()
    await scene.until_told(b=2)


async def test_a_page_that_trickles_without_end_is_given_up(scene: Scene) -> None:
    scene.api.streams_lists = False
    scene.api.fault("list", trickle)
    informer = await scene.watch(IMPATIENT)
    await scene.until_told(a=1, b=2)
    assert informer.failures[0] >= 1


async def test_an_object_that_does_not_fit_is_told_as_unreadable_and_harms_no_other(scene: Scene) -> None:
    await scene.api.put("odd", size="large")
    await scene.watch()
    await scene.until_told(a=1, b=2)
    assert "int" in scene.told.unreadable["odd"]
    await scene.api.put("odd", size=5)
    await scene.until_told(a=1, b=2, odd=5)


async def test_a_kind_that_comes_goes_and_comes_again_is_lived_with(scene: Scene) -> None:
    scene.api.kinds = set()
    informer = await scene.watch()
    await scene.told.until(lambda: scene.told.absent == 1)
    assert scene.told.changes == [Absent()]
    scene.api.kinds = {"widgets"}
    await scene.until_told(a=1, b=2)
    await scene.api.delete("a")
    await scene.api.delete("b")
    scene.api.kinds = set()
    await scene.api.end_watches()
    await scene.told.until(lambda: scene.told.absent == 2)
    scene.api.kinds = {"widgets"}
    await scene.api.put("c", size=3)
    await scene.until_told(c=3)
    assert scene.told.synced == 1
    assert informer.failure is None


async def test_the_best_version_that_is_served_is_read(scene: Scene, tmp_path: Path) -> None:
    kind = Kind("example.com", ("v2", "v1"), "widgets", Widget)
    async with reached(scene.api, tmp_path) as server:
        informer = Informer(kind, Reader(server), scene.told, pace=QUICK)
        assert informer.api_version == ""
        async with running(informer.run()):
            await scene.until_told(a=1, b=2)
        assert informer.api_version == "example.com/v1"


async def test_some_namespaces_are_told_as_one(scene: Scene) -> None:
    await scene.api.put("x", namespace="infra", size=7)
    await scene.api.put("y", namespace="other", size=8)
    await scene.watch(namespaces=("shop", "infra"))
    await scene.told.until(lambda: scene.told.synced == 1)
    await scene.until_told(a=1, b=2, x=7)
    assert scene.told.changes[-1] == Synced()
    await scene.api.put("x", namespace="infra", size=70)
    await scene.until_told(a=1, b=2, x=70)
    assert all("/namespaces/" in seen.path for seen in scene.api.requests if seen.sort != "find")


async def test_a_kind_absent_from_all_namespaces_is_told_once(scene: Scene) -> None:
    scene.api.kinds = set()
    await scene.watch(namespaces=("shop", "infra"))
    await scene.told.until(lambda: scene.told.absent == 1)
    await scene.api.until(lambda: scene.api.count("find") >= 8)
    assert scene.told.changes == [Absent()]


async def test_what_stands_between_us_and_the_newest_is_known(scene: Scene) -> None:
    scene.api.fail("find", refusing(403, "widgets is forbidden"))
    informer = await scene.watch()
    await scene.api.until(lambda: scene.api.count("find") >= 3)
    assert informer.failure is not None
    assert (informer.failure.code, informer.failure.reason) == (403, "widgets is forbidden")
    assert informer.heard == float("-inf")
    scene.api.faults.clear()
    await scene.until_told(a=1, b=2)
    assert informer.failure is None
    assert informer.heard > 0
    assert informer.lists == 1


async def test_a_server_that_is_back_and_quiet_is_known_to_be_back(scene: Scene) -> None:
    informer = await scene.watch()
    await scene.told.until(lambda: scene.told.synced == 1)
    assert informer.held == 2
    before = informer.heard
    scene.api.fault("watch", refusing(503))
    await scene.api.end_watches()
    await scene.api.until(lambda: not scene.api.faults)
    await eventually(lambda: informer.failures[503] == 1)
    await eventually(lambda: informer.heard != before and informer.failure is None)
    assert (informer.failures[503], informer.lists) == (1, 1)


async def test_nothing_more_is_read_while_what_was_told_is_not_taken(scene: Scene, tmp_path: Path) -> None:
    began, gate = asyncio.Event(), asyncio.Event()

    async def slow(changes: Sequence[Change[Widget]]) -> None:
        began.set()
        await gate.wait()
        await scene.told(changes)

    scene.api.streams_lists = False
    async with reached(scene.api, tmp_path) as server:
        informer = Informer(WIDGETS, Reader(server, Limits(page=1)), slow, pace=QUICK)
        async with running(informer.run()), asyncio.timeout(SOON):
            await began.wait()
            assert scene.api.count("list") == 1
            gate.set()
            await scene.until_told(a=1, b=2)


async def test_a_long_list_is_told_in_slices(scene: Scene) -> None:
    for number in range(600):
        await scene.api.put(f"w{number}", size=number)
    await scene.watch()
    await scene.told.until(lambda: scene.told.synced == 1)
    assert max(scene.told.batches) <= 256


async def test_a_refusal_that_is_no_status_names_its_code(scene: Scene) -> None:
    scene.api.fail("find", refusing(500, ""))
    informer = await scene.watch()
    await scene.api.until(lambda: scene.api.count("find") >= 2)
    assert informer.failure is not None
    assert informer.failure.reason == "HTTP 500"


@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "in pages"])
async def test_of_much_that_comes_at_once_all_that_counts_as_told_was_told_whenever_others_have_their_turn(
    scene: Scene, *, streams: bool
) -> None:
    scene.api.streams_lists = streams
    for number in range(10 * PORTION):
        await scene.api.put(f"many-{number}", size=number)
    informer = await scene.watch()
    turns, is_amid = 0, False
    while scene.told.synced == 0 or informer.is_amid:
        assert {name.name for name in informer.versions("")} == scene.told.things.keys()
        turns, is_amid = turns + (scene.told.batches != []), is_amid or informer.is_amid
        await asyncio.sleep(0)
    assert max(scene.told.batches) <= PORTION + 1  # a list's end is told with the last of it
    assert turns >= 10
    assert is_amid
    await scene.api.put("many-0", size=1)
    await scene.told.until(lambda: scene.told.things["many-0"].size == 1)
    assert not informer.is_amid


async def test_that_no_more_is_to_come_is_told_even_if_the_rest_is_nothing_new(scene: Scene) -> None:
    for number in range(10 * PORTION):
        await scene.api.put(f"many-{number}", size=number)
    informer = await scene.watch()
    await scene.told.until(lambda: scene.told.synced == 1)
    assert 0 not in scene.told.batches
    await scene.api.leave("widgets")
    await eventually(lambda: informer.failure is not None)
    await scene.api.put("a-new-one", size=1)  # the first of a list by its name
    scene.api.forget()
    await scene.api.leave()
    await scene.told.until(lambda: 0 in scene.told.batches)
    assert "a-new-one" in scene.told.things
    assert not informer.is_amid
