"""How soon a real Envoy has a new route: beside nothing, and beside thousands while endpoints churn.

The product runs as it is, at an API server that is small, with one Envoy of a Gateway of ten routes. Routes
come to it one after the other, each with a Service of its own that was there before. All others belong to
Gateways without Envoys: each in a namespace of its own, or all in the namespace of the one that is probed,
where each new route has to be certain of all their policies. How long it is from the API server's having a
route until Envoy's answer to the table of routes is told by the product's own spans, and until the first 200
by who asks. How late its event loop is, from its start on, is said beside a loop that has nothing to do.
All are multiples of the same beside nothing, which is measured before the others and after them.
`ROUTES=500` and `PROBES=50` name other sizes.
"""

import asyncio
import gc
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import chain, count
from pathlib import Path
from time import monotonic, time
from typing import NamedTuple

import aiohttp

from bench.api_server import LEASES, counted
from bench.cluster.report import LATE, MEDIAN, percentile
from bench.loop import Operator, Seen, shop
from bench.loop import beside as idle_beside
from bench.scaling.given import LISTENS
from legation.telemetry.watchdog import STALL
from tests.changing.kiosk import bootstrap
from tests.changing.replicas import PLURALS, Api, api_serving, started
from tests.changing.shop import PLAIN, Visited
from tests.changing.visitor import Visitor
from tests.collector import Collector, Told, collecting_over_http
from tests.handshakes.backends import Speech, http_backend
from tests.handshakes.manifests import (
    SERVED_BY_US,
    Json,
    edge,
    elsewhere,
    endpoints,
    http_listener,
    manifest,
    route,
    service,
)
from tests.handshakes.traffic import Answer
from tests.legation.running import free_port
from tests.loopback import LOOPBACK
from tests.real_envoy import running_envoy, until

ROUTES = int(os.environ.get("ROUTES", "5000").split(",")[-1])
PROBES = int(os.environ.get("PROBES", "200"))
OTHERS = 49  # Gateways without Envoys
STANDING = 10  # routes of the Gateway that is probed
CHURN = 10.0  # endpoints that are replaced, each second
PACE = 0.003  # seconds between two questions for what is new
CALM = 0.01  # seconds between two questions for what stands
WATCHED = 0.2  # seconds for which a new route must go on answering rightly
LOOK = 2.0  # seconds without a status being written after which all are
WITHIN = 600.0  # seconds for anything
TOLD_WITHIN = 10.0  # seconds in which the last spans come
HTTP, WORD, NOT_FOUND = 80, "ok", 404
WRONG = ("before", "after", "at the end", "closed")
BEFORE, TAKEN = ("wait", "translate"), "push RouteConfiguration"
NANO = 1_000_000_000
OURS, IDLE = "ours", "idle"  # event loops
SPEECH = Speech(lasting=True, word=WORD)
CHANGED = tuple(PLURALS[kind] for kind in ("HTTPRoute", "BackendTLSPolicy", "Gateway"))
EPOCH = time() - monotonic()  # once: spans are dated in this way, too


