"""The control plane as a process beside the cluster, for the Gateways of one namespace."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from string import Template
from typing import Any

from e2e.cluster.network import NODE_ADDRESS
from e2e.cluster.place import PROJECT
from e2e.kubectl import apply, eventually, kubectl, read, wait_for
from tests.legation.running import Legation, free_port, serving

CRD = PROJECT / "deploy" / "helm" / "legation" / "crds" / "legation.dev_gatewayparameters.yaml"

XDS = Template("""
apiVersion: v1
kind: Service
metadata: {name: legation}
spec:
  clusterIP: None
  ports: [{name: xds, port: $port}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: legation, labels: {kubernetes.io/service-name: legation}}
addressType: IPv4
ports: [{name: xds, port: $port}]
endpoints: [{addresses: [$address]}]
---
apiVersion: legation.dev/v1alpha1
kind: GatewayParameters
metadata: {name: inside}
spec: {service: {type: ClusterIP}}
""")
CLASS = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace}
spec:
  controllerName: legation.dev/gateway-controller
  parametersRef: {group: legation.dev, kind: GatewayParameters, namespace: $namespace, name: inside}
""")


GATEWAY = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: $name}
spec:
  gatewayClassName: $namespace
  listeners: [{name: http, port: $port, protocol: HTTP}]
""")


def gateway(namespace: str, name: str, port: int = 80) -> None:
    """Have one more Gateway of the class that the namespace has."""
    apply(namespace, GATEWAY.substitute(namespace=namespace, name=name, port=port))


def conditions(namespace: str, kind: str, name: str, *path: str | int) -> dict[str, tuple[str, int]]:
    """Read what an object says about itself, and of which generation."""
    found: Any = read(kind, name, "--namespace", namespace).get("status", {})
    for step in path:
        found = found[step]
    told = found.get("conditions", [])
    return {each["type"]: (each["status"], each.get("observedGeneration", 0)) for each in told}


async def told(question: Callable[[], object]) -> None:
    """Wait for an answer of the API server that is not empty."""
    await asyncio.to_thread(eventually, question)


@asynccontextmanager
async def replica(
    namespace: str, port: int, host: str = "127.0.0.1", others: Sequence[str] = ()
) -> AsyncIterator[Legation]:
    """Run one replica for the Gateways of a namespace, and of others, with its port for Envoys there."""
    place = ("--kubeconfig", os.environ["KUBECONFIG"], "--namespace", namespace)
    watched = (flag for each in (namespace, *others) for flag in ("--watch", each))
    async with serving("run", *place, *watched, "--xds", f"{host}:{port}") as running:
        await running.logged("xDS port")
        yield running


@asynccontextmanager
async def control_plane(namespace: str) -> AsyncIterator[tuple[Legation, int]]:
    """Run it beside the cluster, where pods reach it by the name of its Service."""
    port = free_port()
    kubectl("apply", "--server-side", "--filename", str(CRD))
    wait_for("default", "condition=Established", "crd/gatewayparameters.legation.dev")
    apply(namespace, XDS.substitute(port=port, address=NODE_ADDRESS))
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    try:
        async with replica(namespace, port, NODE_ADDRESS) as running:
            yield running, port
    finally:
        kubectl("delete", "gatewayclass", namespace)
