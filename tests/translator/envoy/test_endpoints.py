"""Endpoints and secrets: small messages, and the names that others find them by."""

from envoy.config.endpoint.v3 import endpoint_pb2

from tests.pki import Authority
from tests.second_reader import assert_reads_equal
from tests.translator.envoy.plans import Hop, Plans, backend, judged
from translator.envoy import endpoints
from translator.envoy.resource import ENDPOINTS, SECRET
from translator.names import Name, ServicePort
from translator.rules.backend_tls import DnsName, TrustBundle, UpstreamTls
from translator.rules.certificates import KeyPair
from translator.rules.endpoints import Endpoint

PORT = ServicePort(Name("shop", "pay"), 8443)


def test_no_endpoint_is_an_answer_too() -> None:
    body = endpoints.build(PORT, ()).body
    assert_reads_equal(ENDPOINTS, body)
    assert endpoint_pb2.ClusterLoadAssignment.FromString(body) == endpoint_pb2.ClusterLoadAssignment(
        cluster_name="shop/pay:8443"
    )


def test_every_address_is_one_endpoint_under_the_port_s_name() -> None:
    found = (Endpoint("10.0.0.1", 8443), Endpoint("2001:db8::1", 8444))
    built = judged(Plans(hops=(Hop(backend("pay"), found),)))[ENDPOINTS]
    [locality] = endpoint_pb2.ClusterLoadAssignment.FromString(built["shop/pay:8080"].body).endpoints
    places = [each.endpoint.address.socket_address for each in locality.lb_endpoints]
    assert tuple(Endpoint(place.address, place.port_value) for place in places) == found


def test_roots_and_certificates_are_found_by_the_names_that_clusters_and_listeners_mention() -> None:
    root = Authority("root")
    issued = root.issue(dns=["pay.example"])
    tls = UpstreamTls("pay.internal", TrustBundle("trust/shop/tls"), (DnsName("pay.internal"),))
    hops = (Hop(backend("pay", policy="tls"), tls=tls, roots=root.pem),)
    certificates = {Name("shop", "web"): KeyPair(issued.chain_pem, issued.key_pem)}
    built = judged(Plans(hops=hops, certificates=certificates))[SECRET]
    assert built.keys() == {"trust/shop/tls", "certificate/shop/web"}
    assert issued.key_pem.encode() in built["certificate/shop/web"].body
    assert root.pem.encode() in built["trust/shop/tls"].body
