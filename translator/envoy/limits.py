"""What is granted to clients, as filters: how many connections and requests, how large, and who they are."""

from envoy.config.listener.v3 import listener_components_pb2
from envoy.extensions.filters.http.local_ratelimit.v3 import local_rate_limit_pb2
from envoy.extensions.filters.listener.proxy_protocol.v3 import proxy_protocol_pb2
from envoy.extensions.filters.network.connection_limit.v3 import connection_limit_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from xds.type.v3 import typed_struct_pb2

from translator.envoy.durations import duration
from translator.envoy.encode import packed
from translator.rules.clients import Rate

KIB = 1024
BODY_SIZE_LIMIT = "type.googleapis.com/envoy.extensions.filters.http.body_size_limit.v3.BodySizeLimit"
ALL = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}


def connections(most: int, name: str) -> listener_components_pb2.Filter:
    """Build the filter that closes connections of which there are too many already."""
    limit = connection_limit_pb2.ConnectionLimit(stat_prefix=name, max_connections={"value": most})
    return listener_components_pb2.Filter(
        name="envoy.filters.network.connection_limit", typed_config=packed(limit)
    )


def requests(rate: Rate, name: str) -> http_connection_manager_pb2.HttpFilter:
    """Build the filter that answers 429 where requests come too fast, gRPC with RESOURCE_EXHAUSTED."""
    bucket = {
        "max_tokens": rate.holds,
        "tokens_per_fill": {"value": rate.back},
        "fill_interval": duration(rate.every),
    }
    limit = local_rate_limit_pb2.LocalRateLimit(
        stat_prefix=f"http.{name}",
        token_bucket=bucket,
        filter_enabled=ALL,
        filter_enforced=ALL,
        rate_limited_as_resource_exhausted=True,
    )
    return http_connection_manager_pb2.HttpFilter(
        name="envoy.filters.http.local_ratelimit", typed_config=packed(limit)
    )


def bodies(kilobytes: int) -> http_connection_manager_pb2.HttpFilter:
    """Build the filter that answers 413 to a body that is too large, at once if its length is said.

    Nothing is held back to be counted. The messages that we have lack this filter, so it is written by name.
    """
    limit = typed_struct_pb2.TypedStruct(type_url=BODY_SIZE_LIMIT)
    limit.value["max_request_bytes"] = kilobytes * KIB
    return http_connection_manager_pb2.HttpFilter(
        name="envoy.filters.http.body_size_limit", typed_config=packed(limit)
    )


def proxy_protocol(*, required: bool) -> listener_components_pb2.ListenerFilter:
    """Build the filter that has a balancer in front say who its clients are, in version 1 or 2."""
    read = proxy_protocol_pb2.ProxyProtocol(allow_requests_without_proxy_protocol=not required)
    return listener_components_pb2.ListenerFilter(
        name="envoy.filters.listener.proxy_protocol", typed_config=packed(read)
    )
