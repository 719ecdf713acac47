"""A shop that is open and changes, wherever it is, with visitors at all its places who are answered right."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from random import Random
from typing import Protocol

from msgspec import Struct, structs

from tests.changing.changes import ALL, CERTIFICATES, CHOICES, Change, exchange_listeners
from tests.changing.shop import (
    ASIDE,
    FAILS,
    NAMES,
    PLAIN,
    SECURE,
    SPARE,
    TELLS,
    UNAVAILABLE,
    Grounds,
    Judge,
    Pod,
    Rule,
    Shop,
    Store,
    Visited,
    right,
    sold,
)
from tests.changing.told import told
from tests.changing.visitor import Visitor
from tests.handshakes.backends import Backend, http_backend, speaks
from tests.handshakes.traffic import Answers, Traffic
from tests.loopback import LOOPBACK
from tests.pki import Authority, Issued
from tests.real_envoy import until

BURST = 24  # changes at most between two looks at what holds
LULL = 0.05  # seconds at most between two changes
SETTLES_WITHIN = 180.0
SETTLED = 3  # answers at each place, after which the thread that gave them knows what Envoy has accepted
DRAWS = 30  # of one kind of change, to find one that Envoys are told of, and that nobody notices
SECURE_HOSTS = CHOICES.hosts[:2]
START = Shop(
    stores={
        f"s-{n}": Store((f"p{n}",), frozenset(CHOICES.authorities)) for n in range(4)
    },  # nobody leads to the last one yet
    sites={
        host: (Rule("/", ((f"s-{n % 3}", 1),)), Rule("/cart", ((f"s-{n % 3}", 1),)))
        for n, host in enumerate(CHOICES.hosts[:4])
    },
    names=(SECURE_HOSTS[0], SECURE_HOSTS[1]),
)
HIRED = tuple(
    Pod(name, port=0, authority=CHOICES.authorities[number % 2], lasting=number < len(CHOICES.pods) // 2)
    for number, name in enumerate(CHOICES.pods)
)  # as they are before they run
VISITED = (
    *(Visited(PLAIN, host, path) for host in CHOICES.hosts for path in ("/", "/cart")),
    *(Visited(SECURE, host, "/cart/pay") for host in SECURE_HOSTS),
)


class Behind(Struct, frozen=True):
    """What visitors see nothing of: the pods, and who vouches for whom."""

    running: Mapping[str, Backend]
    grounds: Grounds
    clients: ssl.SSLContext

    def silent(self) -> bool:
        """Say whether no pod was told anything outside of TLS."""
        return not any(bytes(each.tap.cleartext) for each in self.running.values())


class Site(Protocol):
    """Where a shop is open."""

    @property
    def doors(self) -> Sequence[str]:
        """The address of each of its Envoys."""

    async def save(self, shop: Shop) -> None:
        """Have everything as it is in a shop."""

    async def tidy(self) -> None:
        """Take away what nobody leads to any more."""

    async def is_held(self) -> bool:
        """Say whether each of its Envoys has all that the control plane knows."""


class Scene:
    """A shop that is open."""

    def __init__(self, site: Site, behind: Behind, judge: Judge) -> None:
        """Begin with a shop that was saved; with `sold`, nobody finds an earlier state after a later one."""
        self.shop = START
        self.made: Counter[str] = Counter()
        self.visitors: list[Visitor] = []
        self.traffics = {
            each: Traffic(judge(START, behind.grounds.pods, each), in_order=judge is sold) for each in VISITED
        }
        self._past = [START]  # since it has settled last
        self._site = site
        self._behind = behind
        self._judge = judge

    async def make(self, change: Change, chance: Random) -> None:
        """Make a change; until it has settled, visitors may find those before it, too."""
        await self._make(change, chance, lambda _: True)

    async def make_unnoticed(self, change: Change, chance: Random) -> None:
        """Make a change after which nobody has to fail, if there is one of that kind just now."""
        await self._make(change, chance, lambda shop: self._serves([*self._past, shop]))

    async def _make(self, change: Change, chance: Random, fits: Callable[[Shop], bool]) -> None:
        """Make a fitting change of which Envoys are told, if there is one of that kind just now."""
        before = told(self.shop, self._behind.grounds)
        for _ in range(DRAWS):
            shop = change(self.shop, chance)
            if shop != self.shop and fits(shop) and told(shop, self._behind.grounds) != before:
                await self.save(shop, change.__name__)
                return

    async def save(self, shop: Shop, by: str) -> None:
        """Save another state of the shop."""
        self.made[by] += 1
        self.shop = structs.replace(shop, number=shop.number + 1)
        self._past.append(self.shop)
        for visited, traffic in self.traffics.items():
            if self._judge is right:  # nothing is in between for whoever may not notice
                traffic.expect(self._in_between(visited))
            traffic.expect(self._judge(self.shop, self._behind.grounds.pods, visited))
        await self._site.save(self.shop)

    async def begin(self) -> None:
        """Wait until Envoys have what was saved."""
        await until(self._is_told, within=SETTLES_WITHIN)
        await until(self._site.is_held, within=SETTLES_WITHIN)

    async def settle(self) -> None:
        """Wait until Envoys and their threads have all of it; from then on nothing else is right."""
        await self.begin()
        await self._site.tidy()
        for visited, traffic in self.traffics.items():
            try:
                async with asyncio.timeout(SETTLES_WITHIN):
                    await traffic.agree(SETTLED)
            except TimeoutError:
                message = f"{visited} does not find what is right in {self.shop}: {traffic.answers}"
                raise AssertionError(message) from None
        async with asyncio.timeout(SETTLES_WITHIN):
            for traffic in self.traffics.values():
                await traffic.quiet()
        for traffic in self.traffics.values():
            traffic.arrive()
        self._past = [self.shop]
        for port in (SPARE, ASIDE):
            await until(partial(self._opens, port), within=SETTLES_WITHIN)
        self.check()

    def check(self) -> None:
        """See that nobody was answered wrong so far."""
        surprises = {each: traffic.surprises for each, traffic in self.traffics.items() if traffic.surprises}
        assert not surprises, (self.made.total(), surprises)

    def ahead(self) -> list[Visited]:
        """Say where somebody has found what was saved since all of it had settled."""
        return [visited for visited, traffic in self.traffics.items() if traffic.is_ahead]

    def ended(self) -> dict[Visited, object]:
        """Say where connections ended that visitors would have gone on with, and how.

        A hostname that moves to another listener has another certificate, and may have clients prove who they
        are: Envoy asks those who came before to come again, with the answer to their next request. Who then
        comes to an Envoy that has yet to hear of the move is asked once more.
        """
        moves = self.made[exchange_listeners.__name__] * len(self._site.doors)
        return {
            each.visited: (each.broken, each.dismissed)
            for each in self.visitors
            if each.broken or each.dismissed > (moves if each.visited.port == SECURE else 0)
        }

    def tell(self) -> None:
        """Print what was measured."""
        answers = Counter[object]()
        for traffic in self.traffics.values():
            answers.update(traffic.answers)
        broken = sum((visitor.broken for visitor in self.visitors), Counter[str]())
        dismissed = sum(visitor.dismissed for visitor in self.visitors)
        print(  # noqa: T201  # it is asked for
            f"{self.made.total()} changes: {dict(self.made)}, {answers.total()} requests: {dict(answers)},"
            f" closed: {dict(broken)}, asked to come again: {dismissed}"
        )

    def _serves(self, states: Sequence[Shop]) -> bool:
        """Say whether everybody is served in the last state, also by pods and roots of different moments."""
        pods = self._behind.grounds.pods
        answers = frozenset[object]().union(*(right(states[-1], pods, each) for each in VISITED))
        return answers.isdisjoint({FAILS, UNAVAILABLE}) and all(
            _is_proved(name, states, pods) for name in states[-1].stores
        )

    def _in_between(self, visited: Visited) -> Answers:
        """Say what may be answered where routes of an earlier state lead to what stores have become.

        Endpoints and roots reach Envoy before routes do, and roots wait for nobody. That a store has no pods,
        or no policy, is right in no such moment.
        """
        *past, now = self._past
        pods = self._behind.grounds.pods
        return frozenset(
            answer for each in past for answer in self._judge(before_routes(each, now), pods, visited)
        )

    async def _is_told(self) -> bool:
        """Say whether every Envoy redirects to the number of the newest state."""
        return all([await self._told_at(door) for door in self._site.doors])

    async def _told_at(self, door: str) -> bool:
        asker = Visitor(Visited(PLAIN, TELLS, "/"), (door, self._behind.grounds.ports[PLAIN]))
        try:
            return (await asker.location()).endswith(f"/{self.shop.number}")
        except OSError:
            return False
        finally:
            asker.close()

    async def _opens(self, port: str) -> bool:
        """Say whether a port is open everywhere if it is to be, and else nowhere."""
        visitors = [
            Visitor(Visited(port, "spare.test", "/"), (door, self._behind.grounds.ports[port]))
            for door in self._site.doors
        ]
        return {await each.is_let_in() for each in visitors} == {self.shop.spare == port}


def before_routes(earlier: Shop, now: Shop) -> Shop:
    """Return an earlier shop with its stores as they are now, where they can be led to then and now."""
    come = {
        name: now.stores[name]
        for name, store in earlier.stores.items()
        if _is_led_to(store) and name in now.stores and _is_led_to(now.stores[name])
    }
    return structs.replace(earlier, stores={**earlier.stores, **come})


def _is_led_to(store: Store) -> bool:
    return bool(store.pods) and store.policy is not None


def _is_proved(name: str, states: Sequence[Shop], pods: Mapping[str, Pod]) -> bool:
    """Say whether each pod that a store has had is proved by all roots that it has had meanwhile."""
    stores = [state.stores[name] for state in states if name in state.stores]
    trusted = frozenset.intersection(*(each.trusts for each in stores))
    return all(pods[pod].authority in trusted for each in stores for pod in each.pods)


def vouched() -> tuple[dict[str, Authority], tuple[Issued, ...], Authority]:
    """Make the roots of pods, what is shown to visitors, and the root of that."""
    public = Authority("public")
    certificates = tuple(public.issue(dns=SECURE_HOSTS) for _ in range(CERTIFICATES))
    return {name: Authority(name) for name in CHOICES.authorities}, certificates, public


@asynccontextmanager
async def furnished(ports: Mapping[str, int], address: str = LOOPBACK) -> AsyncIterator[Behind]:
    """Run every pod, and make all certificates."""
    roots, certificates, public = vouched()
    async with AsyncExitStack() as stack:
        running, pods = {}, {}
        for each in HIRED:
            issued = roots[each.authority].issue(dns=NAMES)
            speech = speaks(issued, lasting=each.lasting, word=each.name)
            running[each.name] = await stack.enter_async_context(http_backend(speech, address))
            pods[each.name] = structs.replace(each, port=running[each.name].port)
        grounds = Grounds(pods, roots, certificates, ports, address)
        yield Behind(running, grounds, ssl.create_default_context(cadata=public.pem))


@asynccontextmanager
async def visited(site: Site, behind: Behind, address: str, judge: Judge = right) -> AsyncIterator[Scene]:
    """Have visitors at all places of a shop that was saved, from when it is served."""
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        scene = Scene(site, behind, judge)
        await scene.begin()
        sending = []
        for each, traffic in scene.traffics.items():
            tls = behind.clients if each.port == SECURE else None
            visitor = Visitor(each, (address, behind.grounds.ports[each.port]), tls)
            scene.visitors.append(visitor)
            stack.callback(visitor.close)
            sending.append(tasks.create_task(traffic.send(visitor.ask)))
        yield scene
        for task in sending:
            task.cancel()


async def change_unnoticed(scene: Scene, count: int, chance: Random, every: Sequence[Change] = ALL) -> None:
    """Make so many changes that nobody may notice, of each kind as many."""
    while scene.made.total() < count:
        kinds = chance.sample(every, len(every))
        while kinds:
            burst = [kinds.pop() for _ in range(chance.randint(1, len(kinds)))]
            for change in burst:
                await scene.make_unnoticed(change, chance)
                await asyncio.sleep(LULL * chance.random())
            await scene.settle()
