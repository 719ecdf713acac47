"""Clusters: one for each port, protocol and way to open TLS, whatever routes lead there."""

from envoy.config.cluster.v3 import cluster_pb2
from envoy.extensions.clusters.common.dns.v3 import dns_pb2
from envoy.extensions.clusters.dns.v3 import dns_cluster_pb2
from envoy.extensions.upstreams.http.v3 import http_protocol_options_pb2

from translator.envoy.config_source import OVER_ADS
from translator.envoy.encode import encode, packed
from translator.envoy.resource import Resource
from translator.envoy.secrets import certificate_name, trust_name
from translator.envoy.upstream_tls import negotiates, transport_socket
from translator.memo import query
from translator.names import Name
from translator.rules.backend_certificate import Hop
from translator.rules.backend_tls import UpstreamTls
from translator.rules.backends import Backend, Protocol
from translator.rules.external_names import hostname
from translator.rules.hops import due
from translator.rules.insecure_verification import Weakness
from translator.verdict import Refused
from translator.world import World

REFUSED = "legation/refused"
HTTP_OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
UNLIMITED = 2**32 - 1
LOOKED_UP = encode(
    cluster_pb2.Cluster.CustomClusterType(
        name="envoy.clusters.dns",
        typed_config=packed(
            dns_cluster_pb2.DnsCluster(
                respect_dns_ttl=True,
                dns_lookup_family=dns_pb2.ALL,
                all_addresses_in_single_endpoint=True,
            )
        ),
    )
)
#: Seconds for which a request or a connection to a backend that is not fully verified may last.  Envoy ends
#: what is open neither with a cluster nor with a permission that goes; so there is an end from the beginning.
LONGEST_UNPROVED = 300

# What all clusters have in common.  A backend limits its own load; Envoy's thresholds of 1,024 connections
# and requests would answer 503 on behalf of backends that could serve more.
PREPARED = encode(
    cluster_pb2.Cluster(
        connect_timeout={"seconds": 5},
        per_connection_buffer_limit_bytes={"value": 32 * 1024},
        lb_policy="LEAST_REQUEST",
        circuit_breakers={
            "thresholds": [
                {
                    "max_connections": {"value": UNLIMITED},
                    "max_pending_requests": {"value": UNLIMITED},
                    "max_requests": {"value": UNLIMITED},
                    "max_retries": {"value": UNLIMITED},
                }
            ]
        },
        ignore_health_on_host_removal=True,
    )
)
HTTP2 = encode(
    packed(http_protocol_options_pb2.HttpProtocolOptions(explicit_http_config={"http2_protocol_options": {}}))
)
NEGOTIATED = encode(
    packed(http_protocol_options_pb2.HttpProtocolOptions(auto_config={"http2_protocol_options": {}}))
)


@query
def cluster(world: World, hop: Hop) -> Resource:
    """Build the cluster of a backend: TLS as its policy says, or failure where that cannot be honoured."""
    backend, shown, forbidden = hop
    if forbidden is not None:
        return build(backend, forbidden)
    if isinstance(shown, Refused):
        return build(backend, shown)
    at = hostname(world, backend.port) if backend.by_name else None
    return build(backend, due(world, backend), shown, at)


