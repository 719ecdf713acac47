"""XBackends that no API server lets in, and that are refused all the same."""

from typing import Any, TypeVar

import msgspec
import pytest

from tests.golden import pems
from translator.names import Name, ServicePort
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.http_route import HTTPRoute
from translator.objects.provenance import TracedMeta
from translator.objects.x_backend import X_GROUP, XBackend
from translator.rules.backends import Traffic, resolve
from translator.rules.endpoints import endpoints
from translator.rules.gateways import CONTROLLER
from translator.rules.grants import Pointee, Pointer
from translator.rules.managed import RUNS_PROXIES
from translator.rules.x_backend_status import x_backend_status
from translator.rules.x_backends import judge
from translator.translate import INDEXES
from translator.verdict import Refused
from translator.world import World

T = TypeVar("T")

PAY = Name("shop", "pay")
POINTER = Pointer("gateway.networking.k8s.io", "HTTPRoute", "shop")
VALIDATION = {
    "hostname": "pay.internal",
    "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "roots"}],
}
RIGHT: dict[str, Any] = {
    "type": "EndpointSelector",
    "port": {"number": 443},
    "endpointSelector": {"matchLabels": {"app": "pay"}},
}


def world_with(**spec: Any) -> World:  # noqa: ANN401  any JSON
    world = World(INDEXES)
    written = {"metadata": {"name": "pay", "namespace": "shop"}, "spec": RIGHT | spec}
    world.put(XBackend, PAY, msgspec.json.decode(msgspec.json.encode(written), type=XBackend))
    roots = ConfigMap(TracedMeta("roots", "shop"), {"ca.crt": pems()["roots"]})
    world.put(ConfigMap, Name("shop", "roots"), roots)
    return world


def reached(world: World, traffic: Traffic = Traffic.HTTP, port: int | None = None) -> str:
    found = resolve(world, POINTER, Pointee(X_GROUP, "XBackend", PAY), port, traffic)
    return found.reason if isinstance(found, Refused) else str(found)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"port": {}}, "UnsupportedValue"),
        ({"endpointSelector": {"matchLabels": {}}}, "UnsupportedValue"),
        ({"endpointSelector": None}, "UnsupportedValue"),
        ({"type": "ExternalHostname", "endpointSelector": None}, "UnsupportedValue"),
        ({"externalHostname": {"hostname": "metadata.google.internal"}}, "UnsupportedValue"),
        ({"protocol": "HTTP2"}, "UnsupportedProtocol"),
        ({"protocol": "WSS"}, "UnsupportedProtocol"),
        ({"protocol": "H2C", "tls": {"mode": "ServerOnly", "validation": VALIDATION}}, "UnsupportedProtocol"),
    ],
)
def test_what_no_api_server_lets_in_is_refused(spec: dict[str, Any], reason: str) -> None:
    assert reached(world_with(**spec)) == reason


def test_who_is_not_there_is_nowhere() -> None:
    gone = World(INDEXES)
    for kind in ("Service", "ServiceImport", "XBackend"):
        assert endpoints(gone, ServicePort(PAY, 443, kind=kind)) == ()


def test_a_reference_with_a_port_is_refused() -> None:
    assert reached(world_with()) == "XBackend/shop/pay:443"
    assert reached(world_with(), port=443) == "UnsupportedValue"


@pytest.mark.parametrize(
    ("traffic", "found"),
    [
        (Traffic.HTTP, "XBackend/shop/pay:443"),
        (Traffic.GRPC, "XBackend/shop/pay:443/h2"),
        (Traffic.TERMINATED, "UnsupportedValue"),
        (Traffic.PASSTHROUGH, "UnsupportedValue"),
        (Traffic.TCP, "UnsupportedValue"),
    ],
)
def test_requests_and_calls_alone_reach_who_keeps_sessions(traffic: Traffic, found: str) -> None:
    assert reached(world_with(sessionPersistence={"cookie": {}}), traffic) == found


@pytest.mark.parametrize(
    ("tls", "reason"),
    [
        ({"mode": "ServerOnly"}, "Invalid"),
        ({"mode": "None", "validation": VALIDATION}, "Invalid"),
        ({"mode": "ClientAndServer", "validation": VALIDATION}, "Invalid"),
        (
            {
                "mode": "ClientAndServer",
                "validation": VALIDATION,
                "clientCertificateRef": {"kind": "ConfigMap", "name": "roots"},
            },
            "InvalidKind",
        ),
        ({"mode": "Later", "validation": {"hostname": "pay.internal"}}, "Invalid"),
        ({"mode": "Later", "validation": VALIDATION}, "Invalid"),
        (
            {"mode": "ServerOnly", "validation": VALIDATION, "clientCertificateRef": {"name": "pay"}},
            "Invalid",
        ),
    ],
)
def test_tls_that_is_not_wholly_said_fails_and_is_no_plaintext(tls: dict[str, Any], reason: str) -> None:
    world = world_with(tls=tls)
    assert reached(world) == "XBackend/shop/pay:443+tls"
    verdict = judge(world, PAY).value
    assert isinstance(verdict, Refused)
    assert verdict.reason == reason


@pytest.mark.parametrize(
    ("protocol", "traffic", "name"),
    [
        (None, Traffic.HTTP, "XBackend/shop/pay:443"),
        (None, Traffic.GRPC, "XBackend/shop/pay:443/h2"),
        ("HTTP", Traffic.GRPC, "XBackend/shop/pay:443/h2"),
        ("HTTP11", Traffic.HTTP, "XBackend/shop/pay:443"),
        ("HTTP11", Traffic.GRPC, "UnsupportedProtocol"),
        ("GRPC", Traffic.HTTP, "XBackend/shop/pay:443/h2"),
        ("H2C", Traffic.TCP, "XBackend/shop/pay:443/tcp"),
        ("TCP", Traffic.TERMINATED, "XBackend/shop/pay:443/tcp"),
        ("TCP", Traffic.PASSTHROUGH, "XBackend/shop/pay:443/tcp"),
        (None, Traffic.UDP, "UnsupportedProtocol"),
    ],
)
def test_what_is_spoken_is_what_the_xbackend_says_to_this_traffic(
    protocol: str | None, traffic: Traffic, name: str
) -> None:
    assert reached(world_with(**({"protocol": protocol} if protocol else {})), traffic) == name


def test_while_nobody_says_where_pods_are_the_status_says_who_will() -> None:
    world = world_with()
    world.put(
        GatewayClass, Name("", "legation"), read(GatewayClass, "legation", {"controllerName": CONTROLLER})
    )
    listener = {"name": "http", "port": 80, "protocol": "HTTP"}
    world.put(
        Gateway,
        Name("shop", "edge"),
        read(Gateway, "edge", {"gatewayClassName": "legation", "listeners": [listener]}),
    )
    rule = {"backendRefs": [{"group": X_GROUP, "kind": "XBackend", "name": "pay"}]}
    world.put(HTTPRoute, PAY, read(HTTPRoute, "pay", {"parentRefs": [{"name": "edge"}], "rules": [rule]}))
    assert said(world).endswith("create one")
    world.state(RUNS_PROXIES, value=True)
    assert said(world).endswith("one is being made")


def read(kind: type[T], name: str, spec: dict[str, object]) -> T:
    return msgspec.convert({"metadata": {"name": name, "namespace": "shop"}, "spec": spec}, kind)


def said(world: World) -> str:
    """Return what an XBackend's status says beside that it is accepted."""
    [entry] = x_backend_status(world, PAY).ancestors
    return entry.conditions[0].message
