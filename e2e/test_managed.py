"""A Gateway's managed proxies run as they are written: ready, unprivileged, and drained when they end."""

import asyncio
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection
from threading import Event
from time import monotonic
from typing import NamedTuple

import msgspec
import pytest

from e2e.kubectl import WITHIN, apply, eventually, kubectl, read, rolled_out, wait_for
from legation.addresses import HostPort
from legation.channel.authority import proxy_of, server
from legation.channel.identity import proven_group
from legation.channel.identity_secrets import proxy_secret
from legation.channel.rotation import bundle, renewed_leaf, renewed_roots
from legation.proxies.managed import Environment, manifests
from legation.proxies.wanted import Wanted
from legation.publish import Offers, Publisher
from translator.names import Name
from translator.objects.endpoint_slice import EndpointSlice
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParametersSpec
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import Object, name_of
from translator.objects.service import Service
from translator.rules.gateways import CONTROLLER
from translator.rules.managed import settle
from translator.rules.ports import Bound
from translator.translate import INDEXES, translate
from translator.world import World
from xds_server.hub import Hub
from xds_server.report import Accepted, Report
from xds_server.service import Address, Proof, Terms, mutual_tls, serving
from xds_server.snapshot import LDS

NODE = "198.18.0.1"  # where pods reach what runs beside them
SERVER = "legation-xds.test"
IMAGE = "envoyproxy/envoy:v1.40.0"
SLOW = "slow.test"  # where answers take long
PATIENCE = 30.0  # seconds until an answer counts as lost
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: nobody-elses
  listeners: [{name: http, port: 80, protocol: HTTP}]
"""


class Slow(NamedTuple):
    """A backend that takes one request and answers when it is told to."""

    port: int
    asked: asyncio.Event
    answer: asyncio.Event


@asynccontextmanager
async def slow_backend() -> AsyncIterator[Slow]:
    """Run it on the node."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked.set()
        await answer.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(take, NODE, 0) as server:
        yield Slow(server.sockets[0].getsockname()[1], asked, answer)


class Seen:
    """When each proxy had its first configuration, and when it was first said to be ready."""

    def __init__(self) -> None:
        self.configured: dict[str, float] = {}
        self.ready: dict[str, float] = {}

    def hear(self, report: Report) -> None:
        """Take in what the hub reports."""
        if isinstance(report, Accepted) and report.type_url == LDS:
            self.configured.setdefault(report.envoy.node, monotonic())

    @asynccontextmanager
    async def watching(self, namespace: str) -> AsyncIterator[None]:
        """Watch the pods of a namespace, until the block ends."""
        told = '{.metadata.name} {.status.conditions[?(@.type=="Ready")].status}{"\\n"}'
        watch = ("get", "pods", "--namespace", namespace, "--watch", f"--output=jsonpath={told}")
        process = await asyncio.create_subprocess_exec("kubectl", *watch, stdout=PIPE)
        reading = asyncio.create_task(self._read(process))
        try:
            yield
        finally:
            process.kill()
            await asyncio.gather(reading, process.wait())

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            name, *status = line.decode().split()
            if status == ["True"]:
                self.ready.setdefault(name, monotonic())


def gateway(namespace: str) -> Gateway:
    """Make a Gateway, which everything is to belong to."""
    apply(namespace, GATEWAY)
    return msgspec.json.decode(
        kubectl("get", "--output=json", "--namespace", namespace, "gateway/edge"), type=Gateway
    )


def world(of: Gateway, backend: int) -> World:
    """Make a world of one Gateway whose class is ours; with a route, if a port of the node is given."""
    class_ = {"metadata": {"name": of.spec.gateway_class_name}, "spec": {"controllerName": CONTROLLER}}
    made = World(INDEXES)
    made.put(GatewayClass, Name("", of.spec.gateway_class_name), msgspec.convert(class_, GatewayClass))
    made.put(Gateway, name_of(of), of)
    its = {"name": "slow", "namespace": of.metadata.namespace}
    for kind, labels, more in led_to(backend) if backend else ():
        manifest = {"metadata": its | {"labels": labels}, **more}
        made.put(kind, Name(its["namespace"], "slow"), msgspec.convert(manifest, kind))
    return made


def led_to(port: int) -> Iterator[tuple[type[Object], dict[str, str], dict[str, object]]]:
    """Give a route, a Service, and where that is."""
    rules = [{"backendRefs": [{"name": "slow", "port": 80}]}]
    yield HTTPRoute, {}, {"spec": {"parentRefs": [{"name": "edge"}], "hostnames": [SLOW], "rules": rules}}
    yield Service, {}, {"spec": {"ports": [{"name": "http", "port": 80}]}}
    there: dict[str, object] = {
        "addressType": "IPv4",
        "endpoints": [{"addresses": [NODE]}],
        "ports": [{"name": "http", "port": port}],
    }
    yield EndpointSlice, {"kubernetes.io/service-name": "slow"}, there


@asynccontextmanager
async def control_plane(of: Gateway, seen: Seen, backend: int = 0) -> AsyncIterator[HostPort]:
    """Serve a Gateway, with the identity of an authority that signs the Gateway's too."""
    now = datetime.now(UTC) - timedelta(minutes=1)
    roots = renewed_roots((), now)
    own, its = (renewed_leaf(None, who, roots, now) for who in (server([SERVER]), proxy_of(name_of(of))))
    apply(of.metadata.namespace, json.dumps(proxy_secret(of, its, roots)))
    proof = Proof(own.certificate.encode(), own.key.encode(), bundle(roots).encode())
    hub = Hub(seen.hear)
    await Offers(hub).offer(Publisher().snapshots(translate(world(of, backend)).gateways))
    door = Address(f"{NODE}:0", mutual_tls(lambda: proof))
    async with serving(hub, [door], Terms(group_of=proven_group, drain=0.0)) as [port]:
        yield HostPort(NODE, port)


