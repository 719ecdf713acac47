"""A rule of ours that does not end about one object: the alarm is raised, and the event loop goes on."""

import asyncio
import threading

import pytest
from structlog.testing import capture_logs

from legation.pump import Pump
from legation.telemetry.overtime import Overtime
from legation.workbench import Outcome, Workbench
from tests.looking import eventually
from tests.poison.tenants import bystander
from tests.poison.test_quarantine import put
from translator.rules import http_routes
from translator.world import World

SOON = 0.05
MOST = 60.0


async def test_a_translation_that_does_not_end_is_told_of_with_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends, taken = threading.Event(), list[Outcome]()
    good = vars(http_routes.rules)["__wrapped__"]

    def hanging(world: World, *names: object) -> object:
        assert ends.wait(MOST)
        return good(world, *names)

    monkeypatch.setattr(http_routes.rules, "__wrapped__", hanging)
    pump = Pump(Workbench(asks_envoys=False), (taken.append,))
    overtime = Overtime(lambda: pump.running, SOON)
    assert overtime.findings() == ()
    with capture_logs() as lines:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(each) for each in (pump.run(), overtime.run())]
            pump.put([put(each) for each in bystander()])
            await eventually(lambda: lines)
            [finding] = overtime.findings()
            [metric] = overtime.collect()
            ends.set()
            await eventually(lambda: taken)
            for each in running:
                each.cancel()
    [line] = [line for line in lines if line["event"] == "a translation does not end"]
    assert "test_hanging.test_a_translation" in line["at"]
    assert "running for" in finding.message
    assert [sample.value > SOON for sample in metric.samples] == [True]
    assert overtime.findings() == ()
