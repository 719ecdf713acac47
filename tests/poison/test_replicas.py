"""What an Envoy refuses at one replica is held back and told by all, and outlives replicas one by one."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import groupby
from pathlib import Path
from signal import SIGKILL
from typing import Any, NamedTuple

import msgspec
import pytest
import yaml

from legation.addresses import ClientFiles, HostPort
from legation.bootstrap import Start
from legation.channel.authority import issue, proxy_of
from legation.channel.identity_secrets import roots_of
from legation.channel.rotation import bundle
from tests.k8s_watch.faulty_api import FaultyApi, Key, write_kubeconfig
from tests.k8s_watch.faulty_api import serving as api_serving
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.replicas import day
from tests.legation.running import Legation, free_port, serving
from tests.link import Link, linked
from tests.loopback import LOOPBACK, ask, http_backend
from tests.poison.test_quarantine import COSTLY, answers, sparing
from tests.real_envoy import running_envoy, until
from translator.names import Name
from translator.objects.kinds import KINDS
from translator.objects.secret import Secret

pytestmark = pytest.mark.envoy

EDGE = Name("infra", "edge")
HOME = "legation-system"
SERVER_NAME = f"legation.{HOME}.svc"
WITHIN = 120.0
EVIL: Key = ("httproutes", "shop", "evil")
PLURALS = {info.kind: info.plural for info in KINDS}
GOOD = route("evil", "store", host="evil.example")
MATCH = f"{{path: {{type: RegularExpression, value: '{COSTLY}'}}}}"
BAD = GOOD.replace("- backendRefs", f"- matches: [{MATCH}]\n    backendRefs")


class Scene(NamedTuple):
    """An API server, the port of a Gateway, and the way of its Envoy to a replica."""

    api: FaultyApi
    folder: Path
    port: int
    way: Link

    async def put(self, *manifests: str) -> None:
        """Have these objects."""
        for each in yaml.safe_load_all(together(*manifests)):
            metadata = each.pop("metadata")
            key = PLURALS[each.pop("kind")], metadata.get("namespace", ""), metadata["name"]
            del each["apiVersion"]
            if (status := self.api.objects.get(key, {}).get("status")) is not None:
                each["status"] = status
            labels, (plural, namespace, name) = metadata.get("labels", {}), key
            await self.api.put(name, plural, namespace, labels=labels, **each)

    @asynccontextmanager
    async def replica(self) -> AsyncIterator["Replica"]:
        """Run one more replica, which others find by the API server."""
        kubeconfig = write_kubeconfig(self.folder, f"http://{LOOPBACK}:{self.api.port}", token="t0")  # noqa: S106  # proves nothing
        port = free_port()
        where = ("--kubeconfig", str(kubeconfig), "--namespace", HOME, "--xds", f"0.0.0.0:{port}")
        async with serving("run", *where) as running:
            await running.logged("xDS port", WITHIN)
            await self.api.put(
                f"legation-{port}",
                "endpointslices",
                HOME,
                labels={"kubernetes.io/service-name": "legation"},
                addressType="IPv4",
                endpoints=[{"addresses": [LOOPBACK]}],
                ports=[{"name": "xds", "port": port}],
            )
            yield Replica(running, port)
        await self.api.delete(f"legation-{port}", "endpointslices", HOME)

    def identity(self) -> ClientFiles:
        """Issue what the Envoys of the Gateway prove themselves with."""
        roots = roots_of(msgspec.convert(self.api.objects["secrets", HOME, "legation-authority"], Secret))
        leaf = issue(roots[-1], proxy_of(EDGE), day())
        certificate, key, server_ca = (self.folder / each for each in ("tls.crt", "tls.key", "ca.crt"))
        files = ClientFiles(certificate, key, server_ca, SERVER_NAME)
        files.certificate.write_text(leaf.certificate)
        files.key.write_text(leaf.key)
        files.server_ca.write_text(bundle(roots))
        return files

    def said(self) -> list[bool]:
        """Say of each status that the route was given whether it tells of a refusal, without repetitions."""
        name = f"/httproutes/{EVIL[2]}/status"
        written = (
            "RefusedByEnvoy" in seen.body.decode() for seen in self.api.requests if seen.path.endswith(name)
        )
        return [each for each, _ in groupby(written)]

    def events(self) -> list[Any]:
        """Return the Events about the route."""
        found: Iterable[Any] = (thing for key, thing in self.api.objects.items() if key[0] == "events")
        return [each for each in found if each["regarding"]["name"] == EVIL[2]]

    async def says(self, *words: str) -> None:
        """Wait until the route's status has these words, and nothing else of the kind."""

        async def told() -> bool:
            status = json.dumps(self.api.objects[EVIL].get("status", {}))
            return all(each in status for each in words) and bool(words) == ("RefusedByEnvoy" in status)

        await until(told, within=WITHIN)

    async def serves(self, host: str) -> None:
        """Wait until a host is served."""
        await answers(self.port, host)


