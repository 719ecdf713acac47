"""What an Envoy is started with: who it is, where its configuration comes from, which roots it trusts.

Written with `envoy-data-plane`: typed, slow to import, and needed once in an Envoy's life.
"""

from datetime import timedelta
from pathlib import Path

from envoy_data_plane.envoy.config.bootstrap.v3 import (
    Admin,
    Bootstrap,
    BootstrapDeferredStatOptions,
    BootstrapDynamicResources,
    BootstrapStaticResources,
    LayeredRuntime,
    RuntimeLayer,
)
from envoy_data_plane.envoy.config.cluster.v3 import Cluster, ClusterDiscoveryType, ClusterDnsLookupFamily
from envoy_data_plane.envoy.config.core.v3 import (
    Address,
    AggregatedConfigSource,
    ApiConfigSource,
    ApiConfigSourceApiType,
    ApiVersion,
    ConfigSource,
    DataSource,
    GrpcService,
    GrpcServiceEnvoyGrpc,
    Http2ProtocolOptions,
    KeepaliveSettings,
    Node,
    Pipe,
    SocketAddress,
    TransportSocket,
)
from envoy_data_plane.envoy.config.core.v3 import HttpProtocolOptions as CommonHttpProtocolOptions
from envoy_data_plane.envoy.config.endpoint.v3 import (
    ClusterLoadAssignment,
    Endpoint,
    LbEndpoint,
    LocalityLbEndpoints,
)
from envoy_data_plane.envoy.config.metrics.v3 import StatsConfig, StatsMatcher
from envoy_data_plane.envoy.extensions.transport_sockets.tls.v3 import (
    CertificateValidationContext,
    CommonTlsContext,
    CommonTlsContextCombinedCertificateValidationContext,
    Secret,
    SubjectAltNameMatcher,
    SubjectAltNameMatcherSanType,
    TlsCertificate,
    TlsParameters,
    TlsParametersTlsProtocol,
    UpstreamTlsContext,
)
from envoy_data_plane.envoy.extensions.upstreams.http.v3 import (
    HttpProtocolOptions,
    HttpProtocolOptionsExplicitHttpConfig,
)
from envoy_data_plane.envoy.type.matcher.v3 import ListStringMatcher, RegexMatcher, StringMatcher
from envoy_data_plane.google.protobuf import Any, Value
from envoy_data_plane.google.protobuf import Struct as Fields
from msgspec import Struct

from legation.addresses import ClientFiles, HostPort, Socket, WatchedFiles
from legation.channel.identity import nobodys_root
from legation.overload import overload
from legation.watched_secrets import IDENTITY, ROOTS, file, watched
from legation.yaml_text import yaml_text
from translator.envoy.upstream_tls import LONGEST_PROOF, SYSTEM_ROOTS
from translator.names import Name

XDS_CLUSTER = "legation"  # the one cluster that does not come from the control plane
STATS = (  # what grows with clusters is kept to what an operator looks at
    r"(server|listener_manager|cluster_manager|control_plane|http|tcp|tls_inspector|listener|sds|main_thread)\..*",
    r"(access_logs|connection_limit|overload|proxy_proto|tracing)\..*",  # what was turned away
    r"cluster\..*\.(membership_healthy|update_rejected|init_fetch_timeout)",
    r"cluster\..*\.upstream_(cx_active|cx_connect_fail|rq_active|rq_total|rq_timeout|rq_[2-5]xx)",
    r"cluster\..*\.ssl\.(handshake|connection_error|fail_verify_\w+)",
)


class Start(Struct, frozen=True):
    """What one Envoy is to know from the beginning."""

    gateway: Name
    node_id: str
    xds: Socket | HostPort
    admin: Socket | HostPort
    tls: ClientFiles | WatchedFiles | None = None
    system_roots: Path | None = None


def bootstrap(start: Start) -> Bootstrap:
    """Make a bootstrap that leaves everything but identity and roots to the control plane."""
    return Bootstrap(
        node=Node(cluster=str(start.gateway), id=start.node_id),
        admin=Admin(address=_address(start.admin), ignore_global_conn_limit=True),
        dynamic_resources=_dynamic(),
        static_resources=BootstrapStaticResources(clusters=[_xds_cluster(start)], secrets=_secrets(start)),
        stats_config=StatsConfig(stats_matcher=StatsMatcher(inclusion_list=_patterns(STATS))),
        deferred_stat_options=BootstrapDeferredStatOptions(enable_deferred_creation_stats=True),
        overload_manager=overload(),
        layered_runtime=LayeredRuntime(layers=[RuntimeLayer(name="legation", static_layer=_runtime())]),
    )


def as_fields(made: Bootstrap) -> dict[str, object]:
    """Write a bootstrap as the JSON that Envoy reads."""
    fields: dict[str, object] = made.to_dict()
    return fields


def as_yaml(made: Bootstrap) -> str:
    """Write a bootstrap as YAML that Envoy reads."""
    return yaml_text(as_fields(made))


