"""What the log says of what changed."""

import asyncio

from structlog.testing import capture_logs

from legation.announce import Announcer
from legation.manifests import Place, Problem
from legation.standing import Standing
from legation.turns import FEW
from xds_server.hub import Hub


def problem(number: int) -> Problem:
    return Problem(Place("a.yaml", number), f"wrong {number}")


async def test_thousands_of_findings_are_each_said_once_and_others_have_their_turn_meanwhile() -> None:
    standing, turns = Standing(Hub(lambda _: None), dict), 0
    announcer = Announcer(standing)
    standing.problems = tuple(map(problem, range(100 * FEW)))
    with capture_logs() as said:
        saying = asyncio.create_task(announcer.announce())
        await asyncio.sleep(0)
        again = asyncio.create_task(announcer.announce())  # while the first goes on
        while not saying.done():
            turns += 1
            await asyncio.sleep(0)
        await again
        standing.problems = ()
        await announcer.announce()
    worse, better = said[: 100 * FEW], said[100 * FEW :]
    assert len({each["where"] for each in worse}) == len(better) == 100 * FEW
    assert {each["event"].startswith("no longer") for each in worse} == {False}
    assert {each["event"].startswith("no longer") for each in better} == {True}
    assert turns >= 100
