"""One cluster with TLS, made into bytes and read back: xds-protos against envoy-data-plane.

Both libraries take turns, so that whatever else the machine does meets both; only the ratio counts.
"""

import os
import sys
import time
from collections.abc import Callable
from statistics import median

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.extensions.transport_sockets.tls.v3 import common_pb2, secret_pb2, tls_pb2
from envoy.type.matcher.v3 import string_pb2
from envoy_data_plane.envoy.config.cluster.v3 import Cluster, ClusterDiscoveryType, ClusterEdsClusterConfig
from envoy_data_plane.envoy.config.core.v3 import (
    AggregatedConfigSource,
    ApiVersion,
    ConfigSource,
    TransportSocket,
)
from envoy_data_plane.envoy.extensions.transport_sockets.tls.v3 import (
    CertificateValidationContext,
    CommonTlsContext,
    CommonTlsContextCombinedCertificateValidationContext,
    SdsSecretConfig,
    SubjectAltNameMatcher,
    SubjectAltNameMatcherSanType,
    UpstreamTlsContext,
)
from envoy_data_plane.envoy.type.matcher.v3 import StringMatcher
from envoy_data_plane.google.protobuf import Any
from google.protobuf import any_pb2

ROUNDS = int(os.environ.get("ROUNDS", "15"))
TURNS = {"xds-protos": 2000, "envoy-data-plane": 20}
TLS_TYPE = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"


def with_xds_protos(name: str) -> bytes:
    """Build and serialize the cluster with the messages of xds-protos."""
    ads = {"ads": {}, "resource_api_version": "V3"}
    proof = common_pb2.SubjectAltNameMatcher(
        san_type="DNS", matcher=string_pb2.StringMatcher(exact="pay.internal")
    )
    tls = tls_pb2.UpstreamTlsContext(
        sni="pay.internal",
        common_tls_context=tls_pb2.CommonTlsContext(
            alpn_protocols=["h2"],
            combined_validation_context=tls_pb2.CommonTlsContext.CombinedCertificateValidationContext(
                default_validation_context=common_pb2.CertificateValidationContext(
                    match_typed_subject_alt_names=[proof]
                ),
                validation_context_sds_secret_config=secret_pb2.SdsSecretConfig(name="trust", sds_config=ads),
            ),
        ),
    )
    packed = any_pb2.Any(type_url=TLS_TYPE, value=tls.SerializeToString(deterministic=True))
    cluster = cluster_pb2.Cluster(
        name=name,
        type="EDS",
        eds_cluster_config=cluster_pb2.Cluster.EdsClusterConfig(service_name="shop/pay:8443", eds_config=ads),
        transport_socket=base_pb2.TransportSocket(name="tls", typed_config=packed),
    )
    serialized: bytes = cluster.SerializeToString(deterministic=True)
    return serialized


def with_envoy_data_plane(name: str) -> bytes:
    """Build and serialize the same cluster with the dataclasses of envoy-data-plane."""
    ads = ConfigSource(ads=AggregatedConfigSource(), resource_api_version=ApiVersion.V3)
    proof = SubjectAltNameMatcher(
        san_type=SubjectAltNameMatcherSanType.DNS, matcher=StringMatcher(exact="pay.internal")
    )
    tls = UpstreamTlsContext(
        sni="pay.internal",
        common_tls_context=CommonTlsContext(
            alpn_protocols=["h2"],
            combined_validation_context=CommonTlsContextCombinedCertificateValidationContext(
                default_validation_context=CertificateValidationContext(
                    match_typed_subject_alt_names=[proof]
                ),
                validation_context_sds_secret_config=SdsSecretConfig(name="trust", sds_config=ads),
            ),
        ),
    )
    return bytes(
        Cluster(
            name=name,
            type=ClusterDiscoveryType.EDS,
            eds_cluster_config=ClusterEdsClusterConfig(service_name="shop/pay:8443", eds_config=ads),
            transport_socket=TransportSocket(
                name="tls", typed_config=Any(type_url=TLS_TYPE, value=bytes(tls))
            ),
        )
    )


def read(made: bytes) -> tuple[object, object]:
    """Return a cluster and its TLS apart: inside `Any`, equal messages may be different bytes."""
    cluster = cluster_pb2.Cluster.FromString(made)
    tls = tls_pb2.UpstreamTlsContext.FromString(cluster.transport_socket.typed_config.value)
    cluster.transport_socket.ClearField("typed_config")
    return cluster, tls


def microseconds(work: Callable[[int], object], turns: int) -> float:
    """Return what one turn takes, on the clock of this process's CPU."""
    began = time.process_time()
    for turn in range(turns):
        work(turn)
    return (time.process_time() - began) / turns * 1e6


def compare(title: str, works: dict[str, Callable[[int], object]]) -> None:
    """Let the libraries take turns, and print what each needs and by what factor they differ."""
    taken: dict[str, list[float]] = {library: [] for library in works}
    for _ in range(ROUNDS):
        for library, work in works.items():
            taken[library].append(microseconds(work, TURNS[library]))
    xds, plane = (median(taken[library]) for library in TURNS)
    print(f"{title}: xds-protos {xds:.1f} us, envoy-data-plane {plane:.0f} us, ratio 1 : {plane / xds:.0f}")


def main() -> None:
    """Check that both say the same, then compare making and reading."""
    made = with_xds_protos("pay")
    if read(with_envoy_data_plane("pay")) != read(made):
        sys.exit("the two libraries do not make the same cluster, so there is nothing to compare")
    compare(
        "build and serialize one TLS cluster",
        {
            "xds-protos": lambda turn: with_xds_protos(f"pay-{turn}"),
            "envoy-data-plane": lambda turn: with_envoy_data_plane(f"pay-{turn}"),
        },
    )
    compare(
        "parse it",
        {
            "xds-protos": lambda _: cluster_pb2.Cluster.FromString(made),
            "envoy-data-plane": lambda _: Cluster.parse(made),
        },
    )


if __name__ == "__main__":
    main()
