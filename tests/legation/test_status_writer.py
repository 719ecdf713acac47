"""Statuses into a cluster, over real HTTP: once for each change, and never over what others wrote."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from k8s_watch.change import Gone, Put
from k8s_watch.kind import ObjectName
from k8s_watch.list_watch import Pace
from k8s_watch.writer import Writer
from legation import spacing
from legation.notebook import Judged
from legation.status_writer import AT_ONCE, StatusWriter, Wrote
from legation.statuses import Moment, merged
from tests.k8s_watch.faults import Json, mute, refusing
from tests.k8s_watch.faulty_api import SOON, FaultyApi, serving
from tests.k8s_watch.listener import reached, running
from translator.names import Name, Ref
from translator.objects.http_route import HTTPRoute
from translator.objects.provenance import TracedMeta
from translator.objects.secret import Secret
from translator.rules.gateways import CONTROLLER
from translator.rules.status import ParentRef, ParentStatus, RouteStatus
from translator.verdict import Condition, holds

NOW = "2026-01-01T12:00:00Z"
PLURAL = "httproutes"
THEIRS: Json = {"controllerName": "example.com/other", "parentRef": {"name": "x"}, "odd": [1, {"b": None}]}
GROUP = "gateway.networking.k8s.io"
QUICK = Pace(first=0.01, longest=0.02)


def judged(*conditions: Condition, generation: int = 1) -> Judged:
    """One entry of ours, for Gateway infra/edge."""
    return Judged(RouteStatus((ParentStatus(ParentRef(GROUP, "Gateway", "edge"), conditions),)), generation)


ACCEPTED = judged(holds("Accepted"))


class Scene:
    """Routes on a server, and somebody who writes their statuses."""

    def __init__(self, api: FaultyApi, writer: Writer) -> None:
        self.api = api
        self.wrote: asyncio.Queue[Wrote] = asyncio.Queue()
        self.statuses = StatusWriter(
            writer, lambda _: "example.com/v1", lambda: NOW, QUICK, self.wrote.put_nowait
        )

    def tell(self, name: str = "store") -> None:
        """Tell what the server has, as an informer would."""
        thing = self.api.objects[PLURAL, "shop", name]
        route = msgspec.json.decode(json.dumps({**thing, "spec": {}}), type=HTTPRoute)
        self.statuses.overhear(HTTPRoute, [Put(ObjectName("shop", name), self.version(name), route)])

    def say(self, **wanted: Judged) -> None:
        """Have routes say this about themselves."""
        judged = {Ref("HTTPRoute", Name("shop", name)): each for name, each in wanted.items()}
        self.statuses.take(judged, judged)

    def version(self, name: str = "store") -> str:
        metadata = self.api.objects[PLURAL, "shop", name]["metadata"]
        assert isinstance(metadata, dict)
        return str(metadata["resourceVersion"])

    def entries(self, name: str = "store") -> list[Mapping[str, Json]]:
        """Read who says what of a route."""
        status = self.api.objects[PLURAL, "shop", name].get("status")
        assert status is None or isinstance(status, dict)
        parents = (status or {}).get("parents", [])
        assert isinstance(parents, list)
        return [each for each in parents if isinstance(each, dict)]

    async def until_written(self, name: str = "store") -> None:
        await self.api.until(lambda: any(each["controllerName"] == CONTROLLER for each in self.entries(name)))


@asynccontextmanager
async def scene(folder: Path, *names: str) -> AsyncIterator[Scene]:
    api = FaultyApi()
    for name in names:
        await api.put(name, PLURAL, status={"parents": [THEIRS]})
    async with serving(api), reached(api, folder) as server:
        made = Scene(api, Writer(server, CONTROLLER))
        for name in names:
            made.tell(name)
        yield made


async def test_what_others_say_is_left_as_it_was(tmp_path: Path) -> None:
    async with scene(tmp_path, "store") as here, running(here.statuses.run()):
        here.say(store=ACCEPTED)
        await here.until_written()
        theirs, ours = here.entries()
        assert theirs == THEIRS
        assert ours["conditions"] == [
            {
                "type": "Accepted",
                "status": "True",
                "observedGeneration": 1,
                "lastTransitionTime": NOW,
                "reason": "Accepted",
                "message": "",
            }
        ]


async def test_nothing_is_sent_for_what_is_told_again(tmp_path: Path) -> None:
    async with scene(tmp_path, "store", "last") as here, running(here.statuses.run()):
        here.say(store=ACCEPTED)
        await here.until_written()
        for _ in range(3):
            here.tell("store")
        here.say(store=judged(holds("Accepted")), last=ACCEPTED)  # equal, and made anew
        await here.until_written("last")
        assert here.api.count("write") == 2


async def test_what_is_judged_again_at_once_is_written_once(tmp_path: Path) -> None:
    async with scene(tmp_path, "store") as here, running(here.statuses.run()):
        for number in range(5):
            here.say(store=judged(holds("Accepted"), generation=number))
        await here.until_written()
        assert here.api.count("write") == 1
        assert here.entries()[1]["conditions"][0]["observedGeneration"] == 4  # type: ignore[call-overload, index]  # a list of conditions


async def test_what_changes_whenever_it_was_written_is_written_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spacing, "FURTHEST", SOON)  # on a busy machine a pause may look like a rest
    async with scene(tmp_path, "store") as here, running(here.statuses.run()):
        for generation in range(4):
            here.say(store=judged(holds("Accepted"), generation=generation))
            async with asyncio.timeout(SOON):
                await here.wrote.get()
    writes = [seen.at for seen in here.api.requests if seen.sort == "write"]
    apart = [after - before for before, after in pairwise(writes)]
    assert all(found >= least for found, least in zip(apart, (0.1, 0.2, 0.4), strict=True))


async def test_what_somebody_wrote_meanwhile_is_read_and_kept(tmp_path: Path) -> None:
    async with scene(tmp_path, "store") as here, running(here.statuses.run()):
        newer: Json = {"controllerName": "example.com/newer", "parentRef": {"name": "y"}}
        await here.api.put("store", PLURAL, status={"parents": [THEIRS, newer]})
        here.say(store=ACCEPTED)
        await here.until_written()
        assert here.entries()[:2] == [THEIRS, newer]


async def test_who_asks_is_told_what_a_write_made_of_what_was_really_there(tmp_path: Path) -> None:
    async with scene(tmp_path, "store", "last") as here, running(here.statuses.run()):
        newer: Json = {"controllerName": "example.com/newer", "parentRef": {"name": "y"}}
        await here.api.put("store", PLURAL, status={"parents": [newer]})
        here.say(store=ACCEPTED)
        await here.until_written()
        here.tell("store")  # nothing is written for it again
        here.say(store=ACCEPTED, last=ACCEPTED)
        async with asyncio.timeout(SOON):
            wrote, last = await here.wrote.get(), await here.wrote.get()
    assert json.loads(wrote.before) == {"parents": [newer]}
    assert json.loads(wrote.after)["parents"] == [newer, here.entries()[1]]
    assert [each.ref.name.name for each in (wrote, last)] == ["store", "last"]


async def test_nothing_is_written_before_we_lead_and_everything_due_at_once_when_we_do(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, "store", "other") as here:
        here.say(store=ACCEPTED, other=ACCEPTED)
        assert here.api.count("write") == 0
        async with running(here.statuses.run()):
            await here.until_written("store")
            await here.until_written("other")
        assert here.api.count("write") == 2


async def test_who_leads_next_writes_nothing_that_is_written(tmp_path: Path) -> None:
    async with scene(tmp_path, "store", "last") as here:
        async with running(here.statuses.run()):
            here.say(store=ACCEPTED)
            await here.until_written()
        here.tell("store")
        async with running(here.statuses.run()):
            here.say(store=ACCEPTED, last=ACCEPTED)
            await here.until_written("last")
        assert here.api.count("write") == 2


async def test_a_route_that_is_nobodys_is_left_without_a_status(tmp_path: Path) -> None:
    async with scene(tmp_path, "store", "bare") as here, running(here.statuses.run()):
        await here.api.put("bare", PLURAL)
        here.tell("bare")
        here.say(bare=Judged(RouteStatus(()), 1), store=ACCEPTED)
        await here.until_written("store")
        assert "status" not in here.api.objects[PLURAL, "shop", "bare"]


@pytest.mark.parametrize(("newest", "observed"), [(1, 1), (2, 2)])
async def test_what_was_judged_of_a_generation_is_kept_by_who_lags_only_if_there_is_that_generation(
    tmp_path: Path, newest: int, observed: int
) -> None:
    async with scene(tmp_path, "store", "last") as here, running(here.statuses.run()):
        entry = json.loads(merged(b"", ACCEPTED.status, Moment(NOW, 2)))["parents"][0]
        await here.api.put("store", PLURAL, generation=newest, status={"parents": [THEIRS, entry]})
        here.tell()
        here.say(store=ACCEPTED, last=ACCEPTED)
        await here.until_written("last")
        await here.api.until(lambda: _observed(here.entries()[1]) == observed)


def _observed(entry: Mapping[str, Json]) -> Json:
    """Return which generation the only condition of an entry speaks of."""
    return entry["conditions"][0]["observedGeneration"]  # type: ignore[call-overload, index]  # a list of conditions


@pytest.mark.parametrize("code", [403, 409, 422, 429, 500])
async def test_a_write_that_is_refused_is_tried_again(tmp_path: Path, code: int) -> None:
    async with scene(tmp_path, "store") as here, running(here.statuses.run()):
        here.api.fault("write", refusing(code), times=7)
        here.say(store=ACCEPTED)
        await here.until_written()
        assert here.api.faults == []


async def test_a_verdict_that_changes_before_our_own_write_is_told_is_written_on_top_of_it(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, "store") as here, running(here.statuses.run()):
        here.say(store=ACCEPTED)
        await here.until_written()
        here.say(store=judged(holds("Accepted"), holds("ResolvedRefs")))
        await here.api.until(lambda: here.api.count("write") == 2)
        writes = [json.loads(seen.body)["metadata"] for seen in here.api.requests if seen.sort == "write"]
        assert writes == [{"resourceVersion": "101"}, {"resourceVersion": "102"}]


async def test_an_object_that_is_gone_is_not_written_to(tmp_path: Path) -> None:
    async with scene(tmp_path, "store", "last") as here, running(here.statuses.run()):
        here.statuses.overhear(HTTPRoute, [Gone(ObjectName("shop", "store"))])
        here.say(store=ACCEPTED, last=ACCEPTED)
        await here.until_written("last")
        assert here.api.count("write") == 1
        assert here.entries("store") == [THEIRS]


async def test_of_objects_that_are_gone_nothing_is_left_whatever_became_of_their_writes(
    tmp_path: Path,
) -> None:
    names = [f"r{number}" for number in range(20)]
    async with scene(tmp_path, *names, "last") as here, running(here.statuses.run()):
        here.api.fault("write", refusing(500), times=15)
        for generation in (1, 2):
            here.say(**{name: judged(holds("Accepted"), generation=generation) for name in names})
        await here.until_written(names[-1])
        here.statuses.overhear(HTTPRoute, [Gone(ObjectName("shop", name)) for name in names])
        here.tell("last")
        here.say(last=ACCEPTED)
        await here.until_written("last")
        await here.api.until(lambda: not here.api.faults)
        async with asyncio.timeout(SOON):
            while (await here.wrote.get()).ref.name.name != "last":
                pass
        writer = here.statuses
        tables = (writer._seen, writer._failures, writer._due._since, writer._spacing._last)
        left = {ref.name.name for table in tables for ref in table}
        assert left <= {"last"}


async def test_of_kinds_that_get_no_status_nothing_is_kept(tmp_path: Path) -> None:
    async with scene(tmp_path) as here:
        secret = Secret(TracedMeta("a", "shop"))
        here.statuses.overhear(Secret, [Put(ObjectName("shop", "a"), "7", secret)])
        assert here.statuses._seen == {}


async def test_thousands_that_say_what_they_should_leave_others_their_turn_while_writes_are_under_way(
    tmp_path: Path,
) -> None:
    lacking = [f"lacking-{number}" for number in range(AT_ONCE - 1)]
    names = [f"store-{number}" for number in range(1_000)]
    async with scene(tmp_path, *lacking) as here:
        here.api.fault("write", mute, len(lacking))
        for name in names:
            await here.api.put(name, PLURAL, status={"parents": []})
            here.tell(name)
        async with running(here.statuses.run()):
            here.say(**dict.fromkeys(lacking, ACCEPTED))
            await here.api.until(lambda: here.api.count("write") == len(lacking))
            here.say(**dict.fromkeys(names, Judged(RouteStatus(()), 1)), **dict.fromkeys(lacking, ACCEPTED))
            due, most = len(names), 0
            while due > len(lacking):
                await asyncio.sleep(0)
                before, due = due, len(here.statuses._due._since)
                most = max(most, before - due)
    assert 0 < most <= AT_ONCE
