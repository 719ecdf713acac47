"""Manifests that these tests apply, each as short as what it is about."""

from base64 import b64encode
from collections.abc import Iterable, Mapping

from tests.loopback import LOOPBACK
from tests.pki import Issued

Json = dict[str, object]

NAMESPACE = "shop"
GATEWAY_API = "gateway.networking.k8s.io/v1"
EDGE = {"name": "edge"}
SERVED_BY_US: Json = {
    "apiVersion": GATEWAY_API,
    "kind": "GatewayClass",
    "metadata": {"name": "legation"},
    "spec": {"controllerName": "legation.dev/gateway-controller"},
}


def manifest(kind: str, name: str, version: str = GATEWAY_API, **fields: object) -> Json:
    """Return an object of the namespace that everything here lies in."""
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        **fields,
    }


def elsewhere(each: Json, namespace: str) -> Json:
    """Return an object as it is in another namespace."""
    metadata = each["metadata"]
    assert isinstance(metadata, dict)
    return each | {"metadata": metadata | {"namespace": namespace}}


def edge(*listeners: Json, **spec: object) -> Json:
    """Return the Gateway, which takes part in every test."""
    asked = {"gatewayClassName": "legation", "listeners": list(listeners), **spec}
    return manifest("Gateway", "edge", spec=asked)


def http_listener(port: int) -> Json:
    """Return a listener in cleartext."""
    return {"name": f"http-{port}", "port": port, "protocol": "HTTP"}


def tcp_listener(port: int) -> Json:
    """Return a listener that one TCPRoute takes."""
    return {"name": f"tcp-{port}", "port": port, "protocol": "TCP"}


def tls_listener(name: str, port: int, secret: str, **fields: object) -> Json:
    """Return a listener that ends TLS with a Secret's certificate."""
    tls = {"mode": "Terminate", "certificateRefs": [{"name": secret}]}
    return {"name": name, "port": port, "protocol": "TLS", "tls": tls, **fields}


def route(kind: str, name: str, backends: Iterable[tuple[str, int]], **spec: object) -> Json:
    """Return a route of any kind to ports of Services, by default from every listener that takes it."""
    rule = {"backendRefs": [{"name": service, "port": port} for service, port in backends]}
    return manifest(kind, name, spec={"parentRefs": [EDGE], "rules": [rule], **spec})


def service(name: str, ports: Mapping[int, str | None]) -> Json:
    """Return a Service with what each of its ports says of its protocol."""
    written = [
        {"name": f"p{port}", "port": port} | ({"appProtocol": said} if said else {})
        for port, said in ports.items()
    ]
    return manifest("Service", name, "v1", spec={"ports": written})


def endpoints(name: str, port: int, *numbers: int | None, address: str = LOOPBACK) -> Iterable[Json]:
    """Return where a port of a Service is served, by default on loopback: None empties a slice."""
    labels = {"kubernetes.io/service-name": name}
    for place, number in enumerate(numbers):
        yield {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": f"{name}-{port}-{place}", "namespace": NAMESPACE, "labels": labels},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [address]}] if number else [],
            "ports": [{"name": f"p{port}", "port": number or port}],
        }


def policy(
    name: str, validation: Json, options: Mapping[str, str] | None = None, target: str | None = None
) -> Json:
    """Return a policy for a Service, by default for that of the same name."""
    reference = {"group": "", "kind": "Service", "name": target or name}
    spec: Json = {"targetRefs": [reference], "validation": validation}
    if options:
        spec["options"] = {f"legation.dev/{key}": value for key, value in options.items()}
    return manifest("BackendTLSPolicy", name, spec=spec)


def config_map(name: str, pem: str) -> Json:
    """Return a ConfigMap with roots."""
    return manifest("ConfigMap", name, "v1", data={"ca.crt": pem})


def root_secret(name: str, pem: str) -> Json:
    """Return a Secret with roots."""
    return manifest("Secret", name, "v1", type="Opaque", data={"ca.crt": _coded(pem)})


def trust_bundle(name: str, pem: str) -> Json:
    """Return a ClusterTrustBundle with roots."""
    return {
        "apiVersion": "certificates.k8s.io/v1beta1",
        "kind": "ClusterTrustBundle",
        "metadata": {"name": name},
        "spec": {"trustBundle": pem},
    }


def tls_secret(name: str, issued: Issued, beside: Mapping[str, str] | None = None) -> Json:
    """Return a Secret with a certificate and key, and whatever else it is to hold."""
    held = {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem, **(beside or {})}
    data = {key: _coded(text) for key, text in held.items()}
    return manifest("Secret", name, "v1", type="kubernetes.io/tls", data=data)


def _coded(text: str) -> str:
    return b64encode(text.encode()).decode()
