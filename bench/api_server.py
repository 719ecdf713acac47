"""What an API server carries for replicas of the control plane, counted by whoever answers them.

Two replicas run as they are, with Envoys, at an API server that is small and counts. First they start; then
nothing happens for a while; then it forgets how all came to be as it is, so that all is told anew; then one
thing after the other is changed. `ROUTES=100` names another size, `QUIET=60` other seconds in which nothing
happens.
"""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from bench.fleet.door import plain
from bench.fleet.envoy import Envoy, complete
from bench.loop import shop
from bench.scaling.given import GATEWAY_CLASS
from k8s_watch.reader import Limits
from legation.crds import PLURAL as CRDS
from tests.k8s_watch.faults import Json
from tests.k8s_watch.faulty_api import FaultyApi, Seen, serving, write_kubeconfig
from tests.legation import running
from translator.objects.kinds import KINDS

ROUTES = int(os.environ.get("ROUTES", "50").split(",")[0])
QUIET = float(os.environ.get("QUIET", "20"))
REPLICAS, ENVOYS = 2, 3
SETTLED = min(4.0, QUIET)  # after a change; a status that goes on changing is written within 2
ON_PAPER = 3  # replicas
MINUTE = 60
PLURALS: Mapping[str, str] = MappingProxyType({info.kind: info.plural for info in KINDS})
NOTHING, ANEW = "nothing happens", "all is told anew"
LEASES, EVENTS = "leases", "events"


class Counted(Struct, frozen=True):
    """Requests of some time, by what was asked for; watches go on from what was there before."""

    reads: Counter[str]
    writes: Counter[str]
    anew: int  # watches that began with everything there is
    most: int  # writes of the status of one object

    def __str__(self) -> str:
        """Name each but the Lease, which is asked for whatever happens."""
        most = f", {self.most} of one status at the most" if self.most else ""
        return f"reads: {_named(self.reads)}; writes: {_named(self.writes)}{most}"


def _named(found: Counter[str]) -> str:
    told = (f"{number} {plural}" for plural, number in sorted(found.items()) if plural != LEASES)
    return ", ".join(told) or "none"


def counted(requests: Sequence[Seen]) -> Counted:
    """Count what was read and written."""
    reads = (_plural(each) for each in requests if each.sort in ("list", "get"))
    written = [each for each in requests if each.sort == "write"]
    statuses = Counter(each.path for each in written if each.path.endswith("/status"))
    return Counted(
        Counter(reads),
        Counter(map(_plural, written)),
        sum(each.query.get("sendInitialEvents") == "true" for each in requests),
        max(statuses.values(), default=0),
    )


def _plural(request: Seen) -> str:
    """Tell what kind of object a request is about."""
    known = {*PLURALS.values(), LEASES, EVENTS, CRDS}
    return next((each for each in reversed(request.path.split("/")) if each in known), "others")


def listening(port: int) -> dict[str, Json]:
    """Say what the Gateway is to be."""
    return {
        "gatewayClassName": "legation",
        "listeners": [{"name": "http", "port": port, "protocol": "HTTP"}],
    }


class Scene:
    """An API server with objects of one Gateway, and what it was asked."""

    def __init__(self, api: FaultyApi) -> None:
        """Begin to count."""
        self.api = api
        self._before = 0

    async def fill(self) -> None:
        """Make a Gateway and its routes, each with a Service, endpoints and a policy."""
        self.api.roots = {f"/apis/{kind.group}/{kind.versions[0]}" for kind in KINDS if kind.group} | {
            "/api/v1"
        }
        self.api.kinds = {kind.plural for kind in KINDS}
        ours: Any = GATEWAY_CLASS["spec"]
        await self.api.put("legation", PLURALS["GatewayClass"], "", spec=ours)
        await self.api.put("g0", PLURALS["Gateway"], spec=listening(80))
        for n in range(ROUTES):
            await self.add(n)

    async def add(self, n: int) -> None:
        """Make one more route, and what belongs to it."""
        thing: Any
        for thing in shop(2 * n + 1, 1):  # those with odd numbers have a policy
            fields = {
                key: each for key, each in thing.items() if key not in ("apiVersion", "kind", "metadata")
            }
            name, labels = thing["metadata"]["name"], thing["metadata"]["labels"]
            await self.api.put(name, PLURALS[thing["kind"]], labels=labels, **fields)

    async def alter(self, kind: str, name: str, **fields: Json) -> None:
        """Change an object, and leave its status as it is."""
        known: Any = self.api.objects[PLURALS[kind], "shop", name]
        kept = {key: each for key, each in known.items() if key not in ("apiVersion", "metadata")}
        await self.api.put(name, PLURALS[kind], labels=known["metadata"]["labels"], **{**kept, **fields})

    def since(self) -> list[Seen]:
        """What was asked since this was asked."""
        found, self._before = self.api.requests[self._before :], len(self.api.requests)
        return found

    def all_are_told(self) -> bool:
        """Say whether each route has a status."""
        routes = (each for key, each in self.api.objects.items() if key[0] == PLURALS["HTTPRoute"])
        return all("status" in each for each in routes)


