"""The judge that other tests call on: it takes what is good and repeats Envoy's words about what is not."""

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2

from tests.envoy_validate import SYSTEM_ROOTS, RefusedByEnvoyError, some_root, validate
from translator.envoy.resource import CLUSTER, LISTENER, ROUTES, SECRET


def cluster_trusting(secret: str) -> bytes:
    cluster = cluster_pb2.Cluster(name="pay")
    context = tls_pb2.UpstreamTlsContext()
    context.common_tls_context.validation_context_sds_secret_config.name = secret
    context.common_tls_context.validation_context_sds_secret_config.sds_config.ads.SetInParent()
    cluster.transport_socket.name = "tls"
    cluster.transport_socket.typed_config.Pack(context)
    return bytes(cluster.SerializeToString())


def trust(pem: bytes) -> bytes:
    secret = secret_pb2.Secret(name="roots")
    secret.validation_context.trusted_ca.inline_bytes = pem
    return bytes(secret.SerializeToString())


def table_leading_to(cluster: str) -> bytes:
    table = route_pb2.RouteConfiguration(name="table")
    route = table.virtual_hosts.add(name="all", domains=["*"]).routes.add()
    route.match.prefix = "/"
    route.route.cluster = cluster
    return bytes(table.SerializeToString())


def test_what_envoy_can_use_is_taken() -> None:
    validate({CLUSTER: {"pay": cluster_trusting("roots")}, SECRET: {"roots": trust(some_root())}})
    validate({CLUSTER: {"pay": cluster_trusting(SYSTEM_ROOTS)}, ROUTES: {"table": table_leading_to("pay")}})


def test_a_secret_is_read_through_the_cluster_that_mentions_it() -> None:
    with pytest.raises(RefusedByEnvoyError, match="Failed to load trusted CA"):
        validate({CLUSTER: {"pay": cluster_trusting("roots")}, SECRET: {"roots": trust(b"no certificate")}})


def test_a_route_to_a_cluster_that_is_nowhere_is_an_objection() -> None:
    with pytest.raises(RefusedByEnvoyError, match="unknown cluster 'pay'"):
        validate({ROUTES: {"table": table_leading_to("pay")}, LISTENER: {}})


def test_a_secret_that_is_nowhere_is_an_objection() -> None:
    with pytest.raises(RefusedByEnvoyError, match="Unknown static certificate validation context: roots"):
        validate({CLUSTER: {"pay": cluster_trusting("roots")}})


def test_a_deprecated_field_is_an_objection() -> None:
    cluster = cluster_pb2.Cluster(name="pay", http2_protocol_options={})
    with pytest.raises(RefusedByEnvoyError, match="deprecated"):
        validate({CLUSTER: {"pay": bytes(cluster.SerializeToString())}})
