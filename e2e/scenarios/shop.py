"""A shop: a Gateway with proxies of ours, a route, and backends with TLS that a policy has proved."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from string import Template
from typing import Any, NamedTuple, Protocol

from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import apply, eventually, read
from e2e.scenarios.backend import HOST, Backend, serving
from e2e.scenarios.background import beside
from e2e.scenarios.pods import Pods
from e2e.scenarios.traffic import Traffic, asked, flowing
from tests.pki import Authority

EDGE = "edge"

GATEWAY = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: $name}
spec:
  gatewayClassName: legation
  listeners: $listeners
""")
ROUTE = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: $backend, port: 443}]}]
""")
BACKEND = Template("""
apiVersion: v1
kind: Service
metadata: {name: $name}
spec:
  ports: [{name: https, port: 443}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: $name, labels: {kubernetes.io/service-name: $name}}
addressType: IPv4
ports: [{name: https, port: $port}]
endpoints: [{addresses: [$address]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: $name}
spec:
  targetRefs: [{group: "", kind: Service, name: $name}]
  validation:
    hostname: $host
    caCertificateRefs: [{group: "", kind: ConfigMap, name: $name}]
""")


class Named(Protocol):
    """What a Service of the same name is in front of."""

    @property
    def name(self) -> str:
        """What it is called."""


class Shop(NamedTuple):
    """A namespace with all that belongs to it."""

    namespace: str

    @property
    def proxies(self) -> Pods:
        """The Envoys of its Gateway."""
        return Pods(self.namespace, f"gateway.networking.k8s.io/gateway-name={EDGE}")

    def sells(self, backend: Backend) -> None:
        """Have a Service in front of a backend, with a policy that trusts its authority."""
        self.trusts(backend.name, backend.authority)
        values = {"name": backend.name, "port": backend.port, "address": NODE_ADDRESS, "host": HOST}
        apply(self.namespace, BACKEND.substitute(values))

    def trusts(self, name: str, *authorities: Authority) -> None:
        """Have the policy of a backend trust these and no others."""
        data = {"ca.crt": "".join(each.pem for each in authorities)}
        roots = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        apply(self.namespace, json.dumps(roots))

    def leads_to(self, backend: Named) -> None:
        """Have the route lead to a backend."""
        apply(self.namespace, ROUTE.substitute(backend=backend.name))

    def listens(self, *ports: int) -> None:
        """Have the Gateway listen on these ports."""
        listeners = [{"name": f"http-{port}", "port": port, "protocol": "HTTP"} for port in ports]
        apply(self.namespace, GATEWAY.substitute(name=EDGE, listeners=json.dumps(listeners)))

    def opens(self, backend: Named) -> str:
        """Have a Gateway whose route leads to a backend; return its address once somebody answers there."""
        self.listens(80)
        self.leads_to(backend)
        address = eventually(self.address)
        eventually(lambda: asked(address).answer)
        return address

    def address(self) -> str:
        """Read where the Gateway says that it is reached, if its Envoys took all that they were sent."""
        gateway = self._gateway()
        told = _programmed(gateway)
        newest = gateway["metadata"]["generation"]
        if (told.get("status"), told.get("observedGeneration")) != ("True", newest):
            return ""
        return str(gateway["status"]["addresses"][0]["value"])

    def programmed(self) -> dict[str, Any]:
        """Read what the Gateway says of its Envoys."""
        return _programmed(self._gateway())

    def route_is_told(self, generation: int) -> bool:
        """Say whether the route's status is about this generation of it."""
        [parent] = read("httproute", "shop", "--namespace", self.namespace)["status"]["parents"]
        return {each["observedGeneration"] for each in parent["conditions"]} == {generation}

    def _gateway(self) -> dict[str, Any]:
        return read("gateway", EDGE, "--namespace", self.namespace)


def _programmed(gateway: dict[str, Any]) -> dict[str, Any]:
    return next((dict(each) for each in gateway["status"]["conditions"] if each["type"] == "Programmed"), {})


@contextmanager
def visited(shop: Shop, *backends: Backend) -> Iterator[Traffic]:
    """Have constant traffic to the first of some backends, none of which ever hears a word in cleartext."""
    with beside(serving(*backends)):
        for each in backends:
            shop.sells(each)
        with beside(flowing(Traffic(shop.opens(backends[0])))) as traffic:
            traffic.more()
            yield traffic
            traffic.more()
    assert [each.cleartext for each in backends] == [[] for _ in backends]
