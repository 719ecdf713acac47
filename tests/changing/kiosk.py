"""A shop that needs little: one Gateway, two backends that a policy proves, and visitors that are counted."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct

from tests.changing.shop import PLAIN, Visited
from tests.changing.visitor import Visitor
from tests.handshakes.backends import Backend, http_backend, speaks
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
from tests.legation.running import Legation, free_port, legation_up, run
from tests.link import Link, linked
from tests.pki import Authority
from tests.real_envoy import until

NAMES = ("old", "new")
HTTPS = 443
HOST = "kiosk.internal"
LASTING, PASSING = 3, 1  # visitors that keep their connection, and that open one for each request
SOME = 40  # answers that show what holds now
OPENS_WITHIN = 120.0


class Kiosk:
    """What is sold, to whom, and how they were answered."""

    def __init__(self, folder: Path, behind: dict[str, Backend], authority: Authority) -> None:
        """Begin with the first of both backends."""
        self.port = free_port()
        self.traffic = Traffic(frozenset({NAMES[0]}))
        self.visitors = [
            Visitor(Visited(PLAIN, "kiosk.test", "/"), self.port) for _ in range(LASTING + PASSING)
        ]
        self._folder = folder
        self._behind = behind
        self._authority = authority
        self._leads_to = NAMES[0]
        self._save()

    def ways(self) -> Sequence[Callable[[], Awaitable[Answer]]]:
        """Return how each visitor asks: most keep their connection."""
        return [each.ask for each in self.visitors[PASSING:]] + [
            partial(_ask_in_passing, each) for each in self.visitors[:PASSING]
        ]

    @property
    def broken(self) -> int:
        """How many connections of visitors ended without a word."""
        return sum(each.broken.total() for each in self.visitors)

    @property
    def cleartext(self) -> list[bytes]:
        """What backends were told outside of TLS."""
        return [said for each in self._behind.values() if (said := bytes(each.tap.cleartext))]

    def lead_to(self, name: str) -> None:
        """Have the route lead to a backend; until it is reached, both are right."""
        self.traffic.enter(frozenset({self._leads_to, name}))
        self._leads_to = name
        self._save()

    async def reached(self) -> None:
        """Wait until nobody answers but whom the route leads to; from then on nobody else is right."""
        await self.answered_by(self._leads_to)
        self.traffic.enter(frozenset({self._leads_to}))

    async def answered_by(self, name: str) -> None:
        """Wait until nobody else answers."""
        others = [each for each in NAMES if each != name]
        before = None
        while before != (before := [self.traffic.answers.get(each) for each in others]):
            await self.traffic.more(SOME)

    @property
    def objects(self) -> list[Json]:
        """Everything as it is meant to be now: what others need comes before them."""
        made = [SERVED_BY_US, edge(http_listener(self.port)), config_map("roots", self._authority.pem)]
        for name, each in self._behind.items():
            roots = {"group": "", "kind": "ConfigMap", "name": "roots"}
            made.append(policy(name, {"hostname": HOST, "caCertificateRefs": [roots]}))
            made += [service(name, {HTTPS: None}), *endpoints(name, HTTPS, each.port)]
        return [*made, route("HTTPRoute", "kiosk", [(self._leads_to, HTTPS)])]

    def _save(self) -> None:
        (self._folder / "new").write_text("---\n".join(json.dumps(each) + "\n" for each in self.objects))
        (self._folder / "new").rename(self._folder / "kiosk.yaml")


class Plane(Struct, frozen=True):
    """A control plane for Envoys that somebody else runs, and the way by which they reach it."""

    running: Legation
    link: Link

    async def bootstrap(self) -> dict[str, object]:
        """Return what such an Envoy is started with."""
        return await bootstrap(self.link.port)


async def bootstrap(xds: int) -> dict[str, object]:
    """Have the command write what an Envoy is started with that finds its control plane at a port."""
    place = f"127.0.0.1:{xds}"
    code, out, err = await run("bootstrap", "-o", "json", "--gateway", "shop/edge", "--xds", place)
    assert code == 0, err
    made: dict[str, object] = json.loads(out)
    del made["admin"]  # the harness has its own
    return made


@asynccontextmanager
async def furnished(folder: Path) -> AsyncIterator[Kiosk]:
    """Have a kiosk that nobody serves yet."""
    authority = Authority("kiosk")
    async with AsyncExitStack() as stack:
        behind = {}
        for name in NAMES:
            speech = speaks(authority.issue(dns=[HOST]), lasting=True, word=name)
            behind[name] = await stack.enter_async_context(http_backend(speech))
        yield Kiosk(folder, behind, authority)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Kiosk, Plane]]:
    """Have a kiosk, and a control plane that follows it."""
    flags = ("--no-envoy", "--xds", "127.0.0.1:0")
    async with (
        furnished(folder) as kiosk,
        legation_up(folder, *flags) as running,
        linked("127.0.0.1", await xds_port(running)) as link,
    ):
        yield kiosk, Plane(running, link)


async def xds_port(running: Legation) -> int:
    """Wait for the port for Envoys, and return it."""
    _, _, port = (await running.logged("xDS port"))["address"].rpartition(":")
    return int(port)


@asynccontextmanager
async def visited(kiosk: Kiosk) -> AsyncIterator[None]:
    """Have visitors come until the block ends, and nothing go wrong: from when the first is served."""
    first = kiosk.visitors[0]
    await until(partial(_is_open, first), within=OPENS_WITHIN)
    async with asyncio.TaskGroup() as tasks:
        sending = [tasks.create_task(kiosk.traffic.send(ask)) for ask in kiosk.ways()]
        await kiosk.traffic.more(SOME)
        yield
        await kiosk.traffic.more(SOME)
        for task in sending:
            task.cancel()
    for each in kiosk.visitors:
        each.close()
    assert kiosk.traffic.surprises == []
    assert kiosk.cleartext == []


async def _ask_in_passing(visitor: Visitor) -> Answer:
    answer = await visitor.ask()
    visitor.close()
    return answer


async def _is_open(visitor: Visitor) -> bool:
    return await visitor.ask() == NAMES[0]