@asynccontextmanager
async def proxies(namespace: str, backend: int = 0) -> AsyncIterator[Seen]:
    """Run two, until they are asked whether they are ready and say so."""
    its, seen = gateway(namespace), Seen()
    parameters = {"envoy": {"replicas": 2, "drainSeconds": 1800}, "service": {"type": "ClusterIP"}}
    wishes = settle(msgspec.convert(parameters, GatewayParametersSpec))
    async with control_plane(its, seen, backend) as xds, seen.watching(namespace):
        environment = Environment(xds, SERVER, IMAGE, withdrawal=3)
        made = manifests(Wanted(its, (Bound(name_of(its), 80),), wishes), environment)
        kubectl("apply", "--server-side", "--filename=-", given="\n---\n".join(map(json.dumps, made)))
        await asyncio.to_thread(rolled_out, namespace, "legation-edge")
        yield seen


def pods(namespace: str) -> dict[str, int]:
    """Give the pods, each with how often it was started again."""
    found = read("pods", "--namespace", namespace)["items"]
    return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in found}


@pytest.mark.usefixtures("inside")
async def test_managed_proxies_become_ready_and_go_with_their_gateway(namespace: str) -> None:
    async with proxies(namespace):
        assert [*pods(namespace).values()] == [0, 0]
        kubectl("delete", "gateway", "edge", "--namespace", namespace)
        for kind in ("deployment", "service", "serviceaccount", "configmap", "secret", "poddisruptionbudget"):
            await asyncio.to_thread(wait_for, namespace, "delete", f"{kind}/legation-edge")


@pytest.mark.usefixtures("inside")
async def test_a_proxy_is_ready_about_a_second_after_its_first_configuration(namespace: str) -> None:
    async with proxies(namespace) as seen:
        names = pods(namespace).keys()
        await asyncio.to_thread(eventually, lambda: names <= seen.ready.keys())
    took = [seen.ready[name] - seen.configured[name] for name in names]
    print(f"ready {', '.join(f'{each:.1f} s' for each in took)} after the first configuration")
    assert max(took) < 10, "about a second, on a machine that has nothing else to do"


@pytest.mark.usefixtures("inside")
async def test_an_answer_that_takes_long_is_not_lost_when_its_proxy_is_replaced(namespace: str) -> None:
    async with slow_backend() as backend, proxies(namespace, backend.port):
        address = read("service", "legation-edge", "--namespace", namespace)["spec"]["clusterIP"]
        await asyncio.to_thread(eventually, lambda: asked(address) == HTTPStatus.NOT_FOUND)
        first = pods(namespace).keys()
        answer = asyncio.create_task(asyncio.to_thread(asked, address, SLOW))
        await asyncio.wait_for(backend.asked.wait(), WITHIN)
        await asyncio.to_thread(replaced, namespace)
        second = pods(namespace).keys() - first
        await asyncio.to_thread(replaced, namespace)
        await asyncio.to_thread(eventually, lambda: not second & pods(namespace).keys())
        await asyncio.to_thread(eventually, lambda: len(first & pods(namespace).keys()) < len(first))
        [waiting] = first & pods(namespace).keys()  # told to end before those that have ended by now
        backend.answer.set()
        assert await answer == HTTPStatus.OK
        await asyncio.to_thread(wait_for, namespace, "delete", f"pod/{waiting}")


@pytest.mark.usefixtures("inside")
async def test_no_request_is_lost_when_proxies_are_replaced(namespace: str) -> None:
    async with proxies(namespace):
        address = read("service", "legation-edge", "--namespace", namespace)["spec"]["clusterIP"]
        await asyncio.to_thread(eventually, lambda: asked(address) == HTTPStatus.NOT_FOUND)
        before, done = pods(namespace), Event()
        traffic = asyncio.create_task(asyncio.to_thread(keep_asking, address, done))
        try:
            await asyncio.to_thread(replaced, namespace)
            for name in before:
                await asyncio.to_thread(wait_for, namespace, "delete", f"pod/{name}")
        finally:
            done.set()
        answers = await traffic
    assert len(answers) > 100
    assert set(answers) == {HTTPStatus.NOT_FOUND}
    assert not before.keys() & pods(namespace).keys()


def replaced(namespace: str) -> None:
    """Have every pod replaced; those that are to end may be there for a while."""
    kubectl("rollout", "restart", "--namespace", namespace, "deployment/legation-edge")
    rolled_out(namespace, "legation-edge")


def keep_asking(address: str, done: Event) -> list[int]:
    """Send one request after the other, some on the same connection, until told to stop; give the answers."""
    answers: list[int] = []
    while not done.is_set():
        connection = HTTPConnection(address, timeout=PATIENCE)
        for _ in range(5):
            answers.append(status_of(connection))
            if connection.sock is None:  # the answer said that it was the last one
                break
        connection.close()
    return answers


def asked(address: str, host: str = "edge.test") -> int:
    """Send one request, and give the status of its answer."""
    connection = HTTPConnection(address, timeout=5 * WITHIN if host == SLOW else PATIENCE)
    try:
        return status_of(connection, host)
    finally:
        connection.close()


def status_of(connection: HTTPConnection, host: str = "edge.test") -> int:
    """Send a request on a connection that may have carried others."""
    connection.request("GET", "/", headers={"host": host})
    answer = connection.getresponse()
    answer.read()
    return answer.status
