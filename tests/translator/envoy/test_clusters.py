"""Clusters: what is spoken to a backend, and that a refusal never becomes plaintext."""

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from tests.translator.envoy.plans import Hop, Plans, backend, judged
from translator.envoy import clusters
from translator.envoy.config_source import OVER_ADS
from translator.envoy.resource import CLUSTER
from translator.rules.backend_tls import DnsName, SystemRoots, TrustBundle, UpstreamTls
from translator.rules.backends import Protocol
from translator.verdict import Refused

REFUSED = Refused("NoValidCACertificate", "ConfigMap shop/roots does not exist")
BUNDLE = UpstreamTls("pay.internal", TrustBundle("trust/shop/tls"), (DnsName("pay.internal"),))
SYSTEM = UpstreamTls("pay.internal", SystemRoots(), (DnsName("pay.internal"),))
WITH_TLS = (Protocol.HTTP, Protocol.HTTP2, Protocol.TCP)
VERDICTS = (
    BUNDLE,
    SYSTEM,
    UpstreamTls("a", SystemRoots(), (DnsName("a"),), alpn=("h2", "http/1.1")),
    REFUSED,
)


def read(body: bytes) -> cluster_pb2.Cluster:
    return cluster_pb2.Cluster.FromString(body)


def test_a_backend_without_a_policy_takes_its_endpoints_from_eds_and_has_no_tls() -> None:
    built = judged(Plans(hops=tuple(Hop(backend("pay", protocol)) for protocol in Protocol)))[CLUSTER]
    assert set(built) == {
        "legation/refused",
        "shop/pay:8080",
        "shop/pay:8080/h2",
        "shop/pay:8080/tcp",
        "shop/pay:8080/udp",
    }
    for name, cluster in built.items():
        assert read(cluster.body).name == name
        assert not read(cluster.body).HasField("transport_socket")
        assert cluster.secrets == ()
    assert built["shop/pay:8080/h2"].endpoints == "shop/pay:8080"
    assert built["shop/pay:8080/udp"].endpoints == "shop/pay:8080/udp"
    assert read(built["shop/pay:8080/tcp"].body).eds_cluster_config.service_name == "shop/pay:8080"


def test_what_is_looked_up_by_name_waits_for_no_endpoints() -> None:
    found = clusters.build(backend("pay")._replace(by_name=True), None, at="pay.example")
    assert found.endpoints is None
    assert not read(found.body).HasField("eds_cluster_config")


@pytest.mark.parametrize("tls", [None, BUNDLE])
def test_no_threshold_of_envoys_own_answers_for_a_backend(tls: UpstreamTls | None) -> None:
    built = read(clusters.build(backend("pay", policy="tls" if tls else ""), tls).body)
    [thresholds] = built.circuit_breakers.thresholds
    most = (thresholds.max_connections, thresholds.max_pending_requests, thresholds.max_requests)
    assert [each.value for each in (*most, thresholds.max_retries)] == [2**32 - 1] * 4


@pytest.mark.parametrize("tls", [BUNDLE, SYSTEM])
def test_a_cluster_with_a_policy_is_told_apart_and_says_who_asked_for_it(tls: UpstreamTls) -> None:
    cluster = clusters.build(backend("pay", policy="tls"), tls)
    built = read(cluster.body)
    assert built.name == "shop/pay:8080+tls"
    assert json_format.MessageToDict(built.metadata) == {
        "filterMetadata": {"legation.dev": {"service": "shop/pay", "policy": "shop/tls"}}
    }
    assert cluster.secrets == (("trust/shop/tls",) if tls is BUNDLE else ())


def test_only_roots_that_are_served_are_named_with_a_source() -> None:
    served, own = (read(clusters.build(backend("pay", policy="tls"), tls).body) for tls in (BUNDLE, SYSTEM))
    assert b"legation/system-roots" in own.transport_socket.typed_config.value
    sources = [OVER_ADS in each.transport_socket.typed_config.value for each in (served, own)]
    assert sources == [True, False]


@pytest.mark.parametrize("protocol", WITH_TLS)
def test_a_refused_policy_leaves_a_cluster_of_the_same_name_that_leads_nowhere(protocol: Protocol) -> None:
    [_, (name, cluster)] = judged(Plans(hops=(Hop(backend("pay", protocol, policy="tls"), tls=REFUSED),)))[
        CLUSTER
    ].items()
    assert name == str(backend("pay", protocol, policy="tls"))
    assert read(cluster.body).type == cluster_pb2.Cluster.STATIC
    assert not read(cluster.body).load_assignment.endpoints
    assert cluster.endpoints is None


@given(protocol=st.sampled_from(WITH_TLS), tls=st.sampled_from(VERDICTS))
def test_a_cluster_with_a_policy_has_tls_or_no_endpoints(
    protocol: Protocol, tls: UpstreamTls | Refused
) -> None:
    cluster = clusters.build(backend("pay", protocol, policy="tls"), tls)
    assert read(cluster.body).HasField("transport_socket") != (cluster.endpoints is None)


def test_tls_that_cannot_be_or_that_nobody_decided_is_our_own_mistake() -> None:
    for impossible in (backend("pay", Protocol.UDP, policy="tls"), backend("pay")):
        with pytest.raises(AssertionError):
            clusters.build(impossible, BUNDLE)
    with pytest.raises(AssertionError):
        clusters.build(backend("pay", policy="tls"), None)


@pytest.mark.parametrize(
    ("protocol", "alpn", "sent", "negotiated"),
    [
        (Protocol.HTTP, (), ["http/1.1"], "nothing"),
        (Protocol.HTTP, ("http/1.1",), ["http/1.1"], "nothing"),
        (Protocol.HTTP, ("h2", "http/1.1"), ["h2", "http/1.1"], "auto_config"),
        (Protocol.HTTP2, (), ["h2"], "explicit_http_config"),
        (Protocol.HTTP2, ("h2", "http/1.1"), ["h2", "http/1.1"], "explicit_http_config"),
        (Protocol.TCP, (), [], "nothing"),
        (Protocol.TCP, ("h2",), ["h2"], "nothing"),
    ],
)
def test_the_handshake_decides_the_version_of_http_only_where_a_policy_offers_both(
    protocol: Protocol, alpn: tuple[str, ...], sent: list[str], negotiated: str
) -> None:
    tls = UpstreamTls("pay.internal", SystemRoots(), (DnsName("pay.internal"),), alpn=alpn)
    built = read(clusters.build(backend("pay", protocol, policy="tls"), tls).body)
    context, options = tls_pb2.UpstreamTlsContext(), http_protocol_options_pb2.HttpProtocolOptions()
    built.transport_socket.typed_config.Unpack(context)
    if built.typed_extension_protocol_options:
        built.typed_extension_protocol_options[clusters.HTTP_OPTIONS].Unpack(options)
    assert list(context.common_tls_context.alpn_protocols) == sent
    assert (options.WhichOneof("upstream_protocol_options") or "nothing") == negotiated
