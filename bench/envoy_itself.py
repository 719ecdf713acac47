"""What Envoy itself needs for 5,000 routes: by our layout, by a cluster for each rule, and with more counted.

The same routes each time, given to Envoy at its start; only what one way is of another says something.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from envoy.config.bootstrap.v3 import bootstrap_pb2
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2, tls_pb2
from google.protobuf import json_format

from bench.changes import build
from bench.cluster.usage import usage
from legation.bootstrap import STATS
from tests.real_envoy import RunningEnvoy, running_envoy, until
from translator.envoy import resource
from translator.translate import Resources, Translator

SIZE = int(os.environ.get("ROUTES", "5000").split(",")[-1])
READY_WITHIN = 240.0  # seconds
MANAGER = "envoy.filters.network.http_connection_manager"


class Needed(NamedTuple):
    """What an Envoy took."""

    clusters: int
    statistics: int
    resident: float  # MB
    allocated: float  # MB, by its own count
    processor: float  # seconds until it was ready


class Layout(NamedTuple):
    """Everything that an Envoy is given."""

    clusters: list[cluster_pb2.Cluster]
    listeners: list[listener_pb2.Listener]
    secrets: list[secret_pb2.Secret]


def ours(resources: Resources) -> Layout:
    """Read what we serve, as an Envoy without a control plane takes it."""
    tables = {each.name: each for each in _all(resources, resource.ROUTES, route_pb2.RouteConfiguration)}
    places = {
        each.cluster_name: each
        for each in _all(resources, resource.ENDPOINTS, endpoint_pb2.ClusterLoadAssignment)
    }
    clusters = [_by_itself(each, places) for each in _all(resources, resource.CLUSTER, cluster_pb2.Cluster)]
    listeners = list(_all(resources, resource.LISTENER, listener_pb2.Listener))
    for number, listener in enumerate(listeners):
        _inline(listener, tables)
        listener.address.socket_address.port_value = 0
        listener.name = f"listener {number}"
    return Layout(clusters, listeners, list(_all(resources, resource.SECRET, secret_pb2.Secret)))


def by_rule(layout: Layout) -> Layout:
    """Give each rule a cluster of its own, with the endpoints of all of its backends."""
    known = {each.name: each for each in layout.clusters}
    made: list[cluster_pb2.Cluster] = []
    listeners = [listener_pb2.Listener.FromString(each.SerializeToString()) for each in layout.listeners]

    def give(action: Any) -> None:  # noqa: ANN401  # of protobuf
        parts = [each.name for each in action.weighted_clusters.clusters] or [action.cluster]
        own = cluster_pb2.Cluster.FromString(known[parts[0]].SerializeToString())
        own.name = own.load_assignment.cluster_name = f"rule {len(made)}"
        for name in parts[1:]:
            own.load_assignment.endpoints.extend(known[name].load_assignment.endpoints)
        made.append(own)
        action.cluster = own.name

    for listener in listeners:
        _with_own_clusters(listener, give)
    return Layout(made, listeners, layout.secrets)


def _all(resources: Resources, type_url: str, message: type) -> Iterator[Any]:
    for each in resources.get(type_url, {}).values():
        yield message.FromString(each.body)  # type: ignore[attr-defined]  # of protobuf


def _by_itself(
    cluster: cluster_pb2.Cluster, places: Mapping[str, endpoint_pb2.ClusterLoadAssignment]
) -> cluster_pb2.Cluster:
    """Give a cluster its endpoints, and its trust from the bootstrap."""
    if cluster.type == cluster_pb2.Cluster.EDS:
        place = places[cluster.eds_cluster_config.service_name or cluster.name]
        cluster.ClearField("eds_cluster_config")
        cluster.type = cluster_pb2.Cluster.STATIC
        cluster.load_assignment.CopyFrom(place)
    if cluster.HasField("transport_socket"):
        context = tls_pb2.UpstreamTlsContext()
        cluster.transport_socket.typed_config.Unpack(context)
        trust = context.common_tls_context.combined_validation_context.validation_context_sds_secret_config
        trust.ClearField("sds_config")
        cluster.transport_socket.typed_config.Pack(context)
    return cluster


def _inline(listener: listener_pb2.Listener, tables: Mapping[str, route_pb2.RouteConfiguration]) -> None:
    for manager, typed in _managers(listener):
        manager.route_config.CopyFrom(tables[manager.rds.route_config_name])
        manager.ClearField("rds")
        typed.Pack(manager)


def _managers(listener: listener_pb2.Listener) -> Iterator[tuple[Any, Any]]:
    chains = (*listener.filter_chains, listener.default_filter_chain)
    for each in (found for chain in chains for found in chain.filters if found.name == MANAGER):
        manager = http_connection_manager_pb2.HttpConnectionManager()
        each.typed_config.Unpack(manager)
        yield manager, each.typed_config


def _with_own_clusters(listener: listener_pb2.Listener, give: Callable[[Any], None]) -> None:
    for manager, typed in _managers(listener):
        for host in manager.route_config.virtual_hosts:
            for route in host.routes:
                if route.HasField("route"):
                    give(route.route)
        typed.Pack(manager)


def bootstrap(layout: Layout, counted: Mapping[str, object]) -> dict[str, object]:
    """Write a layout as an Envoy is started with it."""
    static = bootstrap_pb2.Bootstrap.StaticResources(
        clusters=layout.clusters, listeners=layout.listeners, secrets=layout.secrets
    )
    return {"static_resources": json_format.MessageToDict(static), **counted}


async def needed(layout: Layout, counted: Mapping[str, object]) -> Needed:
    """Start an Envoy with a layout; say what it took."""
    async with running_envoy(bootstrap(layout, counted), wait_ready=False) as envoy:
        await until(partial(_is_ready, envoy), within=READY_WITHIN)
        _, told = await envoy.get("/memory")
        _, statistics = await envoy.get("/stats")
        used = usage(envoy.process.pid)
        return Needed(
            len(layout.clusters),
            len(statistics.splitlines()),
            used.memory / 1024**2,
            int(json.loads(told)["allocated"]) / 1024**2,
            used.cpu,
        )


async def _is_ready(envoy: RunningEnvoy) -> bool:
    with suppress(TimeoutError):  # while it reads, it answers nobody
        return await envoy.ready()
    return False


async def main() -> None:
    """Print each way beside ours."""
    layout = ours(next(iter(Translator(build(SIZE, 1)).translate().gateways.values())))
    few: dict[str, object] = {
        "stats_config": {
            "stats_matcher": {
                "inclusion_list": {"patterns": [{"safe_regex": {"regex": each}} for each in STATS]}
            }
        }
    }
    late: dict[str, object] = {"deferred_stat_options": {"enable_deferred_creation_stats": True}}
    ways: dict[str, tuple[Layout, Mapping[str, object]]] = {
        "as we serve and start it": (layout, few | late),
        "without deferring": (layout, few),
        "with all statistics": (layout, {}),
        "with all statistics, deferred": (layout, late),
        "a cluster for each rule": (by_rule(layout), few | late),
        "a cluster for each rule, all statistics": (by_rule(layout), {}),
    }
    found = {name: await needed(*way) for name, way in ways.items()}
    base = next(iter(found.values()))
    print(
        f"{SIZE} routes of three rules, one Gateway; memory, the same by Envoy's count, processor until ready"
    )
    for name, each in found.items():
        print(
            f"  {name:42} {each.resident / base.resident:5.2f}x {each.allocated / base.allocated:5.2f}x"
            f" {each.processor / base.processor:5.2f}x;"
            f" {each.clusters} clusters, {each.statistics} statistics"
        )
    print(base)


if __name__ == "__main__":
    asyncio.run(main())
