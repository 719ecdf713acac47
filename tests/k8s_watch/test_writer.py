"""Writes over real HTTP: what others wrote survives, and what nobody may lose is refused."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from k8s_watch.answers import Failed, Item
from k8s_watch.kind import Place
from k8s_watch.writer import Happening, Missing, Status, Unchanged, Writer, Written
from tests.k8s_watch.faults import refusing, saying
from tests.k8s_watch.faulty_api import FaultyApi, Key, serving
from tests.k8s_watch.listener import reached

PLACE = Place("example.com/v1", "widgets", "shop", "a")
KEY: Key = ("widgets", "shop", "a")


@asynccontextmanager
async def writing(folder: Path, api: FaultyApi) -> AsyncIterator[Writer]:
    await api.put("a", status={"conditions": [1], "theirs": "kept", "old": 1})
    async with serving(api), reached(api, folder) as server:
        yield Writer(server, "legation.dev/gateway-controller")


def ours(found: Status) -> bytes:
    """Set our field and take one away, whatever else there is."""
    fields = json.loads(found.status)
    fields.pop("old", None)
    return json.dumps(fields | {"ours": len(fields)}).encode()


async def test_a_status_is_made_from_the_one_there_is(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(tmp_path, api) as writer:
        assert await writer.write_status(PLACE, ours) == Written("102", 1)
    assert api.objects[KEY]["status"] == {"conditions": [1], "theirs": "kept", "ours": 2}
    sent = json.loads(api.requests[-1].body)
    assert sent == {"metadata": {"resourceVersion": "101"}, "status": {"old": None, "ours": 2}}
    assert api.requests[-1].path.endswith("/widgets/a/status")


async def test_what_is_known_already_saves_a_reading(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(tmp_path, api) as writer:
        known = Status("101", json.dumps(api.objects[KEY]["status"]).encode())
        assert await writer.write_status(PLACE, ours, known) == Written("102", 1)
    assert [seen.method for seen in api.requests] == ["PATCH"]


async def test_a_conflict_is_solved_by_making_the_status_anew(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(tmp_path, api) as writer:
        known = Status("101", b"{}")
        await api.put("a", status={"theirs": "newer"})
        assert await writer.write_status(PLACE, ours, known) == Written("103", 1)
    assert api.objects[KEY]["status"] == {"theirs": "newer", "ours": 1}
    assert [seen.method for seen in api.requests] == ["PATCH", "GET", "PATCH"]


async def test_a_status_is_made_with_the_generation_beside_it(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(tmp_path, api) as writer:
        await api.put("a", generation=7, status={})
        made = await writer.write_status(PLACE, lambda found: b'{"of":%d}' % found.generation)
    assert isinstance(made, Written)
    assert api.objects[KEY]["status"] == {"of": 7}


async def test_a_conflict_that_never_ends_is_given_up(tmp_path: Path) -> None:
    api = FaultyApi()
    api.fail("write", refusing(409))
    async with writing(tmp_path, api) as writer:
        outcome = await writer.write_status(PLACE, ours)
    assert isinstance(outcome, Failed)
    assert outcome.code == 409
    assert api.count("write") == 5


async def test_nothing_is_sent_where_nothing_differs(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(tmp_path, api) as writer:
        assert await writer.write_status(PLACE, lambda found: found.status) == Unchanged()
    assert api.count("write") == 0


async def test_an_object_without_a_status_is_given_one(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(tmp_path, api) as writer:
        await api.put("a")
        assert await writer.write_status(PLACE, ours) == Written("103", 1)
        await api.put("a")
        assert await writer.write_status(PLACE, lambda _: b'{"ours":1}', Status("104", b"")) == Written(
            "105", 1
        )


@pytest.mark.parametrize("known", [None, Status("1", b"{}")])
async def test_an_object_that_is_not_there_is_missing(tmp_path: Path, known: Status | None) -> None:
    async with writing(tmp_path, FaultyApi()) as writer:
        nowhere = Place("example.com/v1", "widgets", "shop", "nowhere")
        assert await writer.write_status(nowhere, ours, known) == Missing()


@pytest.mark.parametrize("sort", ["get", "write"])
@pytest.mark.parametrize("code", [403, 422, 429, 500])
async def test_a_refusal_is_handed_on(tmp_path: Path, sort: str, code: int) -> None:
    api = FaultyApi()
    api.fault(sort, refusing(code, "because", retry_after="7"))
    async with writing(tmp_path, api) as writer:
        assert await writer.write_status(PLACE, ours) == Failed(code, "because", retry_after=7.0)


async def test_an_answer_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    api = FaultyApi()
    api.fault("get", saying(b"<html>"))
    async with writing(tmp_path, api) as writer:
        outcome = await writer.write_status(PLACE, ours)
    assert isinstance(outcome, Failed)
    assert outcome.code == 0


async def test_an_event_tells_of_an_object_within_what_the_server_takes(tmp_path: Path) -> None:
    api = FaultyApi()
    happening = Happening(
        PLACE, "Widget", "uid-1", "Warning", "VerificationOff", "Translate", "\u00e4" * 2000
    )
    async with writing(tmp_path, api) as writer:
        assert isinstance(await writer.announce(happening), Written)
    sent = json.loads(api.requests[-1].body)
    assert api.requests[-1].path == "/apis/events.k8s.io/v1/namespaces/shop/events"
    assert sent["regarding"]["uid"] == "uid-1"
    assert sent["note"] == "\u00e4" * 512
    assert sent["reportingController"] == "legation.dev/gateway-controller"
    assert sent["metadata"]["name"].startswith("a.")


async def test_an_event_of_an_object_without_a_namespace_goes_to_default(tmp_path: Path) -> None:
    api = FaultyApi()
    place = Place("example.com/v1", "widgetclasses", "", "edge")
    async with writing(tmp_path, api) as writer:
        await writer.announce(Happening(place, "WidgetClass", "", "Normal", "Fine", "Look", "well"))
    assert api.requests[-1].path == "/apis/events.k8s.io/v1/namespaces/default/events"


async def test_what_happens_again_is_counted_in_its_event_and_what_is_told_once_is_not(
    tmp_path: Path,
) -> None:
    api = FaultyApi()
    often = Happening(PLACE, "Widget", "uid-1", "Warning", "Refused", "Translate", "why")
    once = replace(often, reason="Bug", once=True)
    async with writing(tmp_path, api) as writer:
        for _ in range(3):
            assert isinstance(await writer.announce(often), Written)
        assert isinstance(await writer.announce(once), Written)
        assert await writer.announce(once) == Unchanged()
    told = {key[2]: thing for key, thing in api.objects.items() if key[0] == "events"}
    counts = [thing["series"]["count"] for thing in told.values() if "series" in thing]  # type: ignore[call-overload, index]  # an Event's own
    assert (len(told), counts) == (2, [3])


async def test_an_event_has_a_name_that_the_server_takes_however_long_the_object_has(tmp_path: Path) -> None:
    api = FaultyApi()
    place = replace(PLACE, name="a" * 235 + "-" + "b" * 17)
    async with writing(tmp_path, api) as writer:
        await writer.announce(Happening(place, "Widget", "", "Normal", "Fine", "Look", "well"))
    name = json.loads(api.requests[-1].body)["metadata"]["name"]
    assert re.fullmatch(r"a{235}\.[0-9a-f]{16}", name)


async def test_a_manifest_is_applied_under_our_name(tmp_path: Path) -> None:
    api = FaultyApi()
    place = Place("example.com/v1", "widgets", "shop", "new")
    async with writing(tmp_path, api) as writer:
        assert await writer.apply(place, b'{"metadata":{"name":"new"},"size":4}') == Written("102", 1)
    assert api.objects["widgets", "shop", "new"]["size"] == 4
    sent = api.requests[-1]
    assert sent.headers["content-type"] == "application/apply-patch+yaml"
    assert sent.query == {"fieldManager": "legation.dev/gateway-controller", "force": "true"}


async def test_an_object_is_created_read_replaced_and_deleted(tmp_path: Path) -> None:
    api = FaultyApi()
    place = Place("example.com/v1", "widgets", "shop", "lease")
    async with writing(tmp_path, api) as writer:
        assert await writer.read(place) == Missing()
        assert await writer.create(place, b'{"metadata":{"name":"lease"},"holder":"a"}') == Written("102", 1)
        found = await writer.read(place)
        assert isinstance(found, Item)
        stale = b'{"metadata":{"name":"lease","resourceVersion":"1"},"holder":"b"}'
        outcome = await writer.replace(place, stale)
        assert isinstance(outcome, Failed)
        assert outcome.code == 409
        fresh = stale.replace(b'"1"', f'"{found.version}"'.encode())
        assert await writer.replace(place, fresh) == Written("103", 2)
        assert isinstance(await writer.delete(place, uid="uid-1"), Written)
        assert await writer.delete(place) == Missing()
    deletion = next(json.loads(seen.body) for seen in api.requests if seen.method == "DELETE")
    assert deletion == {"propagationPolicy": "Background", "preconditions": {"uid": "uid-1"}}
