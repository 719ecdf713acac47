"""What Envoys would be sent, for people: messages as plain values, private keys left out."""

from collections.abc import Mapping
from types import MappingProxyType

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2
from google.protobuf.json_format import MessageToDict

from translator.envoy.resource import CLUSTER, ENDPOINTS, LISTENER, ROUTES, SECRET
from xds_server.snapshot import Snapshot

KEPT_BACK = frozenset({"private_key", "password", "generic_secret", "session_ticket_keys"})
REDACTED = "[redacted]"
SECTIONS = MappingProxyType({
    "listeners": (LISTENER, listener_pb2.Listener),
    "routes": (ROUTES, route_pb2.RouteConfiguration),
    "clusters": (CLUSTER, cluster_pb2.Cluster),
    "endpoints": (ENDPOINTS, endpoint_pb2.ClusterLoadAssignment),
    "secrets": (SECRET, secret_pb2.Secret),
})  # fmt: skip


def rendered(snapshots: Mapping[str, Snapshot]) -> dict[str, object]:
    """Write every Gateway's resources, by Envoy's names for the types, sorted."""
    return {"gateways": {group: _sections(snapshots[group]) for group in sorted(snapshots)}}


def _sections(snapshot: Snapshot) -> dict[str, object]:
    return {
        title: [_plain(message.FromString(entry.resource.body)) for _, entry in sorted(named.items())]
        for title, (type_url, message) in SECTIONS.items()
        if (named := snapshot.entries[type_url])
    }


def _plain(message: object) -> object:
    return _without_keys(MessageToDict(message, preserving_proto_field_name=True))


def _without_keys(value: object) -> object:
    match value:
        case dict():
            return {key: REDACTED if key in KEPT_BACK else _without_keys(part) for key, part in value.items()}
        case list():
            return [_without_keys(part) for part in value]
        case _:
            return value
