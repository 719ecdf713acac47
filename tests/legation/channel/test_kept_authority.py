"""The authority's Secret: who comes first makes it, everybody believes it, and faults lose nothing."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from k8s_watch.writer import Writer
from legation.channel.authority import server, vouches
from legation.channel.identity_secrets import roots_of
from legation.channel.kept_authority import KeptAuthority
from tests.k8s_watch.faults import refusing
from tests.k8s_watch.faulty_api import SOON, FaultyApi, Key
from tests.k8s_watch.listener import writing
from translator.names import Name
from translator.objects.secret import Secret

NAME = Name("legation-system", "legation-authority")
KEY: Key = ("secrets", *NAME)
SERVER = "legation.legation-system.svc"


class Told:
    """How often other roots were believed."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


def authority(writer: Writer, told: Told | None = None) -> KeptAuthority:
    return KeptAuthority(writer, NAME, server([SERVER]), told or Told())


def kept(api: FaultyApi) -> Secret:
    return msgspec.convert(api.objects[KEY], Secret)


async def test_all_believe_what_the_first_has_made(tmp_path: Path) -> None:
    api, told = FaultyApi(), Told()
    async with writing(api, tmp_path) as writer, asyncio.timeout(SOON):
        first, second = authority(writer, told), authority(writer)
        await asyncio.gather(first.open(), second.open())
        assert first.roots == second.roots == roots_of(kept(api))
        assert first.proof().client_roots == second.proof().client_roots
        assert first.proof().key != second.proof().key, "each proves itself by a key of its own"
        await first.open()
        assert told.times == 1
        assert api.revision == 101, "nothing was written twice"


async def test_a_replica_proves_its_service_by_the_root(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(api, tmp_path) as writer, asyncio.timeout(SOON):
        ours = authority(writer)
        await ours.open()
        leaf = ours._leaf  # what a handshake shows
        assert leaf is not None
        assert leaf.names == {SERVER}
        assert vouches(ours.roots[0], leaf)


async def test_a_secret_that_was_deleted_is_made_again_of_what_is_believed(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(api, tmp_path) as writer, asyncio.timeout(SOON):
        ours = authority(writer)
        await ours.open()
        believed = ours.roots
        await api.delete(NAME.name, "secrets", NAME.namespace)
        await ours.open()
        assert ours.roots == believed == roots_of(kept(api))


async def test_what_somebody_broke_is_mended(tmp_path: Path) -> None:
    api = FaultyApi()
    async with writing(api, tmp_path) as writer, asyncio.timeout(SOON):
        await api.put(NAME.name, "secrets", NAME.namespace, data={"root-0.crt": "eA=="})
        ours = authority(writer)
        await ours.open()
        assert roots_of(kept(api)) == ours.roots
        assert len(ours.roots) == 1


async def test_another_authority_is_believed_when_the_secret_holds_one(tmp_path: Path) -> None:
    api, other, told = FaultyApi(), FaultyApi(), Told()
    (tmp_path / "other").mkdir()
    async with (
        writing(api, tmp_path) as writer,
        writing(other, tmp_path / "other") as elsewhere,
        asyncio.timeout(SOON),
    ):
        ours, theirs = authority(writer, told), authority(elsewhere)
        await asyncio.gather(ours.open(), theirs.open())
        before = ours.proof()
        await api.put(NAME.name, "secrets", NAME.namespace, data=other.objects[KEY]["data"])
        await ours.open()
        assert ours.roots == theirs.roots
        assert ours.proof().chain != before.chain
        assert told.times == 2


@pytest.mark.parametrize("sort", ["get", "write"])
async def test_an_api_server_that_fails_is_asked_again(tmp_path: Path, sort: str) -> None:
    api = FaultyApi()
    async with writing(api, tmp_path) as writer, asyncio.timeout(SOON):
        api.fault(sort, refusing(500), times=2)
        ours = authority(writer)
        await ours.open()
        assert roots_of(kept(api)) == ours.roots
