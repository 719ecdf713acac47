"""HTTP/3: the socket that it comes by, and how clients of the same port over TCP learn of it."""

from envoy.config.core.v3 import base_pb2
from envoy.config.listener.v3 import udp_listener_config_pb2
from envoy.extensions.filters.http.header_mutation.v3 import header_mutation_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.extensions.transport_sockets.quic.v3 import quic_transport_pb2
from envoy.extensions.transport_sockets.tls.v3 import tls_pb2

from translator.envoy.encode import encode, packed

KIB = 1024
REMEMBERED = 86400  # seconds

# The same bounds as for HTTP/2.
QUIC = encode(
    udp_listener_config_pb2.UdpListenerConfig(
        quic_options={
            "quic_protocol_options": {
                "max_concurrent_streams": {"value": 100},
                "initial_stream_window_size": {"value": 64 * KIB},
                "initial_connection_window_size": {"value": 1024 * KIB},
            }
        },
        downstream_socket_config={"prefer_gro": {"value": True}},
    )
)


def socket(context: tls_pb2.DownstreamTlsContext) -> base_pb2.TransportSocket:
    """Build the socket of a QUIC port; a request that somebody else could send again is not taken early."""
    quic = quic_transport_pb2.QuicDownstreamTransport(
        downstream_tls_context=context, enable_early_data={"value": False}
    )
    return base_pb2.TransportSocket(name="envoy.transport_sockets.quic", typed_config=packed(quic))


def advertised(port: int) -> http_connection_manager_pb2.HttpFilter:
    """Build the filter by which every answer says that the same is served over QUIC."""
    said = {"header": {"key": "alt-svc", "value": f'h3=":{port}"; ma={REMEMBERED}'}}
    mutation = {"append": {**said, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}}
    told = header_mutation_pb2.HeaderMutation(mutations={"response_mutations": [mutation]})
    return http_connection_manager_pb2.HttpFilter(
        name="envoy.filters.http.header_mutation", typed_config=packed(told)
    )
