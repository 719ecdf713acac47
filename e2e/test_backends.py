"""Backends that are no Services against a real API server: kinds that come late, and statuses."""

from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import pytest

from e2e.beside import gateway, replica, told
from e2e.kubectl import apply, kubectl, read, wait_for
from e2e.test_run import CLASS
from tests.legation.running import free_port

pytestmark = pytest.mark.asyncio

PARAMETERS = Path(__file__).parents[1] / "deploy/helm/legation/crds/legation.dev_gatewayparameters.yaml"
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: serviceimports.multicluster.x-k8s.io
  annotations: {api-approved.kubernetes.io: "https://github.com/kubernetes/enhancements/pull/1646"}
spec:
  group: multicluster.x-k8s.io
  scope: Namespaced
  names: {plural: serviceimports, singular: serviceimport, kind: ServiceImport}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
BACKENDS = """
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: pay}
spec:
  type: ExternalHostname
  port: {number: 443}
  externalHostname: {hostname: pay.example.com}
  tls: {mode: ServerOnly, validation: {hostname: pay.example.com, wellKnownCACertificates: System}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {value: /all}}]
    backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: pay, port: 443}]
  - backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: pay}]
"""
IMPORT = """
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: {name: pay}
spec: {type: ClusterSetIP, ports: [{port: 443}]}
"""
PERMITTING = Template("""
apiVersion: legation.dev/v1alpha1
kind: GatewayParameters
metadata: {name: permitting}
spec: {externalNames: Permit}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace}
spec:
  controllerName: legation.dev/gateway-controller
  parametersRef: {group: legation.dev, kind: GatewayParameters, name: permitting, namespace: $namespace}
""")


@pytest.fixture
def shop(namespace: str) -> Iterator[str]:
    """A namespace with a class of ours, in a cluster that knows no ServiceImports yet."""
    kubectl("apply", "--filename=-", given=CLASS.substitute(namespace=namespace))
    yield namespace
    kubectl("delete", "gatewayclass", namespace)
    kubectl("delete", "crd", "serviceimports.multicluster.x-k8s.io", "--ignore-not-found")


def reason(namespace: str, kind: str, entries: str, condition: str) -> str:
    """Read why a condition of `pay` is as it is."""
    status: Any = read(kind, "pay", "--namespace", namespace).get("status", {})
    found = (each for entry in status.get(entries, []) for each in entry["conditions"])
    return next((each["reason"] for each in found if each["type"] == condition), "")


async def test_kinds_that_come_late_are_read_and_statuses_follow_what_is_permitted(shop: str) -> None:
    apply(shop, BACKENDS)
    gateway(shop, "edge", free_port())
    async with replica(shop, free_port()):
        await told(lambda: reason(shop, "xbackend", "ancestors", "Accepted") == "ExternalNamesForbidden")
        await told(lambda: reason(shop, "httproute", "parents", "ResolvedRefs") == "BackendNotFound")
        kubectl("apply", "--filename=-", given=CRD)
        wait_for("default", "condition=Established", "crd/serviceimports.multicluster.x-k8s.io")
        apply(shop, IMPORT)
        await told(lambda: reason(shop, "httproute", "parents", "ResolvedRefs") == "ExternalNamesForbidden")
        kubectl("apply", "--server-side", f"--filename={PARAMETERS}")
        wait_for("default", "condition=Established", "crd/gatewayparameters.legation.dev")
        apply(shop, PERMITTING.substitute(namespace=shop))
        await told(lambda: reason(shop, "xbackend", "ancestors", "Accepted") == "Accepted")
        await told(lambda: reason(shop, "httproute", "parents", "ResolvedRefs") == "ResolvedRefs")
