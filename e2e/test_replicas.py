"""Replicas serve Envoys of one Gateway: what its status says while one is slow or dies; who serves whom."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from string import Template
from typing import Any

import pytest

from e2e.beside import CLASS, CRD, XDS, gateway, replica, told
from e2e.cluster.network import DNS_ADDRESS, NODE_ADDRESS
from e2e.kubectl import WITHIN, apply, kubectl, read, wait_for
from e2e.test_run import accepted
from tests.legation.running import Legation, free_port
from tests.real_envoy import until

PROXIES = 4
ROUNDS = 6  # in which new proxies connect to either replica at random

BALANCED = Template(XDS.template.replace("clusterIP: None", "type: ClusterIP"))
ONE_MORE = Template("""
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: legation-$port-$address, labels: {kubernetes.io/service-name: legation}}
addressType: IPv4
ports: [{name: xds, port: $port}]
endpoints: [{addresses: [$address]}]
""")
PARAMETERS = Template("""
apiVersion: legation.dev/v1alpha1
kind: GatewayParameters
metadata: {name: inside}
spec: {service: {type: ClusterIP}, envoy: {replicas: $proxies}}
""")


def programmed(namespace: str) -> dict[str, Any]:
    """Read what the Gateway says of its proxies."""
    found = read("gateway", "edge", "--namespace", namespace).get("status", {}).get("conditions", [])
    return next((dict(each) for each in found if each["type"] == "Programmed"), {})


def says(namespace: str, status: str, generation: int) -> bool:
    """Say whether it says this, of this generation."""
    found = programmed(namespace)
    return (found.get("status"), found.get("observedGeneration")) == (status, generation)


@pytest.fixture
async def replicas(namespace: str, inside: None) -> AsyncIterator[tuple[Legation, Legation]]:  # noqa: ARG001  it must be there
    """Two replicas that know of each other, of which the first leads, and proxies that connect to both."""
    port = free_port()
    async with AsyncExitStack() as running:
        first = await running.enter_async_context(alone(namespace, port))
        apply(namespace, ONE_MORE.substitute(port=port, address=DNS_ADDRESS))
        second = await running.enter_async_context(replica(namespace, port, DNS_ADDRESS))
        for each in (first, second):
            await each.logged("hears another replica")
        gateway(namespace, "edge")
        await told(lambda: says(namespace, "True", 1))
        await spread(namespace, first, second)
        yield first, second


@asynccontextmanager
async def alone(namespace: str, port: int) -> AsyncIterator[Legation]:
    """Run the first replica, which leads, behind a Service that others can join."""
    kubectl("apply", "--server-side", "--filename", str(CRD))
    wait_for("default", "condition=Established", "crd/gatewayparameters.legation.dev")
    apply(namespace, BALANCED.substitute(port=port, address=NODE_ADDRESS))
    apply(namespace, PARAMETERS.substitute(proxies=PROXIES))
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    try:
        async with replica(namespace, port, NODE_ADDRESS) as first:
            await first.logged("leads")
            yield first
    finally:
        kubectl("delete", "gatewayclass", namespace)


async def spread(namespace: str, first: Legation, second: Legation) -> None:
    """Replace proxies until both replicas serve some of them, and all of them are served."""
    for _ in range(ROUNDS):
        await until(lambda: are_served(first, second), within=WITHIN)
        if await envoys(first) and await envoys(second):
            return
        pods = ("pods", "--selector=gateway.networking.k8s.io/gateway-name=edge", "--namespace", namespace)
        await asyncio.to_thread(kubectl, "delete", *pods)
    pytest.fail("every proxy connects to the same replica, again and again")


async def are_served(*replicas: Legation) -> bool:
    """Say whether as many proxies are connected as there should be."""
    return sum([await envoys(each) for each in replicas]) == PROXIES


async def share(*replicas: Legation) -> bool:
    """Say whether each replica serves some proxy."""
    return all([await envoys(each) for each in replicas])


async def envoys(replica: Legation) -> int:
    """Count the Envoys that are connected to a replica, and hold its newest."""
    gateways = (await replica.overview()).gateways
    return sum(envoy.current for gateway in gateways for envoy in gateway.envoys)


async def test_a_gateway_waits_for_the_proxies_of_a_replica_that_is_slow(
    namespace: str, replicas: tuple[Legation, Legation]
) -> None:
    leader, slow = replicas
    served = await envoys(leader)
    slow.process.send_signal(signal.SIGSTOP)
    try:
        gateway(namespace, "edge", 8080)
        await told(lambda: says(namespace, "False", 2))
        await until(lambda: holds(leader, served), within=WITHIN)
        assert programmed(namespace)["reason"] == "Pending"
    finally:
        slow.process.send_signal(signal.SIGCONT)
    await told(lambda: says(namespace, "True", 2))


async def test_proxies_spread_over_replicas_that_join_them_by_connecting_anew(
    namespace: str,
    inside: None,  # noqa: ARG001  it must be there
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LEGATION_CONNECTION_AGE", "4s")
    port = free_port()
    async with AsyncExitStack() as running:
        serving = [await running.enter_async_context(alone(namespace, port))]
        gateway(namespace, "edge")
        await told(lambda: says(namespace, "True", 1))
        await until(lambda: are_served(*serving), within=WITHIN)
        before = programmed(namespace)
        for address, its in ((DNS_ADDRESS, port), (NODE_ADDRESS, free_port())):
            serving.append(await running.enter_async_context(replica(namespace, its, address)))
            apply(namespace, ONE_MORE.substitute(port=its, address=address))
            await until(lambda: share(*serving), within=WITHIN)
            await until(lambda: are_served(*serving), within=WITHIN)
        assert programmed(namespace) == before


async def holds(replica: Legation, served: int) -> bool:
    """Say whether a replica's own Envoys listen where the Gateway does now."""
    [gateway] = (await replica.overview()).gateways
    is_new = any(bound.endswith(":8080") for bound in gateway.bound)
    return is_new and await envoys(replica) >= served


async def test_when_the_leader_is_killed_the_status_stays_as_it_is(
    namespace: str, replicas: tuple[Legation, Legation]
) -> None:
    leader, other = replicas
    before = programmed(namespace)
    leader.process.send_signal(signal.SIGKILL)
    await leader.process.wait()
    await other.logged("leads", within=WITHIN)
    gateway(namespace, "marker", 8081)
    await told(lambda: accepted(namespace, "marker") == ("True", 1))
    assert programmed(namespace) == before
    gateway(namespace, "edge", 8080)
    await told(lambda: says(namespace, "True", 2))
