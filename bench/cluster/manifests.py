"""The objects that are written: routes, the Services that they lead to, where those run, and what they prove.

Every second Service has a policy: its backends have to prove a name to whoever trusts one authority.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

GATEWAY_API = "gateway.networking.k8s.io/v1"
SHARED = 10  # routes that lead to the same Service
ENDING = 3  # endpoints that still answer, but shall not be asked, as while a Deployment is replaced
FIRST = (198 << 24) + (18 << 16) + (128 << 8)
ADDRESSES = "198.18.128.0/17"  # so many that none is used twice
MOST = 32_000
SERVER_NAME = "backend.internal"
ROOTS = "roots"

Json = dict[str, Any]


class Ports(NamedTuple):
    """Where all backends answer."""

    plain: int
    tls: int

    def of(self, leads_to: str) -> int:
        """Give the port of one Service's backends."""
        return self.tls if is_proved(leads_to) else self.plain


def address(number: int) -> str:
    """Give the address of one backend; each is an address of the node."""
    assert 0 <= number < MOST, "too many endpoints for one run"
    return ".".join(str((FIRST + number >> shift) & 255) for shift in (24, 16, 8, 0))


def service(number: int) -> str:
    """Name the Service to which a route leads."""
    return f"s{number // SHARED}"


def is_proved(name: str) -> bool:
    """Say whether a Service has a policy."""
    return int(name.removeprefix("s")) % 2 == 1


def gateway_name(number: int) -> str:
    """Name a Gateway."""
    return f"edge-{number}" if number else "edge"


def route(name: str, host: str, leads_to: str, gateway: int = 0) -> Json:
    """Write a route of one host to a Service."""
    rule = {"backendRefs": [{"name": leads_to, "port": 80}]}
    spec = {"parentRefs": [{"name": gateway_name(gateway)}], "hostnames": [host], "rules": [rule]}
    return _manifest(GATEWAY_API, "HTTPRoute", name, spec=spec)


def routes(count: int, gateways: int = 1) -> Iterator[Json]:
    """Write so many routes, which so many Gateways share."""
    return (route(f"r{n}", host(n), service(n), n % gateways) for n in range(count))


def first_routes(gateways: int) -> Iterator[Json]:
    """Write a route that leads nowhere for each Gateway: Contour does not listen before there is one."""
    return (route(gateway_name(n), "first.test", "nowhere", n) for n in range(gateways))


def host(number: int) -> str:
    """Name the host of a route."""
    return f"r{number}.test"


def proved_hosts(count: int, gateways: int) -> Iterator[str]:
    """Name hosts of the first Gateway whose backends have to prove something."""
    return (host(n) for n in range(0, count, gateways) if is_proved(service(n)))


def policies(count: int) -> Iterator[Json]:
    """Write what backends of so many routes have to prove."""
    for name in filter(is_proved, _services(count)):
        validation = {
            "hostname": SERVER_NAME,
            "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": ROOTS}],
        }
        spec = {"targetRefs": [{"group": "", "kind": "Service", "name": name}], "validation": validation}
        yield _manifest(GATEWAY_API, "BackendTLSPolicy", name, spec=spec)


def roots(pem: str) -> Json:
    """Write whom policies trust."""
    return _manifest("v1", "ConfigMap", ROOTS, data={"ca.crt": pem})


def backends(count: int, ports: Ports) -> Iterator[Json]:
    """Write the Services of so many routes, each with its endpoints."""
    for name in _services(count):
        port = ports.of(name)
        spec = {"clusterIP": "None", "ports": [{"name": "http", "port": 80, "targetPort": port}]}
        yield _manifest("v1", "Service", name, spec=spec)
        yield endpoints(name, port, ENDING)


def endpoints(name: str, port: int, newest: int) -> Json:
    """Write the endpoints of a Service: one that is ready, and those before it, which are ending."""
    manifest = _manifest("discovery.k8s.io/v1", "EndpointSlice", name)
    manifest["metadata"]["labels"] = {"kubernetes.io/service-name": name}
    return manifest | {
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": [_endpoint(number, newest) for number in range(newest - ENDING, newest + 1)],
    }


def _services(count: int) -> Iterator[str]:
    return iter(dict.fromkeys(map(service, range(count))))


def _endpoint(number: int, newest: int) -> Json:
    conditions = {"ready": number == newest, "serving": True, "terminating": number != newest}
    return {"addresses": [address(number)], "conditions": conditions}


def _manifest(api_version: str, kind: str, name: str, **fields: object) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}
