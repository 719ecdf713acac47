"""What an Envoy would do with what it is given, whatever its clusters are called and however they are cut.

Two control planes serve the same if their portraits are equal: at each port the same certificate is shown,
for each host and path the same header is set, and each endpoint gets the same share of the requests, behind
the same TLS.
"""

import base64
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.core.v3 import base_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2

from translator.envoy.upstream_tls import proved_name
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS

MESSAGES = MappingProxyType({
    CDS: cluster_pb2.Cluster,
    EDS: endpoint_pb2.ClusterLoadAssignment,
    LDS: listener_pb2.Listener,
    RDS: route_pb2.RouteConfiguration,
    SDS: secret_pb2.Secret,
})  # fmt: skip
SOCKET_MATCH = "envoy.transport_socket_match"

Key = tuple[str, str, str]  # the group of Envoys, the type and the name of a resource
Dump = Mapping[Key, bytes]


class Door(NamedTuple):
    """Where requests come in."""

    group: str
    port: int  # how far above the lowest of the group: some listen at others than a Gateway names
    certificate: str  # a digest; empty where there is no TLS


class Place(NamedTuple):
    """Which requests."""

    door: Door
    host: str
    path: str


class Proof(NamedTuple):
    """What opens TLS, and what must be proved."""

    sni: str
    names: frozenset[str]
    roots: str  # a digest


class Leg(NamedTuple):
    """One endpoint that requests go to."""

    address: str
    share: Fraction
    tls: Proof | None


class Treatment(NamedTuple):
    """What becomes of a request."""

    headers: frozenset[tuple[str, str]]
    legs: frozenset[Leg]


Portrait = Mapping[Place, Treatment]


def read(dump: Path) -> Dump:
    """Read what a control plane was asked to write."""
    lines = (line.split("\t") for line in dump.read_text().splitlines())
    return {(group, type_url, name): base64.b64decode(body) for group, type_url, name, body in lines}


def portrait(dump: Dump) -> Portrait:
    """Say what becomes of every request."""
    return {
        place: treatment
        for group, resources in _by_group(dump).items()
        for place, treatment in _of_group(group, _Reader(resources))
    }


def without_server_names(found: Portrait) -> Portrait:
    """Say the same without what TLS is opened with, for whoever sends no SNI."""
    return {place: each._replace(legs=frozenset(map(_unnamed, each.legs))) for place, each in found.items()}


def _unnamed(leg: Leg) -> Leg:
    return leg._replace(tls=leg.tls and leg.tls._replace(sni=""))


def _by_group(dump: Dump) -> dict[str, dict[str, dict[str, Any]]]:
    groups: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: {each: {} for each in MESSAGES})
    for (group, type_url, name), body in dump.items():
        if type_url in MESSAGES:
            groups[group][type_url][name] = MESSAGES[type_url].FromString(body)
    return groups


def _of_group(group: str, reader: "_Reader") -> Iterator[tuple[Place, Treatment]]:
    doors = list(reader.doors())
    for port, certificate, table in doors:
        door = Door(group, port - min(each for each, _, _ in doors), certificate)
        yield from _of_table(door, table, reader)


def _of_table(door: Door, table: Any, reader: "_Reader") -> Iterator[tuple[Place, Treatment]]:  # noqa: ANN401  of protobuf
    for host in table.virtual_hosts:
        for domain in host.domains:
            if domain.partition(":")[0] == domain:  # not the same host with a port
                for route in host.routes:
                    if route.HasField("route"):
                        yield Place(door, domain, _path(route.match)), reader.treatment(route)


def _path(match: route_components_pb2.RouteMatch) -> str:
    """Write what is matched; `/a` and all below it may be said in several ways."""
    kind = match.WhichOneof("path_specifier")
    written: str = match.safe_regex.regex if kind == "safe_regex" else getattr(match, kind)
    return written.removesuffix(r"((\/).*)?")


def _digest(source: base_pb2.DataSource) -> str:
    pem = source.inline_bytes or source.inline_string.encode()
    return sha256(pem.strip()).hexdigest()