class Beside(NamedTuple):
    """What else there is."""

    title: str
    routes: int = 0
    apart: bool = False

    def objects(self) -> Iterator[Json]:
        """Make the Gateways, each with its share of the routes."""
        for gateway in range(OTHERS if self.routes else 0):
            place, name = (f"team-{gateway}", "g0") if self.apart else ("shop", f"g{gateway}")
            yield elsewhere(manifest("Gateway", name, spec=LISTENS), place)
            for n in range(gateway, self.routes, OTHERS):
                made = shop(n // OTHERS, 1) if self.apart else shop(n, OTHERS)
                yield from (elsewhere(each, place) for each in made)


class Moments(NamedTuple):
    """When the API server had a route, when it was answered first, and when it was to go."""

    began: float
    served: float
    ended: float


class Steps(NamedTuple):
    """Seconds that one route took, from one to the next."""

    heard: float  # by the product, since the API server had it
    certain: float  # that it may be translated
    translated: float
    answered: float  # by Envoy, which took the table of routes last

    @property
    def whole(self) -> float:
        """From the API server to Envoy's answer."""
        return sum(self)


class Found(NamedTuple):
    """What became of new routes, and of who asked for an old one meanwhile."""

    served: tuple[float, ...]  # seconds to the first 200
    followed: tuple[Steps, ...]
    wrong: Mapping[str, int]
    standing: Counter[Answer]
    loops: Counter[str]  # looks at them, and how many found them late


class Scene(NamedTuple):
    """Where routes are put, and where Envoy is asked for them."""

    api: Api
    port: int
    spans: Collector
    admin: str

    def visitor(self, name: str, pace: float) -> Visitor:
        """Make somebody who asks for the host of a route."""
        return Visitor(Visited(PLAIN, f"{name}.test", "/"), (LOOPBACK, self.port), pace=pace)


def own(name: str) -> Json:
    """Make a route of the Gateway that is probed, to the Service of its name."""
    return route("HTTPRoute", name, [(name, HTTP)], hostnames=[f"{name}.test"])


def names(what: str, number: int) -> tuple[str, ...]:
    """Name routes."""
    return tuple(f"{what}-{n}" for n in range(number))


async def fill(api: Api, beside: Beside, port: int, backend: int) -> None:
    """Have everything but the routes that are to be new."""
    old = names("old", STANDING)
    for each in (SERVED_BY_US, edge(http_listener(port)), *beside.objects()):
        await api.put(each)
    for name in (*old, *names("new", PROBES)):
        await api.put(service(name, {HTTP: None}))
        for each in endpoints(name, HTTP, backend):
            await api.put(each)
    for name in old:
        await api.put(own(name))


@asynccontextmanager
async def staged(beside: Beside) -> AsyncIterator[Scene]:
    """Have all of it served, and all statuses written."""
    port = free_port()
    async with api_serving() as api, http_backend(SPEECH) as backend, collecting_over_http() as spans:
        await fill(api, beside, port, backend.port)
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://{LOOPBACK}:{spans.port}"
        with tempfile.TemporaryDirectory() as folder:
            async with (
                started(api.server.port, Path(folder)) as replica,
                running_envoy(await bootstrap(replica.port)),
            ):
                scene = Scene(api, port, spans, await replica.running.admin())
                await until(partial(_serves, scene), within=WITHIN)
                await _told(api)
                yield scene


async def _serves(scene: Scene) -> bool:
    """Say whether the last of the old routes is open."""
    return await scene.visitor(names("old", STANDING)[-1], PACE).is_let_in()


async def _told(api: Api) -> None:
    """Wait until every object has its status, and none is written for a while."""
    before = -1
    async with asyncio.timeout(WITHIN):
        while before != (before := _written(api)) or not _all_say(api):  # noqa: ASYNC110  nobody tells that no more is to come
            await asyncio.sleep(LOOK)


def _written(api: Api) -> int:
    writes = counted(api.server.requests).writes
    return writes.total() - writes[LEASES]


def _all_say(api: Api) -> bool:
    return all("status" in each for key, each in api.server.objects.items() if key[0] in CHANGED)


async def churn(api: Api, beside: Beside) -> None:
    """Replace endpoints of others, one after the other, until cancelled."""
    slices = [each for each in beside.objects() if each["kind"] == "EndpointSlice"]
    began = monotonic()
    for number in count(1) if slices else ():
        ready = [{"addresses": [f"198.18.{number % 250}.{last}"]} for last in range(10, 20)]
        await api.put({**slices[number % len(slices)], "endpoints": ready})
        await asyncio.sleep(max(0.0, began + number / CHURN - monotonic()))


async def ask(visitor: Visitor, answers: Counter[Answer]) -> None:
    """Ask for what stands, until cancelled."""
    while True:
        answers[await visitor.ask()] += 1


async def probe(scene: Scene, name: str, wrong: dict[str, int]) -> Moments:
    """Have a route, and take it away; count what was answered wrong."""
    visitor = scene.visitor(name, PACE)
    wrong["before"] += await visitor.ask() != NOT_FOUND
    began = monotonic()
    await scene.api.put(own(name))
    wrong["before"] += await _until(visitor, WORD, NOT_FOUND)
    served = monotonic()
    while monotonic() < served + WATCHED:
        wrong["after"] += await visitor.ask() != WORD
    ended = monotonic()
    await scene.api.delete(own(name))
    wrong["at the end"] += await _until(visitor, NOT_FOUND, WORD)
    wrong["closed"] += visitor.broken.total() + visitor.dismissed
    visitor.close()
    return Moments(began, served, ended)


async def _until(visitor: Visitor, wanted: Answer, expected: Answer) -> int:
    """Ask until the answer is the one that is wanted; count those that were not even expected."""
    found = 0
    async with asyncio.timeout(WITHIN):
        while (answer := await visitor.ask()) != wanted:
            found += answer != expected
    return found


async def probed(scene: Scene, beside: Beside) -> Found:
    """Have new routes, one after the other, while endpoints churn and somebody asks for an old one."""
    answers, wrong = Counter[Answer](), dict.fromkeys(WRONG, 0)
    regular = scene.visitor(names("old", STANDING)[0], CALM)
    async with asyncio.TaskGroup() as tasks:
        meanwhile = [tasks.create_task(churn(scene.api, beside)), tasks.create_task(ask(regular, answers))]
        moments = [await probe(scene, name, wrong) for name in names("new", PROBES)]
        for each in meanwhile:
            each.cancel()
    wrong["closed"] += regular.broken.total() + regular.dismissed
    regular.close()
    steps = await followed(scene.spans, moments)
    took = tuple(each.served - each.began for each in moments)
    return Found(took, steps, wrong, answers, Counter())


async def followed(collector: Collector, moments: Sequence[Moments]) -> tuple[Steps, ...]:
    """Find what the product told of these routes: each is one translation, and one table that Envoy took."""
    parts, steps = dict[tuple[bytes, str], Told](), list[Steps]()
    with suppress(TimeoutError):
        async with asyncio.timeout(TOLD_WITHIN):
            while len(steps) < len(moments):
                _, span = await collector.spans.get()
                parts[span.trace_id, span.name] = span
                if span.name == TAKEN:
                    steps += _steps(moments, *(parts[span.trace_id, name] for name in (*BEFORE, TAKEN)))
    return tuple(steps)


def _steps(moments: Sequence[Moments], wait: Told, built: Told, taken: Told) -> Iterator[Steps]:
    """Read them, unless it is something else that was translated, such as the end of a route."""
    heard, begun = (each.start_time_unix_nano / NANO - EPOCH for each in (wait, built))
    translated, answered = (each.end_time_unix_nano / NANO - EPOCH for each in (built, taken))
    for each in moments:
        if each.began <= begun <= each.ended:
            yield Steps(heard - each.began, begun - heard, translated - begun, answered - translated)


async def measure(state: Beside) -> Found:
    """Have one state, and probe it."""
    async with idle_beside() as alone, staged(state) as scene:
        gc.freeze()  # else this process stops to look through all that its API server holds
        try:
            found = await probed(scene, state)
        finally:
            gc.unfreeze()
        async with aiohttp.ClientSession() as session:
            product = await Operator(session, scene.admin).look()
    return found._replace(loops=Counter(dict(chain(_loop(OURS, product), _loop(IDLE, *alone)))))


def _loop(whose: str, seen: Seen) -> Iterator[tuple[str, int]]:
    yield f"{whose} looks", int(seen.looks)
    yield f"{whose} late", int(seen.looks - seen.late[STALL])


def joined(*found: Found) -> Found:
    """Take several as one."""
    return Found(
        tuple(chain.from_iterable(each.served for each in found)),
        tuple(chain.from_iterable(each.followed for each in found)),
        {what: sum(each.wrong[what] for each in found) for what in WRONG},
        sum((each.standing for each in found), Counter()),
        sum((each.loops for each in found), Counter()),
    )


def of(found: Found) -> Iterator[tuple[str, Sequence[float]]]:
    """Name what was measured."""
    yield "to the answer of Envoy", [each.whole for each in found.followed]
    for step in Steps._fields:
        yield f"  {step}", [getattr(each, step) for each in found.followed]
    yield "to the first 200", found.served


def report(beside: Beside, found: Found, base: Found) -> None:
    """Print one state as multiples of the first."""
    print(f"\n{beside.title}: median and p99, as multiples of what they are beside nothing")
    for (what, took), (_, first) in zip(of(found), of(base), strict=True):
        parts = (percentile(took, each) / percentile(first, each) for each in (MEDIAN, LATE))
        print(f"{what:>30} " + " ".join(f"{part:>8.2f}x" for part in parts))
    failed = found.standing.total() - found.standing[WORD]
    told = ", ".join(f"{what} {number}" for what, number in found.wrong.items())
    print(f"  {len(found.served)} new routes, {len(found.followed)} followed; wrong answers: {told}")
    print(f"  an old route: {failed} of {found.standing.total()} requests failed")
    ours, idle = (f"{found.loops[f'{who} late']} of {found.loops[f'{who} looks']}" for who in (OURS, IDLE))
    print(
        f"  the event loop, since it began: later than 20 ms at {ours} looks, an idle one beside it at {idle}"
    )


async def main() -> None:
    """Measure each state, the first one again at the end, and print."""
    alone = Beside("nothing")
    others = (
        Beside(f"{ROUTES} routes in namespaces of their own, and churn", ROUTES, apart=True),
        Beside(f"{ROUTES} routes in one namespace, and churn", ROUTES),
    )
    before, *among, after = [await measure(each) for each in (alone, *others, alone)]
    base = joined(before, after)
    for beside, found in zip((alone, *others), (base, *among), strict=True):
        report(beside, found, base)


if __name__ == "__main__":
    asyncio.run(main())
