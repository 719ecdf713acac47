"""Asking, over real HTTP, of which releases the CRDs are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from k8s_watch.reader import Reader
from legation import crds
from legation.change import Stated
from legation.crds import CHANNEL, NAMES, VERSION, Crds
from tests.k8s_watch.faults import refusing, saying
from tests.k8s_watch.faulty_api import FaultyApi, serving
from tests.k8s_watch.listener import reached, running
from translator.rules.bundles import BUNDLES, Bundle, Bundles

TOLD = list[Stated[Bundles | None]]


async def there(api: FaultyApi, name: str, version: str | None, channel: str | None = None) -> None:
    """Have a CRD with or without the annotations."""
    await api.put(name, crds.PLURAL, "")
    metadata = api.objects[crds.PLURAL, "", name]["metadata"]
    assert isinstance(metadata, dict)
    said = {VERSION: version, CHANNEL: channel}
    metadata["annotations"] = {key: value for key, value in said.items() if value is not None}


@asynccontextmanager
async def asking(folder: Path, api: FaultyApi) -> AsyncIterator[tuple[Crds, TOLD]]:
    told: TOLD = []
    async with serving(api), reached(api, folder) as server:
        yield Crds(Reader(server), told.append), told


async def test_every_crd_of_ours_that_is_there_says_its_version_and_channel_in_its_metadata(
    tmp_path: Path,
) -> None:
    api = FaultyApi()
    await there(api, NAMES[0], "v1.7.0", "experimental")
    await there(api, NAMES[1], "v1.6.0")
    await there(api, NAMES[2], None)
    await there(api, "widgets.example.com", "v3")
    async with asking(tmp_path, api) as (asked, _):
        await asked.begin()
        assert asked.fact == Stated(
            BUNDLES, frozenset({Bundle("v1.7.0", "experimental"), Bundle("v1.6.0"), Bundle()})
        )
    assert [seen.path.rpartition("/")[2] for seen in api.requests] == list(NAMES)
    assert all("as=PartialObjectMetadata;" in seen.headers["accept"] for seen in api.requests)


@pytest.mark.parametrize("code", [401, 403])
async def test_where_we_may_not_ask_nothing_is_known(tmp_path: Path, code: int) -> None:
    api = FaultyApi()
    await there(api, NAMES[1], "v1.7.0")
    api.fault("get", refusing(code))
    async with asking(tmp_path, api) as (asked, _):
        await asked.begin()
        assert asked.fact == Stated(BUNDLES, None)
    assert api.count("get") == 1


async def test_a_bad_moment_is_waited_out(tmp_path: Path) -> None:
    api = FaultyApi()
    await there(api, NAMES[0], "v1.7.0")
    api.fault("get", refusing(503))
    api.fault("get", saying(b"<html>"))
    async with asking(tmp_path, api) as (asked, _):
        await asked.begin()
        assert asked.fact == Stated(BUNDLES, frozenset({Bundle("v1.7.0")}))


async def test_what_changes_later_is_told_and_a_bad_moment_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crds, "AGAIN", 0.01)
    api = FaultyApi()
    await there(api, NAMES[0], "v1.7.0")
    async with asking(tmp_path, api) as (asked, told):
        await asked.begin()
        async with running(asked.run()):
            api.fault("get", refusing(500), times=3)
            await api.until(lambda: not api.faults)
            begun = api.count("get")
            await api.until(lambda: api.count("get") > begun + len(NAMES))
            assert told == []
            await there(api, NAMES[0], "v1.8.0")
            begun = api.count("get")
            await api.until(lambda: api.count("get") > begun + 2 * len(NAMES))
        assert told == [Stated(BUNDLES, frozenset({Bundle("v1.8.0")}))]
