"""A Gateway's managed proxies run as they are written: ready, unprivileged, and drained when they end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection
from threading import Event

import msgspec
import pytest

from e2e.kubectl import apply, eventually, kubectl, read, rolled_out, wait_for
from legation.addresses import HostPort
from legation.channel.authority import proxy_of, server
from legation.channel.identity import proven_group
from legation.channel.identity_secrets import proxy_secret
from legation.channel.rotation import bundle, renewed_leaf, renewed_roots
from legation.proxies.managed import Environment, manifests
from legation.proxies.wanted import Wanted
from legation.publish import Offers, Publisher
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.gateway_parameters import GatewayParametersSpec
from translator.objects.kinds import name_of
from translator.rules.gateways import CONTROLLER
from translator.rules.managed import settle
from translator.rules.ports import Bound
from translator.translate import INDEXES, translate
from translator.world import World
from xds_server.hub import Hub
from xds_server.service import Address, Proof, Terms, mutual_tls, serving

NODE = "198.18.0.1"  # where pods reach what runs beside them
SERVER = "legation-xds.test"
IMAGE = "envoyproxy/envoy:v1.40.0"
PATIENCE = 30.0  # seconds until an answer counts as lost
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: nobody-elses
  listeners: [{name: http, port: 80, protocol: HTTP}]
"""


def gateway(namespace: str) -> Gateway:
    """Make a Gateway, which everything is to belong to."""
    apply(namespace, GATEWAY)
    return msgspec.json.decode(
        kubectl("get", "--output=json", "--namespace", namespace, "gateway/edge"), type=Gateway
    )


def world(of: Gateway) -> World:
    """Make a world of one Gateway whose class is ours."""
    class_ = {"metadata": {"name": of.spec.gateway_class_name}, "spec": {"controllerName": CONTROLLER}}
    made = World(INDEXES)
    made.put(GatewayClass, Name("", of.spec.gateway_class_name), msgspec.convert(class_, GatewayClass))
    made.put(Gateway, name_of(of), of)
    return made


@asynccontextmanager
async def control_plane(of: Gateway) -> AsyncIterator[HostPort]:
    """Serve a Gateway without routes, with the identity of an authority that signs the Gateway's too."""
    now = datetime.now(UTC) - timedelta(minutes=1)
    roots = renewed_roots((), now)
    own, its = (renewed_leaf(None, who, roots, now) for who in (server([SERVER]), proxy_of(name_of(of))))
    apply(of.metadata.namespace, json.dumps(proxy_secret(of, its, roots)))
    proof = Proof(own.certificate.encode(), own.key.encode(), bundle(roots).encode())
    hub = Hub(lambda _report: None)
    Offers(hub).offer(Publisher().snapshots(translate(world(of)).gateways))
    door = Address(f"{NODE}:0", mutual_tls(lambda: proof))
    async with serving(hub, [door], Terms(group_of=proven_group, drain=0.0)) as [port]:
        yield HostPort(NODE, port)


@asynccontextmanager
async def proxies(namespace: str) -> AsyncIterator[None]:
    """Run two, until they are asked whether they are ready and say so."""
    its = gateway(namespace)
    parameters = {"envoy": {"replicas": 2}, "service": {"type": "ClusterIP"}}
    wishes = settle(msgspec.convert(parameters, GatewayParametersSpec))
    async with control_plane(its) as xds:
        environment = Environment(xds, SERVER, IMAGE, drain=3)
        made = manifests(Wanted(its, (Bound(name_of(its), 80),), wishes), environment)
        kubectl("apply", "--server-side", "--filename=-", given="\n---\n".join(map(json.dumps, made)))
        await asyncio.to_thread(rolled_out, namespace, "legation-edge")
        yield


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
async def test_no_request_is_lost_when_proxies_are_replaced(namespace: str) -> None:
    async with proxies(namespace):
        address = read("service", "legation-edge", "--namespace", namespace)["spec"]["clusterIP"]
        await asyncio.to_thread(eventually, lambda: asked(address) == HTTPStatus.NOT_FOUND)
        before, done = pods(namespace), Event()
        traffic = asyncio.create_task(asyncio.to_thread(keep_asking, address, done))
        try:
            kubectl("rollout", "restart", "--namespace", namespace, "deployment/legation-edge")
            await asyncio.to_thread(rolled_out, namespace, "legation-edge")
            for name in before:
                await asyncio.to_thread(wait_for, namespace, "delete", f"pod/{name}")
        finally:
            done.set()
        answers = await traffic
    assert len(answers) > 100
    assert set(answers) == {HTTPStatus.NOT_FOUND}
    assert not before.keys() & pods(namespace).keys()


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


def asked(address: str) -> int:
    """Send one request, and give the status of its answer."""
    connection = HTTPConnection(address, timeout=PATIENCE)
    try:
        return status_of(connection)
    finally:
        connection.close()


def status_of(connection: HTTPConnection) -> int:
    """Send a request on a connection that may have carried others."""
    connection.request("GET", "/", headers={"host": "edge.test"})
    answer = connection.getresponse()
    answer.read()
    return answer.status
