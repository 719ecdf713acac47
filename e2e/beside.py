"""The control plane as a process beside the cluster, its own authority, for the Gateways of one namespace."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from string import Template

from e2e.cluster.network import NODE_ADDRESS
from e2e.cluster.place import PROJECT
from e2e.kubectl import apply, kubectl
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


@asynccontextmanager
async def control_plane(namespace: str) -> AsyncIterator[tuple[Legation, int]]:
    """Run it beside the cluster, where pods reach it by the name of its Service."""
    port = free_port()
    kubectl("apply", "--server-side", "--filename", str(CRD))
    kubectl("wait", "--for=condition=Established", "crd/gatewayparameters.legation.dev")
    apply(namespace, XDS.substitute(port=port, address=NODE_ADDRESS))
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    place = ("--kubeconfig", os.environ["KUBECONFIG"], "--namespace", namespace, "--watch", namespace)
    try:
        async with serving("run", *place, "--xds", f"{NODE_ADDRESS}:{port}") as running:
            await running.logged("xDS port")
            yield running, port
    finally:
        kubectl("delete", "gatewayclass", namespace)
