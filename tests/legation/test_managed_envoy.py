"""A managed Envoy started with what its ConfigMap says: its identity renewed, its probes, its drain."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from msgspec import structs

from k8s_watch.change import Put
from k8s_watch.kind import ObjectName
from legation.addresses import HostPort
from legation.channel.authority import Lifetime, issue, proxy_of
from legation.proxies.managed import ADMIN, CONFIGURATION, IDENTITY, PROBES, Environment, manifests
from legation.proxies.wanted import Wanted
from legation.publish import Publisher
from legation.settings import EVERYWHERE
from tests.legation.desk import EDGE, Desk, exchange, holds
from tests.legation.running import free_port
from tests.loopback import ask, has_ipv6
from tests.real_envoy import RunningEnvoy, running_envoy, until
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.rules.gateways import BINDING, CONTROLLER, Binding
from translator.rules.identities import REVOKED_BEFORE
from translator.rules.managed import settle
from translator.translate import INDEXES, translate
from translator.world import World
from xds_server.snapshot import Snapshot

GATEWAY = msgspec.convert(
    {
        "metadata": {"name": EDGE.name, "namespace": EDGE.namespace},
        "spec": {
            "gatewayClassName": "legation",
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    },
    Gateway,
)


class Pod(NamedTuple):
    """A folder that stands for a pod's volumes, and the ports that its Envoy got."""

    home: Path
    admin: int
    probes: int
    preparation: list[dict[str, object]]

    @property
    def identity(self) -> Path:
        """Where its identity is mounted."""
        return self.home / "identity"

    def bootstrap(self) -> dict[str, object]:
        """Write the configuration as it is mounted, and read what Envoy is started with."""
        [found] = [each["data"] for each in self.preparation if each["kind"] == "ConfigMap"]
        assert isinstance(found, dict)
        for name, text in found.items():
            (self.home / name).write_text(self._here(text))
        made: dict[str, object] = json.loads((self.home / "bootstrap.json").read_text())
        return made

    def drain(self, patience: int) -> list[str]:
        """Give the command that is run before a pod ends, as if all others heard of that at once."""
        [found] = [each for each in self.preparation if each["kind"] == "Deployment"]
        [container] = found["spec"]["template"]["spec"]["containers"]  # type: ignore[index]  # plain JSON
        command: list[str] = container["lifecycle"]["preStop"]["exec"]["command"]
        return [*map(self._here, command[:-2]), "0", str(patience)]

    def _here(self, text: str) -> str:
        for there, here in (
            (str(CONFIGURATION), str(self.home)),
            (str(IDENTITY), str(self.identity)),
            (str(ADMIN.port), str(self.admin)),
            (str(PROBES), str(self.probes)),
        ):
            text = text.replace(there, here)
        return text


@asynccontextmanager
async def pod(
    desk: Desk, xds: int, home: Path, listen_at: str = EVERYWHERE
) -> AsyncIterator[tuple[Pod, RunningEnvoy]]:
    roots = home / "roots.pem"
    roots.write_text(desk.root.certificate)
    there = HostPort("localhost", xds)
    environment = Environment(there, "localhost", "envoy", listen_at, system_roots=roots)
    preparation = list(manifests(Wanted(GATEWAY, (), settle()), environment))
    made = Pod(home, free_port(), free_port(), preparation)
    exchange(made.identity, desk.envoy(), desk.roots)
    async with running_envoy(made.bootstrap()) as envoy:
        yield made, envoy


async def test_a_new_authority_reaches_a_running_envoy(tmp_path: Path) -> None:
    desk = Desk()
    async with AsyncExitStack() as before:
        xds = await before.enter_async_context(desk.open(0))
        async with pod(desk, xds, tmp_path) as (made, envoy):
            await desk.connected()
            desk.succeed()
            exchange(made.identity, desk.envoy(), desk.roots)
            await until(lambda: holds(envoy, desk.root))
            await before.aclose()
            async with desk.open(xds):
                await desk.connected()


async def test_who_is_shut_out_comes_again_with_another_identity(tmp_path: Path) -> None:
    desk = Desk()
    async with desk.open(0) as xds, pod(desk, xds, tmp_path) as (made, _):
        await desk.connected()
        begun = datetime.now(UTC)
        for annotations in ({}, {REVOKED_BEFORE: begun.isoformat()}):
            its = structs.replace(
                GATEWAY, metadata=structs.replace(GATEWAY.metadata, annotations=annotations)
            )
            desk.gate.overhear(Gateway, [Put(ObjectName(*EDGE), "1", its)])
        await until(lambda: _is_alone(desk))
        later = Lifetime(begun + timedelta(seconds=1), begun + timedelta(days=1))
        exchange(made.identity, issue(desk.root, proxy_of(EDGE), later), desk.roots)
        await desk.connected()


