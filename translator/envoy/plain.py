"""Messages as plain values, for people: written as Envoy's own configuration, with private keys left out."""

from types import MappingProxyType

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from google.protobuf.json_format import MessageToDict

from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET

KEPT_BACK = frozenset({"generic_secret", "password", "private_key", "session_ticket_keys"})
REDACTED = "[redacted]"
MESSAGES = MappingProxyType({
    CLUSTER: cluster_pb2.Cluster,
    ENDPOINTS: endpoint_pb2.ClusterLoadAssignment,
    LISTENER: listener_pb2.Listener,
    ROUTES: route_pb2.RouteConfiguration,
    SECRET: secret_pb2.Secret,
})  # fmt: skip


def plain(type_url: str, body: bytes) -> object:
    """Read a message's bytes."""
    message = MESSAGES[type_url].FromString(body)
    return _without_keys(MessageToDict(message, preserving_proto_field_name=True))


def _without_keys(value: object) -> object:
    if isinstance(value, dict):
        return {key: REDACTED if key in KEPT_BACK else _without_keys(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_keys(part) for part in value]
    return value
