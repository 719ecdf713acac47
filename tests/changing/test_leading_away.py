"""Who leads away from a backend may empty it in the same breath: no request finds it empty."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from tests.changing.kiosk import bootstrap
from tests.changing.replicas import api_serving, started
from tests.changing.shop import PLAIN, Visited
from tests.changing.stock import Stock
from tests.changing.visitor import Visitor
from tests.handshakes.backends import Speech, http_backend
from tests.handshakes.manifests import SERVED_BY_US, Json, edge, endpoints, http_listener, route, service
from tests.handshakes.traffic import Answer, Traffic
from tests.legation.running import free_port, legation_up
from tests.loopback import LOOPBACK
from tests.real_envoy import running_envoy, until

pytestmark = pytest.mark.envoy

NAMES = ("old", "new")
WAY = "way.test"
TURNS = 16
VISITORS = 8
WITHIN = 60.0
EMPTY = 503

Put = Callable[[Sequence[Json]], Awaitable[None]]
Told = Callable[[Path, Sequence[Json]], AbstractAsyncContextManager[Put]]


def manifests(port: int, behind: Mapping[str, int], to: str, empty: str = "") -> list[Json]:
    """Lead somewhere, as routes of their own lead to each backend all the time; one may be empty."""
    made = [SERVED_BY_US, edge(http_listener(port)), route("HTTPRoute", "way", [(to, 80)], hostnames=[WAY])]
    for name, number in behind.items():
        made.append(route("HTTPRoute", name, [(name, 80)], hostnames=[f"{name}.test"]))
        made += [service(name, {80: None}), *endpoints(name, 80, None if name == empty else number)]
    return made


@asynccontextmanager
async def by_folder(folder: Path, first: Sequence[Json]) -> AsyncIterator[Put]:
    """Have `legation up` watch one file."""

    async def put(objects: Sequence[Json]) -> None:
        (folder / "new").write_text("---\n".join(json.dumps(each) + "\n" for each in objects))
        (folder / "new").rename(folder / "shop.yaml")

    await put(first)
    async with legation_up(folder):
        yield put


@asynccontextmanager
async def by_api_server(folder: Path, first: Sequence[Json]) -> AsyncIterator[Put]:
    """Have `legation run` told of routes before endpoints, by watches of which each is late on its own."""
    async with api_serving() as api, started(api.server.port, folder) as replica:
        stock = Stock(api)
        await stock.hold(first)
        api.server.lags = Random(7)  # noqa: S311  # not for secrets
        async with running_envoy(await bootstrap(replica.port)):
            yield stock.hold


class Street:
    """Visitors of the way, and a witness at each backend's own route."""

    def __init__(self, port: int) -> None:
        """Have nobody come yet."""
        self.traffic = Traffic(frozenset({NAMES[0]}))
        self._visitors = [_visitor(port, WAY) for _ in range(VISITORS)]
        self._witnesses = {name: _visitor(port, f"{name}.test") for name in NAMES}

    async def sees(self, name: str, answer: Answer) -> None:
        """Wait until a backend's own route answers so."""

        async def is_answered() -> bool:
            return await self._witnesses[name].ask() == answer

        await until(is_answered, within=WITHIN)

    @property
    def has_lost(self) -> bool:
        """Say whether a visitor's connection ended that was meant to last."""
        return any(each.has_lost for each in self._visitors)

    @asynccontextmanager
    async def visited(self) -> AsyncIterator[None]:
        """Have visitors come until the block ends."""
        for name in NAMES:
            await self.sees(name, name)
        async with asyncio.TaskGroup() as tasks:
            sending = [tasks.create_task(self.traffic.send(each.ask)) for each in self._visitors]
            yield
            for task in sending:
                task.cancel()
        for visitor in (*self._visitors, *self._witnesses.values()):
            visitor.close()


def _visitor(port: int, host: str) -> Visitor:
    return Visitor(Visited(PLAIN, host, "/"), (LOOPBACK, port))


@pytest.mark.parametrize("told", [by_folder, by_api_server], ids=["up", "run"])
async def test_a_backend_that_is_emptied_when_a_route_is_led_away_fails_no_request_of_that_route(
    told: Told, tmp_path: Path
) -> None:
    port, (left, led_to) = free_port(), NAMES
    street = Street(port)
    async with AsyncExitStack() as stack:
        speeches = {name: http_backend(Speech(lasting=True, word=name)) for name in NAMES}
        behind = {name: (await stack.enter_async_context(each)).port for name, each in speeches.items()}
        shop = partial(manifests, port, behind)
        put = await stack.enter_async_context(told(tmp_path, shop(left)))
        await stack.enter_async_context(street.visited())
        for turn in range(TURNS):
            street.traffic.expect(frozenset({led_to}))
            if turn % 2:
                await put(shop(led_to))
            await put(shop(led_to, empty=left))
            await street.traffic.agree()
            await street.sees(left, EMPTY)
            await put(shop(led_to))
            await street.sees(left, left)
            left, led_to = led_to, left
    assert street.traffic.surprises == []
    assert not street.has_lost
