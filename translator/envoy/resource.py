"""What is handed to Envoys: a serialized message, and what it leads to."""

from msgspec import Struct

CLUSTER = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
ENDPOINTS = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
LISTENER = "type.googleapis.com/envoy.config.listener.v3.Listener"
ROUTES = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
SECRET = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"  # noqa: S105  # a type, not a secret


class Resource(Struct, frozen=True):
    """A message's deterministic bytes, with the names by which its delivery is put in order."""

    body: bytes
    targets: tuple[str, ...] = ()  # clusters that a listener or a route table sends traffic to
    secrets: tuple[str, ...] = ()  # SDS names that a cluster or a listener mentions
    endpoints: str | None = None  # the EDS name that a cluster takes its endpoints from
