"""`legation up` and a real Envoy, while a shop is changed in every way, a thousand times in a row."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import pytest
from msgspec import structs

from tests.changing.changes import ALL, CERTIFICATES, CHOICES
from tests.changing.shop import (
    NAMES,
    PLAIN,
    SECURE,
    SPARE,
    TELLS,
    Grounds,
    Pod,
    Rule,
    Shop,
    Store,
    Visited,
    right,
    written,
)
from tests.changing.visitor import Visitor
from tests.handshakes.backends import Backend, http_backend, speaks
from tests.handshakes.traffic import Answers, Traffic
from tests.legation.running import Legation, free_port, legation_up
from tests.pki import Authority
from tests.real_envoy import until

pytestmark = pytest.mark.envoy

CHANGES = 1000
BURST = 24  # changes at most between two looks at what holds
LULL = 0.05  # seconds at most between two changes
SETTLES_WITHIN = 180.0
SETTLED = 3  # answers at each place, after which the thread that gave them knows what Envoy has accepted
SECURE_HOSTS = CHOICES.hosts[:2]
START = Shop(
    stores={f"s-{n}": Store((f"p{n}",), frozenset(CHOICES.authorities)) for n in range(3)},
    sites={host: (Rule("/", ((f"s-{n % 3}", 1),)),) for n, host in enumerate(CHOICES.hosts[:4])},
    names=(SECURE_HOSTS[0], SECURE_HOSTS[1]),
)
VISITED = (
    *(Visited(PLAIN, host, path) for host in CHOICES.hosts for path in ("/", "/cart")),
    *(Visited(SECURE, host, "/cart/pay") for host in SECURE_HOSTS),
)


class Scene:
    """A shop that is open."""

    def __init__(self, folder: Path, grounds: Grounds, running: Legation, asker: Visitor) -> None:
        """Begin as the folder says."""
        self.shop = START
        self.traffics = {visited: Traffic(right(START, grounds.pods, visited)) for visited in VISITED}
        self._folder = folder
        self._grounds = grounds
        self._running = running
        self._asker = asker
        self._possible = {visited: self._right(visited) for visited in VISITED}

    def make(self, shop: Shop) -> None:
        """Save another state of the shop; until it has settled, visitors may find those before it, too."""
        self.shop = structs.replace(shop, number=shop.number + 1)
        for visited, traffic in self.traffics.items():
            self._possible[visited] |= self._right(visited)
            traffic.enter(self._possible[visited])
        save(self._folder, self.shop, self._grounds)

    async def begin(self) -> None:
        """Wait until Envoy has what the folder says."""
        await until(self._is_told, within=SETTLES_WITHIN)
        await until(self._is_held, within=SETTLES_WITHIN)

    async def settle(self) -> None:
        """Wait until Envoy and each of its threads has all of it; from then on nothing else is right."""
        await self.begin()
        async with asyncio.timeout(SETTLES_WITHIN), asyncio.TaskGroup() as waiting:
            for traffic in self.traffics.values():
                waiting.create_task(traffic.more(SETTLED))
        async with asyncio.timeout(SETTLES_WITHIN):
            for traffic in self.traffics.values():
                await traffic.quiet()
        for visited, traffic in self.traffics.items():
            self._possible[visited] = self._right(visited)
            traffic.enter(self._possible[visited])

    async def _is_told(self) -> bool:
        return (await self._asker.location()).endswith(f"/{self.shop.number}")

    async def _is_held(self) -> bool:
        [gateway] = (await self._running.overview()).gateways
        return bool(gateway.envoys) and all(envoy.current for envoy in gateway.envoys)

    def _right(self, visited: Visited) -> Answers:
        return right(self.shop, self._grounds.pods, visited)


def save(folder: Path, shop: Shop, grounds: Grounds) -> None:
    """Replace the manifests at once, as editors do."""
    (folder / "shop.new").write_text(written(shop, grounds))
    (folder / "shop.new").rename(folder / "shop.yaml")


@asynccontextmanager
async def backends(roots: Mapping[str, Authority]) -> AsyncIterator[dict[str, tuple[Pod, Backend]]]:
    """Run every pod."""
    async with AsyncExitStack() as stack:
        found = {}
        for number, name in enumerate(CHOICES.pods):
            authority, lasting = CHOICES.authorities[number % 2], number < len(CHOICES.pods) // 2
            speech = speaks(roots[authority].issue(dns=NAMES), lasting=lasting, word=name)
            backend = await stack.enter_async_context(http_backend(speech))
            found[name] = Pod(name, backend.port, authority, lasting), backend
        yield found


@asynccontextmanager
async def opened(
    folder: Path, grounds: Grounds, clients: ssl.SSLContext
) -> AsyncIterator[tuple[Scene, list[Visitor]]]:
    """Open the shop, with visitors at all places."""
    save(folder, START, grounds)
    async with legation_up(folder) as running, AsyncExitStack() as stack:
        await running.logged("programmed")
        asker = Visitor(Visited(PLAIN, TELLS, "/"), grounds.ports[PLAIN])
        stack.callback(asker.close)
        scene = Scene(folder, grounds, running, asker)
        await scene.begin()
        visitors = []
        for visited in VISITED:
            tls = clients if visited.port == SECURE else None
            visitors.append(visitor := Visitor(visited, grounds.ports[visited.port], tls))
            stack.callback(visitor.close)
        async with asyncio.TaskGroup() as tasks:
            sending = [tasks.create_task(scene.traffics[each.visited].send(each.ask)) for each in visitors]
            yield scene, visitors
            for task in sending:
                task.cancel()


async def test_no_request_fails_in_a_thousand_changes_but_where_they_say_so(tmp_path: Path) -> None:
    chance = Random(20)  # noqa: S311  not for secrets
    roots = {name: Authority(name) for name in CHOICES.authorities}
    public = Authority("public")
    certificates = tuple(public.issue(dns=SECURE_HOSTS) for _ in range(CERTIFICATES))
    clients = ssl.create_default_context(cadata=public.pem)
    ports = {name: free_port() for name in (PLAIN, SECURE, SPARE)}
    made: Counter[str] = Counter()
    async with backends(roots) as running:
        grounds = Grounds({name: pod for name, (pod, _) in running.items()}, roots, certificates, ports)
        async with opened(tmp_path, grounds, clients) as (scene, visitors):
            while made.total() < CHANGES:
                for change in chance.choices(ALL, k=chance.randint(1, BURST)):
                    scene.make(change(scene.shop, chance))
                    made[change.__name__] += 1
                    await asyncio.sleep(LULL * chance.random())
                await scene.settle()
                surprises = {v: t.surprises for v, t in scene.traffics.items() if t.surprises}
                assert not surprises, (made.total(), surprises)
        tell(made, list(scene.traffics.values()), visitors)
        assert len(made) == len(ALL), "each change was made"
        assert not any(bytes(backend.tap.cleartext) for _, backend in running.values())
    closed = {v.visited: v.broken for v in visitors if v.broken}
    assert not {visited for visited in closed if visited.port == PLAIN}, closed


def tell(made: Counter[str], traffics: Sequence[Traffic], visitors: Sequence[Visitor]) -> None:
    """Print what was measured."""
    answers = Counter[object]()
    for traffic in traffics:
        answers.update(traffic.answers)
    broken = sum((visitor.broken for visitor in visitors), Counter[str]())
    print(f"{made.total()} changes, {answers.total()} requests: {dict(answers)}, closed: {dict(broken)}")  # noqa: T201  # it is asked for
