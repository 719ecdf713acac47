"""The objects that are written: a Gateway's routes, the Services that they lead to, and where those run."""

from collections.abc import Iterator
from typing import Any

GATEWAY_API = "gateway.networking.k8s.io/v1"
SHARED = 10  # routes that lead to the same Service
ENDING = 3  # endpoints that still answer, but shall not be asked, as while a Deployment is replaced
FIRST = (198 << 24) + (18 << 16) + (128 << 8)
ADDRESSES = "198.18.128.0/17"  # so many that none is used twice
MOST = 32_000

Json = dict[str, Any]


def address(number: int) -> str:
    """Give the address of one backend; each is an address of the node."""
    assert 0 <= number < MOST, "too many endpoints for one run"
    return ".".join(str((FIRST + number >> shift) & 255) for shift in (24, 16, 8, 0))


def service(number: int) -> str:
    """Name the Service to which a route leads."""
    return f"s{number // SHARED}"


def route(name: str, host: str, leads_to: str) -> Json:
    """Write a route of one host to a Service."""
    rule = {"backendRefs": [{"name": leads_to, "port": 80}]}
    spec = {"parentRefs": [{"name": "edge"}], "hostnames": [host], "rules": [rule]}
    return _manifest(GATEWAY_API, "HTTPRoute", name, spec=spec)


def routes(count: int) -> Iterator[Json]:
    """Write so many routes."""
    return (route(f"r{n}", f"r{n}.test", service(n)) for n in range(count))


def backends(count: int, port: int) -> Iterator[Json]:
    """Write the Services of so many routes, each with its endpoints."""
    for name in dict.fromkeys(map(service, range(count))):
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


def _endpoint(number: int, newest: int) -> Json:
    conditions = {"ready": number == newest, "serving": True, "terminating": number != newest}
    return {"addresses": [address(number)], "conditions": conditions}


def _manifest(api_version: str, kind: str, name: str, **fields: object) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}
