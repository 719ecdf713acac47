"""What others may ask of a managed Envoy: is it ready, what does it count; its admin port stays inside."""

from envoy_data_plane.envoy.config.bootstrap.v3 import Bootstrap
from envoy_data_plane.envoy.config.cluster.v3 import Cluster, ClusterDiscoveryType
from envoy_data_plane.envoy.config.core.v3 import Address, SocketAddress
from envoy_data_plane.envoy.config.endpoint.v3 import (
    ClusterLoadAssignment,
    Endpoint,
    LbEndpoint,
    LocalityLbEndpoints,
)
from envoy_data_plane.envoy.config.listener.v3 import Filter, FilterChain, Listener
from envoy_data_plane.envoy.config.route.v3 import (
    Route,
    RouteAction,
    RouteConfiguration,
    RouteMatch,
    VirtualHost,
)
from envoy_data_plane.envoy.extensions.filters.http.router.v3 import Router
from envoy_data_plane.envoy.extensions.filters.network.http_connection_manager.v3 import (
    HttpConnectionManager,
    HttpFilter,
)
from envoy_data_plane.google.protobuf import Any

from legation.addresses import HostPort

NAME = "legation-probes"
READY = "/ready"
METRICS = "/stats/prometheus"


def probed(made: Bootstrap, admin: HostPort, probes: HostPort) -> Bootstrap:
    """Let two paths of the admin interface be asked on every address of the pod: kubelet takes one."""
    assert made.static_resources is not None, "ours has some"
    made.static_resources.clusters.append(_admin(admin))
    made.static_resources.listeners.append(_listener(probes))
    return made


def _admin(admin: HostPort) -> Cluster:
    host = LbEndpoint(endpoint=Endpoint(address=_address(admin)))
    return Cluster(
        name=NAME,
        type=ClusterDiscoveryType.STATIC,
        load_assignment=ClusterLoadAssignment(
            cluster_name=NAME, endpoints=[LocalityLbEndpoints(lb_endpoints=[host])]
        ),
    )


def _listener(probes: HostPort) -> Listener:
    routes = [
        Route(match=RouteMatch(path=path), route=RouteAction(cluster=NAME)) for path in (READY, METRICS)
    ]
    manager = HttpConnectionManager(
        stat_prefix=NAME,
        route_config=RouteConfiguration(
            name=NAME, virtual_hosts=[VirtualHost(name=NAME, domains=["*"], routes=routes)]
        ),
        http_filters=[HttpFilter(name="envoy.filters.http.router", typed_config=Any.pack(Router()))],
    )
    filters = [Filter(name="envoy.filters.network.http_connection_manager", typed_config=Any.pack(manager))]
    return Listener(
        name=NAME,
        address=_address(probes),
        filter_chains=[FilterChain(filters=filters)],
        ignore_global_conn_limit=True,
        bypass_overload_manager=True,
    )


def _address(place: HostPort) -> Address:
    takes_both = place.host == "::"
    return Address(
        socket_address=SocketAddress(address=place.host, port_value=place.port, ipv4_compat=takes_both)
    )