def build(
    backend: Backend, tls: UpstreamTls | Refused | None, shown: Name | None = None, at: str | None = None
) -> Resource:
    """Build a cluster from what is due to a backend; a policy that won its port always says something."""
    has_terms = backend.policy is not None or backend.own_tls
    agreed = isinstance(tls, Refused) or (tls is not None) == has_terms
    assert agreed, f"{backend}: TLS is its policy's or its own, and no one else's"
    assert backend.by_name or at is None, f"{backend}: only endpoints say where it is"
    is_tls = isinstance(tls, UpstreamTls)
    assert not (is_tls and backend.protocol is Protocol.UDP), f"{backend}: datagrams have no TLS"
    match tls:
        case None:
            return Resource(encode(_reaching(backend, at)), endpoints=_assigned(backend))
        case Refused():
            return Resource(encode(_failing(str(backend), backend)))
        case UpstreamTls():
            assert tls.weakness is backend.weakness, (
                f"{backend}: what is left out of the proof is in the name"
            )
            built = _reaching(backend, at, negotiated=negotiates(tls, backend.protocol))
            if tls.weakness is not None:
                _mark(built, backend, tls.weakness)
            own = certificate_name(shown) if shown else None
            built.transport_socket.CopyFrom(transport_socket(tls, backend.protocol, own))
            secrets = tuple(sorted(filter(None, (trust_name(tls.trust), own))))
            return Resource(encode(built), secrets=secrets, endpoints=_assigned(backend))


def refused_cluster() -> Resource:
    """Build the cluster that stands for every refused share of traffic: it has nowhere to go."""
    return Resource(encode(_failing(REFUSED)))


def _assigned(backend: Backend) -> str | None:
    """Return the name by which a backend's endpoints are served."""
    return None if backend.by_name else str(backend.port)


def _reaching(backend: Backend, at: str | None, *, negotiated: bool = False) -> cluster_pb2.Cluster:
    """Begin a cluster that takes its endpoints from EDS, or has Envoy look up a name."""
    built = _named(str(backend), backend)
    if at is not None:
        _look_up(built, at, backend.port.port)
    else:
        built.type = cluster_pb2.Cluster.EDS
        built.eds_cluster_config.service_name = str(backend.port)
        built.eds_cluster_config.eds_config.ParseFromString(OVER_ADS)
    if negotiated:
        built.typed_extension_protocol_options[HTTP_OPTIONS].ParseFromString(NEGOTIATED)
    elif backend.protocol is Protocol.HTTP2:
        built.typed_extension_protocol_options[HTTP_OPTIONS].ParseFromString(HTTP2)
    return built


def _look_up(built: cluster_pb2.Cluster, at: str, port: int) -> None:
    """Have Envoy connect to what a name resolves to at that time; whatever it is, connections last."""
    built.cluster_type.ParseFromString(LOOKED_UP)
    built.load_assignment.cluster_name = built.name
    place = built.load_assignment.endpoints.add().lb_endpoints.add().endpoint.address.socket_address
    place.address, place.port_value = at, port


def _mark(built: cluster_pb2.Cluster, backend: Backend, weakness: Weakness) -> None:
    """Say what is left out of the proof, and give every stream an end."""
    built.metadata.filter_metadata["legation.dev"]["verification"] = weakness.value
    if backend.protocol is Protocol.TCP:
        return
    options = http_protocol_options_pb2.HttpProtocolOptions()
    if HTTP_OPTIONS in built.typed_extension_protocol_options:
        built.typed_extension_protocol_options[HTTP_OPTIONS].Unpack(options)
    else:
        options.explicit_http_config.http_protocol_options.SetInParent()
    options.common_http_protocol_options.max_stream_duration.seconds = LONGEST_UNPROVED
    built.typed_extension_protocol_options[HTTP_OPTIONS].CopyFrom(packed(options))


def _failing(name: str, backend: Backend | None = None) -> cluster_pb2.Cluster:
    """Build a cluster without an endpoint: requests get 503, connections are closed, datagrams dropped."""
    built = _named(name, backend)
    built.type = cluster_pb2.Cluster.STATIC
    built.load_assignment.cluster_name = name
    return built


def _named(name: str, backend: Backend | None) -> cluster_pb2.Cluster:
    """Begin a cluster, saying in its metadata what it was made from: for logs, and for people."""
    built = cluster_pb2.Cluster.FromString(PREPARED)
    built.name = name
    if backend is not None:
        origin = built.metadata.filter_metadata["legation.dev"]
        origin[backend.port.kind.lower()] = str(backend.port.service)
        if backend.policy:
            origin["policy"] = str(backend.policy)
    return built
