"""Secrets over real HTTP: only those that somebody wants are ever read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from k8s_watch.answers import Failed
from k8s_watch.change import Gone
from k8s_watch.fetcher import AT_ONCE, Fetcher
from k8s_watch.kind import Kind
from k8s_watch.list_watch import Pace
from k8s_watch.reader import Reader
from tests.k8s_watch.faults import refusing, saying
from tests.k8s_watch.faulty_api import FaultyApi, serving
from tests.k8s_watch.listener import QUICK, Listener, Widget, named, reached, running
from tests.looking import eventually

SECRETS = Kind("example.com", ("v1",), "secrets", Widget)


@asynccontextmanager
async def fetching(
    folder: Path, api: FaultyApi, told: Listener[Widget], pace: Pace = QUICK
) -> AsyncIterator[Fetcher[Widget]]:
    for number, name in enumerate("abc"):
        await api.put(name, "secrets", size=number)
    async with serving(api), reached(api, folder) as server:
        fetcher = Fetcher(SECRETS, Reader(server), told, pace=pace)
        async with running(fetcher.run()):
            yield fetcher


async def test_only_what_is_wanted_is_read_and_the_rest_is_asked_for_as_metadata(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    async with fetching(tmp_path, api, told) as fetcher:
        await told.until(lambda: told.synced == 1)
        fetcher.want({named("b"), named("nowhere")})
        await told.until(lambda: told.things == {"b": Widget(1)} and Gone(named("nowhere")) in told.changes)
        await api.put("b", "secrets", size=10)
        await api.put("c", "secrets", size=20)
        await told.until(lambda: told.things == {"b": Widget(10)})
        fetcher.want({named("c")})
        await told.until(lambda: told.things == {"c": Widget(20)})
        await api.delete("c", "secrets")
        await told.until(lambda: told.things == {})
    read = {seen.path.rpartition("/")[2] for seen in api.requests if seen.sort == "get"}
    assert read == {"b", "c", "nowhere"}
    [watch] = [seen for seen in api.requests if seen.sort == "watch"]
    assert (
        watch.headers["accept"]
        == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
    )


async def test_a_reading_that_fails_is_tried_again(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    api.fault("get", refusing(503), times=3)
    api.fault("get", saying(b'{"metadata":'))
    async with fetching(tmp_path, api, told) as fetcher:
        fetcher.want({named("a")})
        await told.until(lambda: told.things == {"a": Widget(0)})
    assert api.count("get") == 5


async def test_a_reading_that_is_refused_is_known_until_nobody_wants_it_or_it_is_gone(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    api.fail("get", refusing(403, "you may not"))
    async with fetching(tmp_path, api, told) as fetcher:
        fetcher.want({named("a")})
        await api.until(lambda: api.count("get") >= 2)
        assert fetcher.failure == Failed(403, "you may not")
        since = fetcher.since
        await api.until(lambda: api.count("get") >= 4)
        assert fetcher.since == since
        fetcher.want(frozenset())
        await eventually(lambda: fetcher.failure is None)
        assert fetcher.since == float("inf")
        fetcher.want({named("b")})
        await eventually(lambda: fetcher.failure == Failed(403, "you may not"))
        assert since < fetcher.since
        await api.delete("b", "secrets")
        await told.until(lambda: Gone(named("b")) in told.changes)
        assert fetcher.failure is None


async def test_what_may_be_read_does_not_wait_for_what_may_not(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    api.forbidden = frozenset(f"f{number}" for number in range(2 * AT_ONCE))
    for name in (*api.forbidden, "permitted"):
        await api.put(name, "secrets", size=1)
    slow = Pace(first=3600.0, longest=3600.0, chance=lambda: 1.0)
    async with fetching(tmp_path, api, told, slow) as fetcher:
        fetcher.want({named(name) for name in (*api.forbidden, "permitted")})
        await told.until(lambda: told.things == {"permitted": Widget(1)})
        assert fetcher.failure == Failed(403, "you may not")


async def test_what_may_not_be_read_is_asked_for_again(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    api.fault("get", refusing(403, "you may not"), times=30)
    async with fetching(tmp_path, api, told) as fetcher:
        fetcher.want({named(name) for name in "abc"})
        await told.until(lambda: told.things == {"a": Widget(0), "b": Widget(1), "c": Widget(2)})
        assert fetcher.failure is None


async def test_an_object_that_went_before_it_could_be_read_is_gone(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    api.fault("get", refusing(404))
    async with fetching(tmp_path, api, told) as fetcher:
        fetcher.want({named("a")})
        await told.until(lambda: Gone(named("a")) in told.changes)
        await api.put("a", "secrets", size=7)
        await told.until(lambda: told.things == {"a": Widget(7)})


async def test_many_are_read_and_none_is_forgotten(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    for number in range(100):
        await api.put(f"s{number}", "secrets", size=number)
    async with fetching(tmp_path, api, told) as fetcher:
        fetcher.want({named(f"s{number}") for number in range(100)})
        await told.until(lambda: told.things == {f"s{number}": Widget(number) for number in range(100)})
    assert api.count("get") == 100


async def test_what_is_there_is_told_though_the_watch_of_the_metadata_is_dead(tmp_path: Path) -> None:
    api, told = FaultyApi(), Listener[Widget]()
    async with fetching(tmp_path, api, told) as fetcher:
        await told.until(lambda: told.synced == 1)
        await api.hush("secrets")
        await api.put("b", "secrets", size=1)
        fetcher.want({named("b")})
        await told.until(lambda: told.things == {"b": Widget(1)})
    assert Gone(named("b")) not in told.changes
