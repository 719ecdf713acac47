"""The same shop for everybody: manifests as an API server stores them, with every default written out.

Each route has three rules to two Services with ten endpoints each; every second Service has a policy, whose
CA is in one of ten ConfigMaps.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from tests.pki import Authority

Manifest = dict[str, object]

NAMESPACE = "shop"
CLASS = "bench"
GATEWAY_GROUP = "gateway.networking.k8s.io"
GATEWAY_API = f"{GATEWAY_GROUP}/v1"
PORT = 8443
PATHS = ("/", "/a", "/b")
CONFIG_MAPS = 10
TOUCHED = 7  # the number of whatever is changed; it is odd, so there is a policy of that number


class Size(NamedTuple):
    """How large a shop is."""

    routes: int
    gateways: int

    def __str__(self) -> str:
        """As a heading says it."""
        return f"{self.routes} routes in {self.gateways} Gateway{'' if self.gateways == 1 else 's'}"


def manifests(size: Size, controller: str) -> Iterator[Manifest]:
    """Write a whole shop, for the control plane of this name."""
    yield _manifest("v1", "Namespace", NAMESPACE, {}, namespace="")
    yield _manifest(GATEWAY_API, "GatewayClass", CLASS, {"controllerName": controller}, namespace="")
    for n in range(size.gateways):
        yield _gateway(n)
    for n in range(CONFIG_MAPS):
        yield config_map(n, 0)
    for n in range(size.routes):
        yield _service(n)
        yield endpoints(n, 0)
        yield route(n, 0, size)
        if n % 2:
            yield policy(n, 0)


def route(n: int, turn: int, size: Size) -> Manifest:
    """Write a route to its own Service and to a neighbour's; each turn it sets another header."""
    headers = {"set": [{"name": "x-turn", "value": str(turn)}]}
    rules = [
        {
            "matches": [{"path": {"type": "PathPrefix", "value": path}}],
            "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": headers}],
            "backendRefs": [_reference("Service", f"s{to}", port=PORT, weight=1) for to in (n, n // 2)],
        }
        for path in PATHS
    ]
    parent = {"group": GATEWAY_GROUP, "kind": "Gateway", "name": f"g{n % size.gateways}"}
    spec = {"parentRefs": [parent], "hostnames": [host(n)], "rules": rules}
    return _manifest(GATEWAY_API, "HTTPRoute", f"r{n}", spec)


def host(n: int) -> str:
    """Name the host that a route answers."""
    return f"r{n}.shop.test"


def endpoints(n: int, turn: int) -> Manifest:
    """Write the endpoints of one Service; each turn the last of the ten is another."""
    ready = {"ready": True, "serving": True, "terminating": False}
    last = 20 + turn
    made = _manifest("discovery.k8s.io/v1", "EndpointSlice", f"s{n}", None)
    made["metadata"] = {
        "name": f"s{n}",
        "namespace": NAMESPACE,
        "labels": {"kubernetes.io/service-name": f"s{n}"},
    }
    return made | {
        "addressType": "IPv4",
        "ports": [{"name": "main", "port": PORT, "protocol": "TCP"}],
        "endpoints": [
            {"addresses": [f"198.18.{n % 250}.{i}"], "conditions": ready} for i in (*range(10, 19), last)
        ],
    }


def policy(n: int, turn: int) -> Manifest:
    """Write the policy of one Service; each turn its backend has to prove another name."""
    spec = {
        "targetRefs": [_reference("Service", f"s{n}")],
        "validation": {
            "hostname": f"s{n}-{turn}.internal",
            "caCertificateRefs": [_reference("ConfigMap", f"c{n % CONFIG_MAPS}")],
        },
    }
    return _manifest(GATEWAY_API, "BackendTLSPolicy", f"p{n}", spec)


def config_map(n: int, turn: int) -> Manifest:
    """Write one of the ConfigMaps that policies share; each turn there is another authority in it."""
    return _manifest("v1", "ConfigMap", f"c{n}", None) | {"data": {"ca.crt": _roots(turn)}}


Change = Callable[[int, Size], Manifest]
CHANGES: Mapping[str, Change] = MappingProxyType({
    "one endpoint": lambda turn, _: endpoints(TOUCHED, turn),
    "one route": lambda turn, size: route(TOUCHED, turn, size),
    "one policy": lambda turn, _: policy(TOUCHED, turn),
    "a CA of a tenth of the policies": lambda turn, _: config_map(TOUCHED, turn),
})  # fmt: skip


def _gateway(n: int) -> Manifest:
    allowed = {"namespaces": {"from": "Same"}}
    listener = {"name": "http", "port": 80, "protocol": "HTTP", "allowedRoutes": allowed}
    return _manifest(GATEWAY_API, "Gateway", f"g{n}", {"gatewayClassName": CLASS, "listeners": [listener]})


def _service(n: int) -> Manifest:
    port = {"name": "main", "port": PORT, "targetPort": PORT, "protocol": "TCP"}
    address = f"198.19.{n // 250}.{n % 250 + 1}"
    return _manifest("v1", "Service", f"s{n}", {"type": "ClusterIP", "clusterIP": address, "ports": [port]})


def _reference(kind: str, name: str, **more: object) -> Manifest:
    return {"group": "", "kind": kind, "name": name, **more}


def _manifest(api_version: str, kind: str, name: str, spec: object, namespace: str = NAMESPACE) -> Manifest:
    place = {"namespace": namespace} if namespace else {}
    made: Manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **place}}
    return made if spec is None else made | {"spec": spec}


@cache
def _roots(turn: int) -> str:
    return Authority(f"roots {turn}").pem
