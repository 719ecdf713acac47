"""Who asks the Gateway: for routes that are new, and while endpoints are replaced."""

import asyncio
from collections.abc import Awaitable, Mapping
from time import monotonic
from typing import NamedTuple, TypeVar

from bench.cluster.manifests import route, service
from bench.cluster.scene import Scene
from bench.cluster.wanted import GIVEN_UP
from tests.real_envoy import until

T = TypeVar("T")

FOUND, NOT_FOUND = 200, 404
PACE = 0.003  # seconds between two questions, so that whoever is asked has the processors
WATCHED = 0.2  # seconds for which a new route must go on answering rightly
CHANGES = 10.0  # of endpoints, each second
CHURNED = service(0)
ASKED = "r0.test"  # whose route leads there


class Probed(NamedTuple):
    """New routes, one after the other."""

    took: tuple[float, ...]  # seconds from the API's answer to the first 200
    before: int  # answers before that which were neither 404 nor 200
    after: int  # answers after it that were not 200


class Churned(NamedTuple):
    """What became of endpoints that were replaced."""

    seen: tuple[
        float, ...
    ]  # seconds from the API's answer to the first request at this endpoint, or a newer one
    failed: int
    asked: int


async def probed(scene: Scene, count: int) -> Probed:
    """Have so many new routes, each alone."""
    took, before, after = [], 0, 0
    for number in range(count):
        seconds, early, late = await _probe(scene, f"probe-{number}")
        took.append(seconds)
        before, after = before + early, after + late
    return Probed(tuple(took), before, after)


async def _probe(scene: Scene, name: str) -> tuple[float, int, int]:
    """Create a route and take it away; say how long its first 200 took, what was wrong before and after."""
    host = f"{name}.test"
    made = route(name, host, CHURNED)
    await scene.put(made)
    began = monotonic()
    before = await _until(scene, host, FOUND, NOT_FOUND)
    took, after = monotonic() - began, 0
    while monotonic() < began + took + WATCHED:
        after += await scene.answer(host) != FOUND
        await asyncio.sleep(PACE)
    await scene.delete(made)
    await _until(scene, host, NOT_FOUND, FOUND)
    return took, before, after


async def found(scene: Scene, host: str) -> None:
    """Wait until a host is there."""

    async def answered() -> bool:
        return await scene.answer(host) == FOUND

    await until(answered, within=GIVEN_UP)


async def _until(scene: Scene, host: str, wanted: int, expected: int) -> int:
    """Ask until the answer is the one that is wanted; count those that were not even expected."""
    began, wrong = monotonic(), 0
    while (status := await scene.answer(host)) != wanted:
        wrong += status != expected
        assert monotonic() < began + GIVEN_UP, f"{host} still answers {status}"
        await asyncio.sleep(PACE)
    return wrong


async def churned(scene: Scene, meanwhile: Awaitable[T]) -> tuple[Churned, T]:
    """Replace an endpoint again and again while something happens, and until the last one is asked."""
    put: dict[str, float] = {}
    answers: list[int] = []
    enough, over = asyncio.Event(), asyncio.Event()
    scene.backends.asked.clear()
    async with asyncio.TaskGroup() as tasks:
        replacing = tasks.create_task(_replace(scene, put, enough))
        tasks.create_task(_ask(scene, answers, over))
        happened = await meanwhile
        enough.set()
        await replacing
        await _last_seen(scene, put)
        over.set()
    failed = sum(status != FOUND for status in answers)
    return Churned(seen(put, scene.backends.asked), failed, len(answers)), happened


async def _replace(scene: Scene, put: dict[str, float], enough: asyncio.Event) -> None:
    began = monotonic()
    while not enough.is_set():
        address, when = await scene.replace(CHURNED)
        put[address] = when
        await asyncio.sleep(max(0.0, began + len(put) / CHANGES - monotonic()))


async def _ask(scene: Scene, answers: list[int], over: asyncio.Event) -> None:
    while not over.is_set():
        answers.append(await scene.answer(ASKED))
        await asyncio.sleep(PACE)


async def _last_seen(scene: Scene, put: Mapping[str, float]) -> None:
    """Wait until the endpoint that came last is asked."""
    newest = list(put)[-1]

    async def asked() -> bool:
        return newest in scene.backends.asked

    await until(asked, within=GIVEN_UP)


def seen(put: dict[str, float], asked: Mapping[str, float]) -> tuple[float, ...]:
    """Give how long it took from each change, in the order they were made, until it or a newer one was seen.

    An endpoint that was replaced before anybody asked it is as good as seen when the next one is; a request
    can reach one even before the API has answered.
    """
    took, earliest = [], float("inf")
    for address in reversed(put):
        earliest = min(earliest, asked.get(address, earliest))
        took.append(max(0.0, earliest - put[address]))
    return tuple(reversed(took))