class Replica(NamedTuple):
    """A replica, and its port for Envoys."""

    running: Legation
    port: int

    async def serves_somebody(self) -> bool:
        """Say whether an Envoy is connected here, and has what it can have."""
        gateways = (await self.running.overview()).gateways
        return any(each.envoys for each in gateways)

    async def hears(self, number: int) -> None:
        """Wait until so many others were heard."""

        async def heard() -> bool:
            return sum(each["event"] == "hears another replica" for each in self.running.entries()) >= number

        await until(heard, within=WITHIN)

    async def holds_back(self, number: int) -> None:
        """Wait until so many objects are counted."""

        async def counted() -> bool:
            return await self.running.metric("legation_held_back_objects") == number

        await until(counted, within=WITHIN)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """A shop without a control plane."""
    api = FaultyApi()
    api.roots = {f"/apis/{info.group}/{info.versions[0]}" for info in KINDS if info.group} | {"/api/v1"}
    api.kinds = {*PLURALS.values(), "events", "leases"}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(api_serving(api))
        backend = await stack.enter_async_context(http_backend("store"))
        way = await stack.enter_async_context(linked(LOOPBACK, free_port()))
        made = Scene(api, tmp_path, free_port(), way)
        shop = (LEGATION_CLASS, gateway("edge", made.port), service("store", backend.port))
        await made.put(*shop, GOOD, route("quiet", "store", host="quiet.example"))
        yield made


@asynccontextmanager
async def envoy(scene: Scene, replica: Replica) -> AsyncIterator[None]:
    """Run an Envoy that takes only short patterns, connected to a replica."""
    scene.way.move(replica.port)
    start = Start(EDGE, "edge-1", HostPort(LOOPBACK, scene.way.port), HostPort(LOOPBACK, 0), scene.identity())
    async with running_envoy(sparing(start)):
        await until(replica.serves_somebody, within=WITHIN)
        yield


async def test_what_an_envoy_refuses_at_one_replica_is_said_by_the_one_that_leads(scene: Scene) -> None:
    async with AsyncExitStack() as stack:
        leader = await stack.enter_async_context(scene.replica())
        await leader.running.logged("leads", WITHIN)
        follower = await stack.enter_async_context(scene.replica())
        for each in (leader, follower):
            await each.hears(1)
        await stack.enter_async_context(envoy(scene, follower))
        await scene.serves("evil.example")
        await scene.put(BAD)
        await scene.says("RefusedByEnvoy", "PartiallyInvalid", "what it said before is served", COSTLY)
        for each in (leader, follower):
            await each.holds_back(1)
        await until(lambda: told(scene, "RefusedByEnvoy"), within=WITHIN)
        await scene.put(route("quiet", "store", host="new.example"))
        await scene.serves("new.example")
        await scene.serves("evil.example")
        assert not await leader.serves_somebody()
        assert scene.said() == [False, True]
        await scene.put(GOOD.replace("evil.example", "repaired.example"))
        await scene.serves("repaired.example")
        await scene.says()
        for each in (leader, follower):
            await each.holds_back(0)
        assert scene.said() == [False, True, False]


async def told(scene: Scene, reason: str) -> bool:
    """Say whether an Event tells of something."""
    return any(each["reason"] == reason for each in scene.events())


async def test_replicas_that_are_replaced_one_by_one_go_on_with_what_a_route_said_before(
    scene: Scene,
) -> None:
    async with AsyncExitStack() as new, AsyncExitStack() as old:
        first = await old.enter_async_context(scene.replica())
        await first.running.logged("leads", WITHIN)
        async with envoy(scene, first):
            await scene.serves("evil.example")
            await scene.put(BAD)
            await scene.says("RefusedByEnvoy", "what it said before is served")
            second = await new.enter_async_context(scene.replica())
            await second.holds_back(1)
            async with watched(scene.port, "evil.example"):
                scene.way.move(second.port)
                await old.aclose()
                await second.running.logged("leads", WITHIN)
                await until(second.serves_somebody, within=WITHIN)
                await scene.put(route("quiet", "store", host="new.example"))
                await scene.serves("new.example")
            await scene.says("RefusedByEnvoy", "what it said before is served")
            assert scene.said() == [False, True]


async def test_when_all_replicas_are_killed_at_once_nothing_is_lost_but_what_the_route_said_before(
    scene: Scene,
) -> None:
    async with AsyncExitStack() as new, AsyncExitStack() as old:
        leader = await old.enter_async_context(scene.replica())
        await leader.running.logged("leads", WITHIN)
        follower = await old.enter_async_context(scene.replica())
        await follower.hears(1)
        async with envoy(scene, follower):
            await scene.serves("evil.example")
            await scene.put(BAD)
            await scene.says("RefusedByEnvoy", "what it said before is served")
            async with watched(scene.port, "quiet.example"):
                for each in (leader, follower):
                    each.running.process.send_signal(SIGKILL)
                await old.aclose()
                third = await new.enter_async_context(scene.replica())
                scene.way.move(third.port)
                await scene.put(route("quiet", "store", host="quiet.example, new.example"))
                await scene.serves("new.example")
                await scene.says("RefusedByEnvoy", "nothing of it is served")
                await scene.put(GOOD)
                await scene.serves("evil.example")
                await scene.says()


@asynccontextmanager
async def watched(port: int, host: str) -> AsyncIterator[None]:
    """Have a host asked for again and again until the block ends; it must be served."""

    async def visit() -> None:
        while True:
            assert (await ask(port, headers={"host": host})).body == "store"

    async with asyncio.TaskGroup() as tasks:
        visiting = tasks.create_task(visit())
        yield
        visiting.cancel()
