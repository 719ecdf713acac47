"""The same shop for everybody: manifests as an API server stores them.

Every default is written out, and whoever changes a spec raises the generation. Each route has three rules to
two Services with ten endpoints each; every second Service has a policy, whose CA is in one of ten ConfigMaps.
A Secret waits for a listener with TLS.
"""

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from tests.pki import Authority

Manifest = dict[str, object]

NAMESPACE = "shop"
CLASS = "bench"
GATEWAY_GROUP = "gateway.networking.k8s.io"
GATEWAY_API = f"{GATEWAY_GROUP}/v1"
PORT = 8443
PATHS = ("/", "/a", "/b")
CONFIG_MAPS = 10
CERTIFICATE = "edge"  # the name of a Secret
CREATED = "2026-01-01T00:00:00Z"
COUNTED = frozenset({"GatewayClass", "Gateway", "HTTPRoute", "BackendTLSPolicy", "EndpointSlice"})


class Size(NamedTuple):
    """How large a shop is."""

    routes: int
    gateways: int

    def __str__(self) -> str:
        """As a heading says it."""
        return f"{self.routes} routes in {self.gateways} Gateway{'' if self.gateways == 1 else 's'}"


def manifests(size: Size, controller: str) -> Iterator[Manifest]:
    """Write a whole shop, for the control plane of this name."""
    yield _manifest("v1", "Namespace", NAMESPACE, {})
    yield _manifest(GATEWAY_API, "GatewayClass", CLASS, {"controllerName": controller})
    for n in range(size.gateways):
        yield gateway(n, HTTP)
    for n in range(CONFIG_MAPS):
        yield config_map(n, 0)
    yield certificate(0)
    for n in range(size.routes):
        yield _service(n)
        yield endpoints(n, 0)
        yield route(n, 0, n % size.gateways, size)
        if n % 2:
            yield policy(n, 0)


def gateway(n: int, *listeners: Manifest, turn: int = 0) -> Manifest:
    """Write a Gateway."""
    spec = {"gatewayClassName": CLASS, "listeners": listeners}
    return _manifest(GATEWAY_API, "Gateway", f"g{n}", spec, turn)


def listener(name: str, port: int, **more: object) -> Manifest:
    """Write a listener, which is for HTTP unless something else is said."""
    allowed = {"namespaces": {"from": "Same"}}
    return {"name": name, "port": port, "protocol": "HTTP", "allowedRoutes": allowed, **more}


HTTP = listener("http", 80)


def route(n: int, turn: int, parent: int, size: Size) -> Manifest:
    """Write a route to its own Service and to a neighbour's; each turn it sets another header."""
    headers = {"set": [{"name": "x-turn", "value": str(turn)}]}
    leads_to = (n % size.routes, n // 2 % size.routes)  # whoever comes later has no Service of its own
    rules = [
        {
            "matches": [{"path": {"type": "PathPrefix", "value": path}}],
            "filters": [{"type": "RequestHeaderModifier", "requestHeaderModifier": headers}],
            "backendRefs": [_reference("Service", f"s{to}", port=PORT, weight=1) for to in leads_to],
        }
        for path in PATHS
    ]
    attached = {"group": GATEWAY_GROUP, "kind": "Gateway", "name": f"g{parent}"}
    spec = {"parentRefs": [attached], "hostnames": [host(n)], "rules": rules}
    return _manifest(GATEWAY_API, "HTTPRoute", f"r{n}", spec, turn)


def host(n: int) -> str:
    """Name the host that a route answers."""
    return f"r{n}.shop.test"


def endpoints(n: int, turn: int) -> Manifest:
    """Write the endpoints of one Service; each turn the last of the ten is another."""
    ready = {"ready": True, "serving": True, "terminating": False}
    last = 20 + turn
    labels = {"kubernetes.io/service-name": f"s{n}"}
    return _manifest("discovery.k8s.io/v1", "EndpointSlice", f"s{n}", None, turn, labels=labels) | {
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
    return _manifest(GATEWAY_API, "BackendTLSPolicy", f"p{n}", spec, turn)


def config_map(n: int, turn: int) -> Manifest:
    """Write one of the ConfigMaps that policies share; each turn there is another authority in it."""
    return _manifest("v1", "ConfigMap", f"c{n}", None, turn) | {"data": {"ca.crt": _roots(turn)}}


def certificate(turn: int) -> Manifest:
    """Write the Secret that a listener with TLS shows; each turn there is another certificate in it."""
    made = _manifest("v1", "Secret", CERTIFICATE, None, turn)
    return made | {"type": "kubernetes.io/tls", "data": _shown(turn)}


def _service(n: int) -> Manifest:
    port = {"name": "main", "port": PORT, "targetPort": PORT, "protocol": "TCP"}
    address = f"198.19.{n // 250}.{n % 250 + 1}"
    return _manifest("v1", "Service", f"s{n}", {"type": "ClusterIP", "clusterIP": address, "ports": [port]})


def _reference(kind: str, name: str, **more: object) -> Manifest:
    return {"group": "", "kind": kind, "name": name, **more}


def _manifest(
    api_version: str, kind: str, name: str, spec: object, turn: int = 0, **metadata: object
) -> Manifest:
    """Write what the API server adds to an object: the more turns, the newer it is."""
    place = {} if kind in {"Namespace", "GatewayClass"} else {"namespace": NAMESPACE}
    added = {
        "uid": str(uuid5(NAMESPACE_URL, f"{kind}/{name}")),
        "resourceVersion": str(1 + turn),
        "creationTimestamp": CREATED,
        **({"generation": 1 + turn} if kind in COUNTED else {}),
    }
    made: Manifest = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **place, **added, **metadata},
    }
    return made if spec is None else made | {"spec": spec}


@cache
def _roots(turn: int) -> str:
    return Authority(f"roots {turn}").pem


@cache
def _shown(turn: int) -> dict[str, str]:
    issued = Authority(f"edge {turn}").issue(dns=("*.shop.test",))
    return {
        name: b64encode(pem.encode()).decode()
        for name, pem in {"tls.crt": issued.pem, "tls.key": issued.key_pem}.items()
    }