async def test_probes_ask_two_things_and_nothing_else(tmp_path: Path) -> None:
    desk = Desk()
    async with desk.open(0) as xds, pod(desk, xds, tmp_path) as (made, _):
        await desk.connected()
        assert (await ask(made.probes, "/ready")).status == 200
        assert "envoy_server_live" in (await ask(made.probes, "/stats/prometheus")).body
        for path in ("/", "/config_dump", "/quitquitquit", "/ready/..", "/certs"):
            assert (await ask(made.probes, path)).status == 404, path


async def test_a_pod_of_both_families_is_reached_by_each(tmp_path: Path) -> None:
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    desk, port = Desk(), free_port()
    desk.hub.publish(str(EDGE), listening(port, "::"))
    async with desk.open(0) as xds, pod(desk, xds, tmp_path, "::") as (made, envoy):
        await until(envoy.ready)
        for host in ("127.0.0.1", "::1"):
            assert (await ask(made.probes, "/ready", address=host)).status == 200
            assert (await ask(port, address=host)).status == 404  # there is no route


def listening(port: int, address: str) -> Snapshot:
    """Translate the Gateway, with a port that is free here, for Envoys that listen at this address."""
    listeners = [{"name": "http", "port": port, "protocol": "HTTP"}]
    spec = {"gatewayClassName": "legation", "listeners": listeners}
    metadata = {"name": EDGE.name, "namespace": EDGE.namespace}
    class_ = {"metadata": {"name": "legation"}, "spec": {"controllerName": CONTROLLER}}
    world = World(INDEXES)
    world.state(BINDING, Binding(address))
    world.put(GatewayClass, Name("", "legation"), msgspec.convert(class_, GatewayClass))
    world.put(Gateway, EDGE, msgspec.convert({"metadata": metadata, "spec": spec}, Gateway))
    return Publisher().snapshots(translate(world).gateways)[str(EDGE)]


async def test_a_pod_ends_once_clients_were_told_to_go_and_have_nothing_in_flight(tmp_path: Path) -> None:
    desk = Desk()
    async with desk.open(0) as xds, pod(desk, xds, tmp_path) as (made, _):
        await desk.connected()
        assert "connection" not in (await ask(made.probes, "/ready")).headers
        async with asking_slowly(made.probes) as finish, farewell(made.drain(3600)) as process:
            assert (await process.stdout.readline()).startswith(b"HTTP/1.1 200 OK")  # type: ignore[union-attr]  # piped

            async def told() -> bool:
                return (await ask(made.probes, "/ready")).headers.get("connection") == "close"

            await until(told)
            await waited(process, 3)
            assert (await finish()).startswith(b"HTTP/1.1 200 OK")
            await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0


async def test_what_never_ends_does_not_keep_a_pod_for_longer_than_it_may(tmp_path: Path) -> None:
    desk = Desk()
    async with desk.open(0) as xds, pod(desk, xds, tmp_path) as (made, _):
        await desk.connected()
        async with asking_slowly(made.probes), farewell(made.drain(2)) as process:
            await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0


async def test_a_client_that_only_stays_connected_keeps_no_pod(tmp_path: Path) -> None:
    desk = Desk()
    async with desk.open(0) as xds, pod(desk, xds, tmp_path) as (made, _):
        await desk.connected()
        reader, writer = await asyncio.open_connection("127.0.0.1", made.probes)
        writer.write(b"GET /ready HTTP/1.1\r\nhost: pod\r\n\r\n")
        await reader.readuntil(b"LIVE\n")
        async with farewell(made.drain(3600)) as process:
            await asyncio.wait_for(process.communicate(), 60)
        assert (process.returncode, reader.at_eof()) == (0, False)
        writer.close()


@asynccontextmanager
async def asking_slowly(port: int) -> AsyncIterator[Callable[[], Awaitable[bytes]]]:
    """Begin a request; give what ends it and returns its answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /ready HTTP/1.1\r\nhost: pod\r\ncontent-length: 1\r\n\r\n")
    await writer.drain()

    async def finish() -> bytes:
        writer.write(b".")
        return await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)

    yield finish
    writer.close()


@asynccontextmanager
async def farewell(command: list[str]) -> AsyncIterator[Process]:
    """Run the command that is run before a pod ends, and have it tell each step."""
    bash, *rest = command
    process = await asyncio.create_subprocess_exec(bash, "-x", *rest, stdout=PIPE, stderr=PIPE)
    yield process
    if process.returncode is None:
        process.kill()
        await process.wait()


async def waited(process: Process, times: int) -> None:
    """Wait until it has looked so often and found something in flight."""
    assert process.stderr is not None
    while times:
        line = await asyncio.wait_for(process.stderr.readline(), 60)
        assert line, "it does not wait"
        times -= line == b"+ sleep 1\n"


async def _is_alone(desk: Desk) -> bool:
    return not desk.hub.connected()