class _Reader:
    """Follows the names of one group's resources."""

    def __init__(self, resources: Mapping[str, Mapping[str, Any]]) -> None:
        self._resources = resources
        self._known: dict[str, list[Leg]] = {}

    def doors(self) -> Iterator[tuple[int, str, Any]]:
        """Give each port, the certificate that is shown there, and the routes of whoever comes in."""
        for listener in self._resources[LDS].values():
            chains = [*listener.filter_chains]
            if listener.HasField("default_filter_chain"):
                chains.append(listener.default_filter_chain)
            for chain in chains:
                certificate = self._shown(chain.transport_socket.typed_config)
                for table in filter(None, map(self._table, chain.filters)):
                    yield listener.address.socket_address.port_value, certificate, table

    def _table(self, network_filter: Any) -> Any:  # noqa: ANN401  of protobuf
        manager = http_connection_manager_pb2.HttpConnectionManager()
        network_filter.typed_config.Unpack(manager)
        return self._resources[RDS].get(manager.rds.route_config_name)

    def _shown(self, typed: Any) -> str:  # noqa: ANN401  of protobuf
        context = tls_pb2.DownstreamTlsContext()
        if not typed.Unpack(context):
            return ""
        [named] = context.common_tls_context.tls_certificate_sds_secret_configs
        return _digest(self._resources[SDS][named.name].tls_certificate.certificate_chain)

    def treatment(self, route: Any) -> Treatment:  # noqa: ANN401  of protobuf
        parts = route.route.weighted_clusters.clusters
        weights = {each.name: Fraction() for each in parts} or {route.route.cluster: Fraction(1)}
        for each in parts:
            weights[each.name] += Fraction(each.weight.value, sum(other.weight.value for other in parts))
        shares: dict[tuple[str, Proof | None], Fraction] = defaultdict(Fraction)
        for name, weight in weights.items():
            for leg in self._legs(name):
                shares[leg.address, leg.tls] += leg.share * weight
        legs = frozenset(Leg(address, share, tls) for (address, tls), share in shares.items())
        said = [
            *route.request_headers_to_add,
            *(one for each in parts for one in each.request_headers_to_add),
        ]
        return Treatment(frozenset((each.header.key.lower(), each.header.value) for each in said), legs)

    def _legs(self, name: str) -> list[Leg]:
        if name not in self._known:
            self._known[name] = list(self._read_cluster(self._resources[CDS][name]))
        return self._known[name]

    def _read_cluster(self, cluster: Any) -> Iterator[Leg]:  # noqa: ANN401  of protobuf
        placed = cluster.load_assignment
        if cluster.type == cluster_pb2.Cluster.EDS:
            placed = self._resources[EDS][cluster.eds_cluster_config.service_name or cluster.name]
        weights = [max(each.load_balancing_weight.value, 1) for each in placed.endpoints]
        for locality, weight in zip(placed.endpoints, weights, strict=True):
            for each in locality.lb_endpoints:
                at = each.endpoint.address.socket_address
                share = Fraction(weight, sum(weights)) / len(locality.lb_endpoints)
                yield Leg(f"{at.address}:{at.port_value}", share, self._tls(cluster, locality, each))

    def _tls(self, cluster: Any, *marked: Any) -> Proof | None:  # noqa: ANN401  of protobuf
        marks = [each.metadata.filter_metadata for each in marked]
        said = [each[SOCKET_MATCH] for each in marks if SOCKET_MATCH in each]
        for possible in cluster.transport_socket_matches:
            if possible.match in said:
                return self._proof(possible.transport_socket.typed_config)
        if cluster.HasField("transport_socket"):
            return self._proof(cluster.transport_socket.typed_config)
        return None

    def _proof(self, typed: Any) -> Proof | None:  # noqa: ANN401  of protobuf
        context = tls_pb2.UpstreamTlsContext()
        if not typed.Unpack(context):
            return None
        asked, roots = self._asked(context.common_tls_context)
        names = frozenset(
            each.matcher.exact or proved_name(each) for each in asked.match_typed_subject_alt_names
        )
        return Proof(context.sni, names, _digest(roots))

    def _asked(self, common: Any) -> tuple[Any, Any]:  # noqa: ANN401  of protobuf
        """Return what is asked for, and the roots; they may be there themselves, or by name."""
        if common.HasField("validation_context"):
            return common.validation_context, common.validation_context.trusted_ca
        both = common.combined_validation_context
        secret = self._resources[SDS][both.validation_context_sds_secret_config.name]
        return both.default_validation_context, secret.validation_context.trusted_ca
