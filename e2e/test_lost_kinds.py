"""Kinds are deleted with all their objects, and come back, while requests flow."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import pytest

from e2e.beside import CRD, replica, told
from e2e.cluster.build import Programs
from e2e.cluster.network import NODE_ADDRESS
from e2e.cluster.own import Own
from e2e.cluster.place import here
from e2e.kubectl import WITHIN, apply, kubectl, read
from e2e.scenarios.backend import HOST, Backend, serving
from e2e.scenarios.background import beside
from e2e.scenarios.shop import Shop
from e2e.scenarios.traffic import Traffic, flowing
from e2e.test_run import CLASS, bootstrap
from tests.legation.running import free_port
from tests.loopback import LOOPBACK, ask
from tests.pki import Authority
from tests.real_envoy import running_envoy, until

GATEWAY_API = ("gateway.networking.k8s.io_listenersets.yaml", "gateway.networking.x-k8s.io_xbackends.yaml")
ELSEWHERE = "/elsewhere"
THERE = {"XBackend": "ResolvedRefs", "GatewayParameters": "Accepted", "ListenerSet": 1}
LOST = {"XBackend": "BackendNotFound", "GatewayParameters": "InvalidParameters", "ListenerSet": 0}

SCENE = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge}
spec:
  gatewayClassName: $namespace
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: own, port: $own, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: fitted}
spec:
  gatewayClassName: $namespace
  infrastructure: {parametersRef: {group: legation.dev, kind: GatewayParameters, name: fitted}}
  listeners: [{name: own, port: $fitted, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: more}
spec:
  parentRefs: [{group: gateway.networking.k8s.io, kind: ListenerSet, name: more}]
  rules: [{backendRefs: [{name: shop, port: 443}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: elsewhere}
spec:
  parentRefs: [{name: edge}]
  rules:
    - matches: [{path: {value: $elsewhere}}]
      backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: elsewhere}]
---
apiVersion: v1
kind: Service
metadata: {name: selected}
spec: {selector: {app: elsewhere}, ports: [{port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: selected, labels: {kubernetes.io/service-name: selected}}
addressType: IPv4
ports: [{port: $backend}]
endpoints: [{addresses: [$address]}]
""")
DEPENDED_ON = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more}
spec:
  parentRef: {name: edge}
  listeners: [{name: more, port: $more, protocol: HTTP}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: elsewhere}
spec:
  type: EndpointSelector
  port: {number: $backend}
  endpointSelector: {matchLabels: {app: elsewhere}}
  tls:
    mode: ServerOnly
    validation: {hostname: $host, caCertificateRefs: [{group: "", kind: ConfigMap, name: shop}]}
---
apiVersion: legation.dev/v1alpha1
kind: GatewayParameters
metadata: {name: fitted}
spec: {envoy: {logLevel: info}}
""")


@pytest.fixture
def kinds(own: Own) -> Iterator[list[Path]]:  # noqa: ARG001  no cluster of somebody else may lose a kind
    """The definitions of ListenerSet, XBackend and GatewayParameters; afterwards they are as they were."""
    found = [*(Programs(here().programs).crds / name for name in GATEWAY_API), CRD]
    define(found)
    before = specs(found)
    yield found
    define(found)
    assert specs(found) == before


def define(kinds: list[Path]) -> None:
    """Have the API server know kinds."""
    kubectl("apply", "--server-side", "--force-conflicts", *files(kinds))
    kubectl("wait", "--for=condition=Established", f"--timeout={WITHIN:.0f}s", *files(kinds))


def specs(kinds: list[Path]) -> list[Any]:
    """Read the definitions of kinds."""
    return [each["spec"] for each in read(*files(kinds))["items"]]


def files(kinds: list[Path]) -> list[str]:
    """Name the definitions to kubectl."""
    return [f"--filename={each}" for each in kinds]


@pytest.fixture
def shop(namespace: str) -> Iterator[Shop]:
    """A namespace with a class of ours that has its name."""
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    yield Shop(namespace)
    kubectl("delete", "gatewayclass", namespace)


def reasons(shop: Shop) -> dict[str, object]:
    """Read what those that depend on objects of the kinds are told."""
    [parent] = read("httproute", "elsewhere", "--namespace", shop.namespace)["status"]["parents"]
    [refs] = [each["reason"] for each in parent["conditions"] if each["type"] == "ResolvedRefs"]
    status = read("gateway", "fitted", "--namespace", shop.namespace)["status"]
    [accepted] = [each["reason"] for each in status["conditions"] if each["type"] == "Accepted"]
    joined = read("gateway", "edge", "--namespace", shop.namespace)["status"].get("attachedListenerSets")
    return {"XBackend": refs, "GatewayParameters": accepted, "ListenerSet": joined or 0}


async def answers(port: int, path: str, status: int | None) -> None:
    """Wait until requests are answered with this status; with none, until nobody listens there."""

    async def there() -> bool:
        try:
            return (await ask(port, path)).status == status
        except OSError:
            return status is None

    await until(there, within=WITHIN)


class Ports(NamedTuple):
    """Where the Gateways listen: by themselves, and by a ListenerSet."""

    own: int
    fitted: int
    more: int


async def is_all_there(shop: Shop, ports: Ports) -> None:
    """Wait until whatever depends on objects of the kinds is served."""
    await told(lambda: reasons(shop) == THERE)
    await answers(ports.own, ELSEWHERE, 200)
    await answers(ports.more, "/", 200)


async def is_refused(shop: Shop, ports: Ports) -> None:
    """Wait until none of that is served."""
    await told(lambda: reasons(shop) == LOST)
    await answers(ports.own, ELSEWHERE, 500)
    await answers(ports.more, "/", None)


async def test_kinds_that_are_lost_harm_nothing_else_and_what_depended_on_them_comes_back_with_them(
    kinds: list[Path], shop: Shop
) -> None:
    backend, ports, xds = (
        Backend("shop", Authority("shop")),
        Ports(free_port(), free_port(), free_port()),
        free_port(),
    )
    with beside(serving(backend)):
        shop.sells(backend)
        shop.leads_to(backend)
        place = {"namespace": shop.namespace, "backend": backend.port, "address": NODE_ADDRESS, "host": HOST}
        apply(
            shop.namespace, SCENE.substitute(place, own=ports.own, fitted=ports.fitted, elsewhere=ELSEWHERE)
        )
        depended_on = DEPENDED_ON.substitute(place, more=ports.more)
        apply(shop.namespace, depended_on)
        started = await bootstrap(shop.namespace, xds)
        async with replica(shop.namespace, xds), running_envoy(started, wait_ready=False):
            await is_all_there(shop, ports)
            with beside(flowing(Traffic(LOOPBACK, ports.own))) as traffic:
                await asyncio.to_thread(kubectl, "delete", *files(kinds))
                await is_refused(shop, ports)
                await asyncio.to_thread(traffic.more)
                await asyncio.to_thread(define, kinds)
                await asyncio.to_thread(apply, shop.namespace, depended_on)
                await is_all_there(shop, ports)
                await asyncio.to_thread(traffic.more)
    assert (traffic.losses, backend.cleartext) == ([], [])
