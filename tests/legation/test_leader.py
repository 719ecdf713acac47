"""Of several candidates one leads, over real HTTP."""

import asyncio
from pathlib import Path

from k8s_watch.kind import Place
from legation.leader import Leader
from tests.k8s_watch.faults import refusing
from tests.k8s_watch.faulty_api import SOON, FaultyApi, Key
from tests.k8s_watch.listener import running, writing

LEASE = Place("example.com/v1", "leases", "infra", "legation")
KEY: Key = ("leases", "infra", "legation")


class Duty:
    """Something that only a leader does: it notes since when it was done, and until when."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def __call__(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


def holder(api: FaultyApi) -> str:
    spec = api.objects[KEY]["spec"]
    assert isinstance(spec, dict)
    return str(spec["holderIdentity"])


async def test_the_second_leads_once_the_first_has_let_go(tmp_path: Path) -> None:
    api, first, second = FaultyApi(), Duty(), Duty()
    async with writing(api, tmp_path) as writer:
        waiting = Leader(writer, LEASE, "b")
        async with asyncio.timeout(SOON):
            async with running(Leader(writer, LEASE, "a").run(first)):
                await first.begun.wait()
                assert holder(api) == "a"
                async with asyncio.TaskGroup() as tasks:
                    task = tasks.create_task(waiting.run(second))
                    await api.until(lambda: api.requests[-1].method == "GET")
                    assert not waiting.leads
                    task.cancel()
            assert first.ended.is_set()
            assert holder(api) == ""
            async with running(waiting.run(second)):
                await second.begun.wait()
                assert holder(api) == "b"
                assert waiting.leads


async def test_a_leader_whose_lease_was_taken_ends_its_duty_and_leaves_the_lease(tmp_path: Path) -> None:
    api, duty = FaultyApi(), Duty()
    async with writing(api, tmp_path) as writer, asyncio.timeout(SOON):
        async with running(Leader(writer, LEASE, "a").run(duty)):
            await duty.begun.wait()
            await api.put(
                "legation", "leases", "infra", spec={"holderIdentity": "b", "leaseDurationSeconds": 60}
            )
            await duty.ended.wait()
        assert holder(api) == "b"


async def test_a_candidate_lives_with_an_api_server_that_fails(tmp_path: Path) -> None:
    api, duty = FaultyApi(), Duty()
    api.fault("get", refusing(500))
    api.fault("write", refusing(409))
    async with writing(api, tmp_path) as writer, asyncio.timeout(SOON):
        async with running(Leader(writer, LEASE, "a").run(duty)):
            await duty.begun.wait()
        assert api.faults == []
        assert holder(api) == ""
