"""What an Envoy's machine refused is offered again, after pauses that grow, while it is there."""

import asyncio

import pytest

from legation import second_tries
from legation.second_tries import FIRST_PAUSE, SecondTries
from tests.looking import eventually
from tests.xds_server.honest_envoy import GROUP, plain
from tests.xds_server.talk import Server
from xds_server.report import Envoy, Rejected
from xds_server.snapshot import LDS

TAKEN = "a: cannot bind '127.0.0.1:80': Address already in use"


def refused(listener: str = "a", *, group: str = GROUP, node: str = "envoy-1") -> Rejected:
    return Rejected(Envoy(group, node), LDS, {listener: "v1"}, TAKEN, isolated=True)


async def test_however_many_envoys_refuse_a_listener_that_is_one_try() -> None:
    tries = SecondTries()
    for number in range(20):
        tries.note(refused(node=f"envoy-{number}"))
    assert tries._pauses == {(GROUP, "a"): FIRST_PAUSE}


async def test_of_listeners_that_are_gone_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_tries, "FIRST_PAUSE", 0.01)
    server, tries = Server(), SecondTries()
    server.publish({LDS: {"a": plain("v1")}})
    for number in range(20):
        tries.note(refused(group=f"gone/g{number}"))
        tries.note(refused(f"gone-{number}"))
    tries.note(refused())
    async with asyncio.TaskGroup() as tasks:
        trying = tasks.create_task(tries.run(server.hub))
        await eventually(lambda: not tries._due)
        trying.cancel()
    assert tries._pauses.keys() == {(GROUP, "a")}


async def test_after_each_try_that_fails_the_pause_is_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_tries, "FIRST_PAUSE", 0.01)
    server, tries = Server(), SecondTries()
    server.publish({LDS: {"a": plain("v1"), "b": plain("v1")}})
    client = server.connect(whole=False)
    [bad] = client.want(LDS)
    client.take_all(client.nack(bad, TAKEN))
    pauses = list[float]()
    async with asyncio.TaskGroup() as tasks:
        trying = tasks.create_task(tries.run(server.hub))
        for _ in range(3):
            tries.note(refused())
            pauses.append(tries._pauses[GROUP, "a"])
            await eventually(lambda: not tries._due)
            [again] = client.hear()
            assert [each.name for each in again.entries] == ["a"]
            client.nack(again, TAKEN)
        trying.cancel()
    assert pauses == [0.01, 0.02, 0.04]
