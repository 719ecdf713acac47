"""Backends that are no Services against a real API server: kinds that come late, statuses, and traffic."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from e2e.beside import control_plane, gateway, replica, told
from e2e.kubectl import apply, kubectl, read, rolled_out, wait_for
from e2e.test_proxies import address as address_of
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
def shop(inside: None, namespace: str) -> Iterator[str]:  # noqa: ARG001  others may have a kind to lose
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


SELECTED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: pay}
spec:
  replicas: 2
  selector: {matchLabels: {app: pay}}
  template:
    metadata: {labels: {app: pay}}
    spec:
      containers:
        - name: pay
          image: gateway-api/echo-basic:v1.0.0
          env:
            - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
            - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
          readinessProbe: {httpGet: {path: /, port: 3000}, periodSeconds: 1}
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: pay}
spec:
  type: EndpointSelector
  port: {number: 3000}
  endpointSelector: {matchLabels: {app: pay}}
  sessionPersistence: {cookie: {name: PAY}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: pay}
spec:
  parentRefs: [{name: edge}]
  rules:
  - matches: [{path: {value: /all}}]
    backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: all, port: 80}]
  - backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: pay}]
"""
IMPORTED = Template("""
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ServiceImport
metadata: {name: all}
spec: {type: ClusterSetIP, ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: all, labels: {multicluster.kubernetes.io/service-name: all}}
addressType: IPv4
ports: [{name: http, port: 3000}]
endpoints: [{addresses: [$address]}]
""")
BYSTANDER = """
apiVersion: v1
kind: Service
metadata: {name: bystander, labels: {legation.dev/x-backend: pay, app.kubernetes.io/managed-by: legation}}
spec: {selector: {app: other}, ports: [{port: 80}]}
"""
VISITS = 60  # of two pods one is missed once in 10^17 runs


def served_by(address: str, cookie: str = "", path: str = "/") -> tuple[str, str]:
    """Ask a Gateway; return which pod answered, and the cookie that it gave."""
    asking = Request(f"http://{address}{path}", headers={"cookie": cookie} if cookie else {})
    try:
        with urlopen(asking, timeout=30) as answer:  # noqa: S310  the same
            given = str(answer.headers["set-cookie"] or "").partition(";")[0]
            return str(json.load(answer)["pod"]), given
    except HTTPError as refused:
        refused.close()
        raise


def made(namespace: str) -> list[dict[str, Any]]:
    """Read the Services that are there for XBackends, but for the bystander."""
    found = read("services", "--namespace", namespace, "--selector=legation.dev/x-backend=pay")["items"]
    return [each for each in found if each["metadata"]["name"] != "bystander"]


async def is_kept(namespace: str, address: str) -> str:
    """See that what was made is as it should be and comes back when somebody deletes it; return its name."""
    [service] = made(namespace)
    assert service["spec"]["clusterIP"] == "None"
    [owner] = service["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("XBackend", "pay")
    name = str(service["metadata"]["name"])
    await asyncio.to_thread(kubectl, "delete", "service", name, "--namespace", namespace)
    await told(lambda: made(namespace))
    await told(lambda: served_by(address))
    return name


@pytest.fixture
def imports(inside: None) -> Iterator[None]:  # noqa: ARG001  a fixture cannot be marked to use another
    """The cluster knows ServiceImports."""
    kubectl("apply", "--filename=-", given=CRD)
    wait_for("default", "condition=Established", "crd/serviceimports.multicluster.x-k8s.io")
    yield
    kubectl("delete", "crd", "serviceimports.multicluster.x-k8s.io")


async def reaches_an_import(namespace: str, address: str) -> None:
    """See that a ServiceImport leads to where its slices say: here, to one of the pods."""
    pod = read("pods", "--namespace", namespace, "--selector=app=pay")["items"][0]
    apply(namespace, IMPORTED.substitute(address=pod["status"]["podIP"]))
    await told(lambda: served_by(address, path="/all"))
    assert served_by(address, path="/all")[0] == pod["metadata"]["name"]


@pytest.mark.usefixtures("imports")
async def test_pods_that_an_xbackend_selects_or_an_import_names_are_reached_without_a_service_of_users(
    namespace: str,
) -> None:
    apply(namespace, SELECTED)
    apply(namespace, BYSTANDER)
    await asyncio.to_thread(rolled_out, namespace, "pay")
    async with control_plane(namespace):
        gateway(namespace, "edge")
        await told(lambda: address_of(namespace, "edge"))
        address = address_of(namespace, "edge")
        await told(lambda: served_by(address))
        assert len({served_by(address)[0] for _ in range(VISITS)}) == 2
        pod, cookie = served_by(address)
        assert cookie.startswith("PAY=")
        assert {served_by(address, cookie)[0] for _ in range(VISITS)} == {pod}
        await reaches_an_import(namespace, address)
        name = await is_kept(namespace, address)
        before = read("service", "bystander", "--namespace", namespace)["metadata"]["resourceVersion"]
        kubectl("delete", "xbackend", "pay", "--namespace", namespace)
        await asyncio.to_thread(wait_for, namespace, "delete", f"service/{name}")
        after = read("service", "bystander", "--namespace", namespace)["metadata"]["resourceVersion"]
        assert before == after
