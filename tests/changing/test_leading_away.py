"""Who leads away from a backend may empty it in the same breath: no request finds it empty."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest
from msgspec import Struct

from tests.changing.kiosk import ALONE, Plane, bootstrap, xds_port
from tests.changing.replicas import api_serving, started
from tests.changing.shop import PLAIN, Visited
from tests.changing.stock import Stock
from tests.changing.visitor import Visitor
from tests.handshakes.backends import Speech, http_backend, speaks
from tests.handshakes.manifests import (
    SERVED_BY_US,
    Json,
    config_map,
    edge,
    endpoints,
    http_listener,
    policy,
    route,
    service,
)
from tests.handshakes.traffic import Answer, Traffic
from tests.legation.running import Legation, free_port, legation_up
from tests.link import linked
from tests.loopback import LOOPBACK
from tests.pki import Authority
from tests.real_envoy import running_envoy, until

pytestmark = pytest.mark.envoy

NAMES = ("old", "new")
WAY = "way.test"
PROVED = "street.internal"
TURNS = 16
PROVED_TURNS = 8
CHANGES, AGAIN = "policy changes with it", "comes again just then"
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

    put = partial(save, folder)
    await put(first)
    async with legation_up(folder):
        yield put


async def save(folder: Path, objects: Sequence[Json]) -> None:
    """Have these objects in a folder, all at once."""
    (folder / "new").write_text("---\n".join(json.dumps(each) + "\n" for each in objects))
    (folder / "new").rename(folder / "shop.yaml")


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
        self._witnesses: dict[str, Visitor] = {}
        self._port = port

    async def sees(self, name: str, answer: Answer) -> None:
        """Wait until a backend's own route answers so."""
        witness = self._witnesses.setdefault(name, _visitor(self._port, f"{name}.test"))

        async def is_answered() -> bool:
            return await witness.ask() == answer

        await until(is_answered, within=WITHIN)

    @property
    def has_lost(self) -> bool:
        """Say whether a visitor's connection ended that was meant to last."""
        return any(each.has_lost for each in self._visitors)

    @asynccontextmanager
    async def visited(self) -> AsyncIterator[None]:
        """Have visitors come until the block ends."""
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
        for name in NAMES:
            await street.sees(name, name)
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


class Provision(Struct, frozen=True):
    """A Service behind a policy: where its only backend is, and which TLS it must speak at least."""

    name: str
    number: int | None
    least: str = "1.2"

    def manifests(self, *, of_its_own: bool) -> Iterator[Json]:
        """Have it, with a route of its own or without."""
        roots = {"group": "", "kind": "ConfigMap", "name": "roots"}
        proof: Json = {"hostname": PROVED, "caCertificateRefs": [roots]}
        yield policy(self.name, proof, {"min-tls-version": self.least})
        yield from (service(self.name, {443: None}), *endpoints(self.name, 443, self.number))
        if of_its_own:
            yield route("HTTPRoute", self.name, [(self.name, 443)], hostnames=[f"{self.name}.test"])


class Row(Struct, frozen=True):
    """Services, of which each turn leads away from one and to the next, which no Envoy knows yet."""

    port: int
    roots: str
    numbers: Mapping[str, int]

    def provision(self, turn: int) -> Provision:
        """Return the Service of a turn as it is at first."""
        word = self.word(turn)
        return Provision(f"{word}-{turn}", self.numbers[word])

    def word(self, turn: int) -> str:
        """Return what it answers."""
        return NAMES[turn % len(NAMES)]

    def manifests(self, known: Provision, new: Provision | None = None) -> list[Json]:
        """Lead to the new Service, if there is one; the other keeps a route of its own."""
        way = route("HTTPRoute", "way", [((new or known).name, 443)], hostnames=[WAY])
        made = [SERVED_BY_US, edge(http_listener(self.port)), config_map("roots", self.roots), way]
        made += known.manifests(of_its_own=True)
        return [*made, *new.manifests(of_its_own=False)] if new else made


async def knows(running: Legation, name: str) -> None:
    """Wait until the control plane has taken up a policy, and all that came with it."""

    async def is_known() -> bool:
        return any(each.name.endswith(name) for each in (await running.overview()).policies)

    await until(is_known, within=WITHIN)


@asynccontextmanager
async def on_a_link(folder: Path) -> AsyncIterator[Plane]:
    """Have `legation up` watch a folder, and an Envoy reach it by a link."""
    async with (
        legation_up(folder, *ALONE) as running,
        linked(LOOPBACK, await xds_port(running)) as link,
        running_envoy(await bootstrap(link.port)),
    ):
        yield Plane(running, link)


@pytest.mark.parametrize("also", [(CHANGES,), (AGAIN,), (CHANGES, AGAIN)], ids=" and ".join)
async def test_nor_does_it_when_its_policy_changes_with_it_or_envoy_comes_again_just_then(
    also: Sequence[str], tmp_path: Path
) -> None:
    port, root = free_port(), Authority("root")
    street, put = Street(port), partial(save, tmp_path)
    async with AsyncExitStack() as stack:
        speeches = {word: speaks(root.issue(dns=[PROVED]), lasting=True, word=word) for word in NAMES}
        behind = {
            word: await stack.enter_async_context(http_backend(each)) for word, each in speeches.items()
        }
        row = Row(port, root.pem, {word: each.port for word, each in behind.items()})
        await put(row.manifests(row.provision(0)))
        plane = await stack.enter_async_context(on_a_link(tmp_path))
        await street.sees(row.provision(0).name, row.word(0))
        await stack.enter_async_context(street.visited())
        for turn in range(PROVED_TURNS):
            left, led_to = row.provision(turn), row.provision(turn + 1)
            street.traffic.expect(frozenset({row.word(turn + 1)}))
            if AGAIN in also:
                plane.link.cut()
            emptied = Provision(left.name, None, "1.3" if CHANGES in also else left.least)
            await put(row.manifests(emptied, led_to))
            await knows(plane.running, led_to.name)
            plane.link.mend()
            await street.traffic.agree()
            await street.sees(left.name, EMPTY)
            await put(row.manifests(led_to))
            await street.sees(led_to.name, row.word(turn + 1))
    assert street.traffic.surprises == []
    assert all(each.tap.cleartext == b"" for each in behind.values())
    assert not street.has_lost