@asynccontextmanager
async def replicas(api: FaultyApi, folder: Path) -> AsyncIterator[None]:
    """Run replicas with their Envoys until the block ends."""
    async with AsyncExitStack() as doors:
        for n in range(REPLICAS):
            door, home = plain(), folder / str(n)
            home.mkdir()
            server = f"http://127.0.0.1:{api.port}"
            config = str(write_kubeconfig(home, server, token=f"t{n}"))
            flags = ("--kubeconfig", config, "--namespace", "shop", "--xds", door.target)
            await (await doors.enter_async_context(running.serving("run", *flags))).logged("xDS port")
            envoys = [Envoy("shop/g0", f"envoy-{n}-{number}", door) for number in range(ENVOYS)]
            await doors.enter_async_context(complete(envoys, ENVOYS))
        yield


async def changes(scene: Scene) -> dict[str, Counted]:
    """Change one thing after the other; say what each had asked."""
    route: Any = scene.api.objects[PLURALS["HTTPRoute"], "shop", "r1"]["spec"]
    policy: Any = scene.api.objects[PLURALS["BackendTLSPolicy"], "shop", "p1"]["spec"]
    proof = {**policy["validation"], "hostname": "other.internal"}
    ready: list[Json] = [{"addresses": ["198.18.251.1"]}]
    steps: dict[str, Awaitable[None]] = {
        "one endpoint": scene.alter("EndpointSlice", "s1", endpoints=ready),
        "one route": scene.alter("HTTPRoute", "r1", spec={**route, "hostnames": ["other.test"]}),
        "one policy": scene.alter("BackendTLSPolicy", "p1", spec={**policy, "validation": proof}),
        "a route more, with all that belongs to it": scene.add(ROUTES),
        "the port of a listener": scene.alter("Gateway", "g0", spec=listening(81)),
    }
    found = dict[str, Counted]()
    for what, step in steps.items():
        scene.since()
        await step
        await asyncio.sleep(SETTLED)
        found[what] = counted(scene.since())
    return found


async def measured() -> tuple[Sequence[Seen], dict[str, Counted]]:
    """Return what was asked until all had come, and what each step had asked after that."""
    async with serving(FaultyApi()) as api:
        scene = Scene(api)
        await scene.fill()
        with tempfile.TemporaryDirectory() as folder:
            async with replicas(api, Path(folder)):
                await api.until(scene.all_are_told)
                await asyncio.sleep(SETTLED)
                begun = scene.since()
                await asyncio.sleep(QUIET)
                quiet = counted(scene.since())
                await api.lose_memory(lists=0)
                await asyncio.sleep(SETTLED)
                anew = counted(scene.since())
                return begun, {NOTHING: quiet, ANEW: anew, **await changes(scene)}


async def main() -> None:
    """Count, and print."""
    begun, found = await measured()
    quiet, anew = found.pop(NOTHING), found.pop(ANEW)
    watches = sum(each.sort == "watch" for each in begun) / REPLICAS
    renewed = watches * MINUTE / mean(Limits().watch)
    read, written = (each[LEASES] * MINUTE / QUIET for each in (quiet.reads, quiet.writes))
    print(f"{REPLICAS} replicas, {ROUTES} routes in one Gateway, {ENVOYS} Envoys at each")
    print(f"all come: {watches:.0f} watches for each replica; {counted(begun)}")
    print(f"a minute: the Lease is read {read:.0f} times and written {written:.0f} times")
    print(f"otherwise, in {QUIET:.0f} seconds in which nothing happens: {quiet}")
    print(f"a minute, by their length: {renewed:.1f} watches of each replica begin again")
    print(f"{ANEW}, by {anew.anew / REPLICAS:.0f} watches of each replica: {anew}")
    for what, each in found.items():
        print(f"{what}: {each}")
    begin, more = ON_PAPER * renewed, ON_PAPER / REPLICAS
    print(
        f"{ON_PAPER} replicas: {ON_PAPER * watches:.0f} watches, of which {begin:.1f} begin again a minute;"
    )
    print(f"the Lease is read {more * read:.0f} times and written {written:.0f} times a minute")


if __name__ == "__main__":
    asyncio.run(main())