def _runtime() -> Fields:
    """Let patterns be as long as the names that backends are to prove."""
    levels = ("re2.max_program_size.error_level", "re2.max_program_size.warn_level")
    return Fields(fields={level: Value(number_value=LONGEST_PROOF) for level in levels})


def _dynamic() -> BootstrapDynamicResources:
    """Ask for everything, and wait for it: an Envoy that was told nothing must not count as ready."""
    ads = ConfigSource(
        ads=AggregatedConfigSource(),
        resource_api_version=ApiVersion.V3,
        initial_fetch_timeout=timedelta(),
    )
    return BootstrapDynamicResources(
        lds_config=ads,
        cds_config=ads,
        ads_config=ApiConfigSource(
            api_type=ApiConfigSourceApiType.DELTA_GRPC,
            transport_api_version=ApiVersion.V3,
            set_node_on_first_message_only=True,
            grpc_services=[GrpcService(envoy_grpc=GrpcServiceEnvoyGrpc(cluster_name=XDS_CLUSTER))],
        ),
    )


def _xds_cluster(start: Start) -> Cluster:
    """Name the control plane; pings find a connection that died without a word.

    Each stream has a connection of its own: who was shut out comes again with the newest identity.
    """
    pings = KeepaliveSettings(interval=timedelta(seconds=30), timeout=timedelta(seconds=5))
    http2 = Http2ProtocolOptions(connection_keepalive=pings)
    options = HttpProtocolOptions(
        common_http_protocol_options=CommonHttpProtocolOptions(max_requests_per_connection=1),
        explicit_http_config=HttpProtocolOptionsExplicitHttpConfig(http2_protocol_options=http2),
    )
    host = LbEndpoint(endpoint=Endpoint(address=_address(start.xds)))
    return Cluster(
        name=XDS_CLUSTER,
        type=_discovery(start.xds),
        dns_lookup_family=ClusterDnsLookupFamily.ALL,  # a name may have an address that nobody listens on
        connect_timeout=timedelta(seconds=1),
        typed_extension_protocol_options={
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": Any.pack(options)
        },
        load_assignment=ClusterLoadAssignment(
            cluster_name=XDS_CLUSTER, endpoints=[LocalityLbEndpoints(lb_endpoints=[host])]
        ),
        transport_socket=_mutual_tls(start.tls) if start.tls else None,
    )


def _discovery(xds: Socket | HostPort) -> ClusterDiscoveryType:
    match xds:
        case Socket():
            return ClusterDiscoveryType.STATIC
        case HostPort():
            return ClusterDiscoveryType.LOGICAL_DNS  # takes an IP address as well


def _mutual_tls(files: ClientFiles | WatchedFiles) -> TransportSocket:
    only = TlsParametersTlsProtocol.TLSv1_3  # as a maximum, Envoy's clients have 1.2 unless told otherwise
    context = _proofs(files)
    context.tls_params = TlsParameters(tls_minimum_protocol_version=only, tls_maximum_protocol_version=only)
    context.alpn_protocols = ["h2"]
    tls = UpstreamTlsContext(common_tls_context=context, sni=files.server_name)
    return TransportSocket(name="envoy.transport_sockets.tls", typed_config=Any.pack(tls))


def _proofs(files: ClientFiles | WatchedFiles) -> CommonTlsContext:
    """Say what to show, and what the control plane must show."""
    name = SubjectAltNameMatcher(
        san_type=SubjectAltNameMatcherSanType.DNS, matcher=StringMatcher(exact=files.server_name)
    )
    match files:
        case ClientFiles(certificate, key, server_ca):
            return CommonTlsContext(
                tls_certificates=[TlsCertificate(certificate_chain=file(certificate), private_key=file(key))],
                validation_context=CertificateValidationContext(
                    trusted_ca=file(server_ca), match_typed_subject_alt_names=[name]
                ),
            )
        case WatchedFiles():
            return CommonTlsContext(
                tls_certificate_sds_secret_configs=[watched(files, IDENTITY)],
                combined_validation_context=CommonTlsContextCombinedCertificateValidationContext(
                    default_validation_context=CertificateValidationContext(
                        match_typed_subject_alt_names=[name]
                    ),
                    validation_context_sds_secret_config=watched(files, ROOTS),
                ),
            )


def _secrets(start: Start) -> list[Secret]:
    """Hand over the machine's roots under the name by which clusters ask; without any, they must not hang."""
    found = file(start.system_roots) if start.system_roots else DataSource(inline_string=nobodys_root())
    return [Secret(name=SYSTEM_ROOTS, validation_context=CertificateValidationContext(trusted_ca=found))]


def _patterns(patterns: tuple[str, ...]) -> ListStringMatcher:
    return ListStringMatcher(
        patterns=[StringMatcher(safe_regex=RegexMatcher(regex=pattern)) for pattern in patterns]
    )


def _address(place: Socket | HostPort) -> Address:
    match place:
        case Socket(path):
            return Address(pipe=Pipe(path=str(path), mode=0o600))
        case HostPort(host, port):
            return Address(socket_address=SocketAddress(address=host, port_value=port))
