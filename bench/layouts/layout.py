"""All that one Envoy is given, as a control plane wrote it, and the same with a cluster for each rule."""

from collections.abc import Iterator, Mapping
from itertools import count

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2

from bench.peers.portrait import Dump
from translator.envoy.encode import encode
from xds_server.snapshot import CDS, EDS, LDS, RDS

Layout = Mapping[str, Mapping[str, bytes]]  # by type and name


def read(dump: Dump) -> Layout:
    """Read what the Envoys of one Gateway are given; listeners are moved to loopback."""
    layout: dict[str, dict[str, bytes]] = {}
    [_] = {group for group, _, _ in dump}
    for (_, type_url, name), body in dump.items():
        layout.setdefault(type_url, {})[name] = _on_loopback(body) if type_url == LDS else body
    return layout


def _on_loopback(body: bytes) -> bytes:
    listener = listener_pb2.Listener.FromString(body)
    del listener.additional_addresses[:]
    place = listener.address.socket_address
    place.address, place.port_value, place.ipv4_compat = "127.0.0.1", 0, False
    return encode(listener)


def by_rule(layout: Layout) -> Layout:
    """Give each rule a cluster of its own: the endpoints of all of its backends, by the TLS of the first."""
    clusters: dict[str, bytes] = {}
    places: dict[str, bytes] = {}
    tables: dict[str, bytes] = {}
    names = (f"rule {n}" for n in count())
    for table_name, body in layout[RDS].items():
        table = route_pb2.RouteConfiguration.FromString(body)
        for action, name in zip(_actions(table), names):  # noqa: B905  there is always another name
            parts = [each.name for each in action.weighted_clusters.clusters] or [action.cluster]
            clusters[name] = _cluster(layout, parts[0], name)
            places[name] = _endpoints(layout, parts, name)
            action.cluster = name
        tables[table_name] = encode(table)
    return {**layout, CDS: clusters, EDS: places, RDS: tables}


def _actions(table: route_pb2.RouteConfiguration) -> Iterator[route_components_pb2.RouteAction]:
    for host in table.virtual_hosts:
        for route in host.routes:
            if route.HasField("route"):
                yield route.route


def _cluster(layout: Layout, like: str, name: str) -> bytes:
    cluster = cluster_pb2.Cluster.FromString(layout[CDS][like])
    cluster.name = cluster.eds_cluster_config.service_name = name
    return encode(cluster)


def _endpoints(layout: Layout, parts: list[str], name: str) -> bytes:
    place = endpoint_pb2.ClusterLoadAssignment(cluster_name=name)
    for part in parts:
        served = cluster_pb2.Cluster.FromString(layout[CDS][part]).eds_cluster_config.service_name or part
        place.endpoints.extend(endpoint_pb2.ClusterLoadAssignment.FromString(layout[EDS][served]).endpoints)
    return encode(place)
