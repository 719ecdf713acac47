"""What is spoken at a port, by what it says itself, and that none which says TLS is reached in the clear."""

import pytest

from tests.translator.rules.backend_tls_given import policy, shop, world_of
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.meta import ObjectMeta
from translator.objects.references import GATEWAY_GROUP
from translator.objects.service import Service, ServicePort, ServiceSpec
from translator.rules.backends import Backend, Protocol, Traffic, resolve
from translator.rules.grants import Pointee, Pointer
from translator.rules.insecure_verification import SKIP, Weakness
from translator.verdict import Refused

SAYS_TLS = ("https", "HTTPS", "kubernetes.io/wss", "tls", "TLS", "ssl", "h2", "grpcs")
ENDED_HERE = (Traffic.HTTP, Traffic.GRPC, Traffic.TERMINATED)
CARRIED = {Traffic.PASSTHROUGH: Protocol.TCP, Traffic.TCP: Protocol.TCP, Traffic.UDP: Protocol.UDP}
POLICY = policy("tls", "pay", system="System")


def reached(said: str, traffic: Traffic, *policies: BackendTLSPolicy) -> Backend | Refused:
    """Follow a reference to a port that says this by its appProtocol."""
    transport = "UDP" if traffic is Traffic.UDP else "TCP"
    ports = (ServicePort(443, "https", transport, app_protocol=said),)
    pay = Service(ObjectMeta("pay", "shop"), ServiceSpec(ports=ports))
    pointer = Pointer(GATEWAY_GROUP, traffic.value.split()[0], "shop")
    return resolve(world_of(pay, *policies), pointer, Pointee("", "Service", shop("pay")), 443, traffic)


@pytest.mark.parametrize("traffic", ENDED_HERE)
@pytest.mark.parametrize("said", SAYS_TLS)
def test_a_port_that_says_tls_in_whatever_case_is_not_reached_without_a_policy(
    said: str, traffic: Traffic
) -> None:
    found = reached(said, traffic)
    assert isinstance(found, Refused)
    assert found.reason == "UnsupportedProtocol"
    assert "no BackendTLSPolicy says what TLS must prove there" in found.message


@pytest.mark.parametrize("traffic", CARRIED)
@pytest.mark.parametrize("said", SAYS_TLS)
def test_what_is_only_carried_to_a_port_that_says_tls_is_what_clients_bring(
    said: str, traffic: Traffic
) -> None:
    found = reached(said, traffic)
    assert isinstance(found, Backend)
    assert (found.protocol, found.policy) == (CARRIED[traffic], None)


@pytest.mark.parametrize(
    ("said", "by_requests", "by_calls"),
    [
        ("", Protocol.HTTP, Protocol.HTTP2),
        ("http", Protocol.HTTP, Protocol.HTTP2),
        ("HTTP", Protocol.HTTP, Protocol.HTTP2),
        ("kubernetes.io/ws", Protocol.HTTP, None),
        ("kubernetes.io/h2c", Protocol.HTTP2, Protocol.HTTP2),
        ("h2c", Protocol.HTTP2, Protocol.HTTP2),
        ("http2", Protocol.HTTP2, Protocol.HTTP2),
        ("grpc", Protocol.HTTP2, Protocol.HTTP2),
        ("https", Protocol.HTTP, Protocol.HTTP2),
        ("HTTPS", Protocol.HTTP, Protocol.HTTP2),
        ("kubernetes.io/wss", Protocol.HTTP, None),
        ("tls", Protocol.HTTP, Protocol.HTTP2),
        ("ssl", Protocol.HTTP, Protocol.HTTP2),
        ("h2", Protocol.HTTP2, Protocol.HTTP2),
        ("grpcs", Protocol.HTTP2, Protocol.HTTP2),
        ("mysql", None, None),
    ],
)
def test_a_policy_has_each_kind_of_traffic_speak_what_the_port_says_inside_tls(
    said: str, by_requests: Protocol | None, by_calls: Protocol | None
) -> None:
    spoken = {
        Traffic.HTTP: by_requests,
        Traffic.GRPC: by_calls,
        Traffic.TERMINATED: Protocol.TCP,
        Traffic.TCP: Protocol.TCP,
    }
    for traffic, protocol in spoken.items():
        found = reached(said, traffic, POLICY)
        if protocol is None:
            assert isinstance(found, Refused)
            assert found.reason == "UnsupportedProtocol"
        else:
            assert isinstance(found, Backend)
            assert (found.protocol, found.policy) == (protocol, shop("tls"))


@pytest.mark.parametrize("traffic", [*ENDED_HERE, Traffic.TCP])
@pytest.mark.parametrize("said", ["", "https", "grpc"])
def test_a_policy_that_skips_verification_needs_permission_whatever_the_port_says(
    said: str, traffic: Traffic
) -> None:
    found = reached(said, traffic, policy("tls", "pay", system=SKIP))
    assert isinstance(found, Backend)
    assert found.weakness is Weakness.UNVERIFIED
