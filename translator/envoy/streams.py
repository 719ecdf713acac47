"""Connections and datagrams to backends by weight; what is refused leads to a cluster without endpoints."""

from envoy.config.listener.v3 import listener_components_pb2
from envoy.extensions.filters.network.tcp_proxy.v3 import tcp_proxy_pb2
from envoy.extensions.filters.udp.udp_proxy.v3 import route_pb2, udp_proxy_pb2
from envoy.extensions.matching.common_inputs.network.v3 import network_inputs_pb2
from envoy.extensions.matching.input_matchers.consistent_hashing.v3 import consistent_hashing_pb2
from xds.type.matcher.v3 import matcher_pb2

from translator.envoy.clusters import LONGEST_UNPROVED, REFUSED
from translator.envoy.durations import duration
from translator.envoy.encode import packed
from translator.envoy.telemetry import connection_logs
from translator.rules.backends import Backend
from translator.rules.streams import Streams
from translator.rules.telemetry import Telemetry
from translator.verdict import Refused

Part = tuple[str, int]  # a cluster, and its weight


def tcp_proxy(streams: Streams, name: str, idle: int, told: Telemetry) -> listener_components_pb2.Filter:
    """Build the filter that gives each connection to one of the shares, and ends it when it is idle."""
    logs = connection_logs(told)
    proxy = tcp_proxy_pb2.TcpProxy(stat_prefix=name, idle_timeout=duration(idle), access_log=logs)
    if any(isinstance(each.target, Backend) and each.target.weakness for each in streams.shares):
        proxy.max_downstream_connection_duration.seconds = LONGEST_UNPROVED
    parts = _parts(streams)
    if len(parts) == 1:
        [(proxy.cluster, _)] = parts
    else:
        for cluster, weight in parts:
            proxy.weighted_clusters.clusters.add(name=cluster, weight=weight)
    return listener_components_pb2.Filter(name="envoy.filters.network.tcp_proxy", typed_config=packed(proxy))


def udp_proxy(streams: Streams, name: str) -> listener_components_pb2.ListenerFilter:
    """Build the filter that gives each client's datagrams to one of the shares."""
    proxy = udp_proxy_pb2.UdpProxyConfig(stat_prefix=name)
    proxy.matcher.CopyFrom(_by_source_port(_parts(streams)))
    return listener_components_pb2.ListenerFilter(
        name="envoy.filters.udp_listener.udp_proxy", typed_config=packed(proxy)
    )


def targets(streams: Streams) -> tuple[str, ...]:
    """Name the clusters that connections or datagrams are given to."""
    return tuple(sorted({cluster for cluster, _ in _parts(streams)}))


def _parts(streams: Streams) -> tuple[Part, ...]:
    weighted = tuple((_cluster(share.target), share.weight) for share in streams.shares if share.weight)
    return weighted or ((REFUSED, 1),)


def _cluster(target: Backend | Refused) -> str:
    match target:
        case Backend():
            return str(target)
        case Refused():
            return REFUSED


def _by_source_port(parts: tuple[Part, ...]) -> matcher_pb2.Matcher:
    """Share clients out by a hash of the port they send from: Envoy's UDP has no weights of its own.

    One hash is cut into ranges as wide as the weights; the first part that begins at or below it takes it.
    """
    matcher = matcher_pb2.Matcher()
    *others, (last, _) = parts
    above = total = sum(weight for _, weight in parts)
    for cluster, weight in others:
        above -= weight
        rule = matcher.matcher_list.matchers.add()
        rule.predicate.single_predicate.input.name = "source port"
        rule.predicate.single_predicate.input.typed_config.CopyFrom(
            packed(network_inputs_pb2.SourcePortInput())
        )
        rule.predicate.single_predicate.custom_match.name = "share"
        rule.predicate.single_predicate.custom_match.typed_config.CopyFrom(
            packed(consistent_hashing_pb2.ConsistentHashing(threshold=above, modulo=total))
        )
        _send(rule.on_match, cluster)
    _send(matcher.on_no_match, last)
    return matcher


def _send(action: matcher_pb2.Matcher.OnMatch, cluster: str) -> None:
    action.action.name = "route"
    action.action.typed_config.CopyFrom(packed(route_pb2.Route(cluster=cluster)))
