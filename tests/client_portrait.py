"""What clients of each port are granted, in lines that people read: made from the bytes themselves."""

from collections.abc import Iterator
from typing import Any

from envoy.config.listener.v3 import listener_components_pb2, listener_pb2

from tests.messages import opened
from translator.envoy.resource import LISTENER
from translator.translate import Resources

HTTP = "envoy.filters.network.http_connection_manager"


def clients(resources: Resources) -> dict[str, list[str]]:
    """Say of each port how its clients are treated."""
    read = (listener_pb2.Listener.FromString(each.body) for each in resources[LISTENER].values())
    return {each.name: [*_before(each), *(_chain(chain) for chain in each.filter_chains)] for each in read}


def _before(listener: listener_pb2.Listener) -> Iterator[str]:
    for each in listener.listener_filters:
        if each.name.endswith("proxy_protocol"):
            lenient = opened(each.typed_config).allow_requests_without_proxy_protocol
            yield f"PROXY protocol, {'if there is any' if lenient else 'without which it is closed'}"


def _chain(chain: listener_components_pb2.FilterChain) -> str:
    *before, last = chain.filters
    read = opened(last.typed_config)
    lines = [f"{opened(each.typed_config).max_connections.value} connections" for each in before]
    return ", ".join([*lines, *(_http(read) if last.name == HTTP else [_lasts("idle", read.idle_timeout)])])


def _http(manager: Any) -> Iterator[str]:  # noqa: ANN401  generated, without annotations
    for each in manager.http_filters:
        if each.name.endswith("local_ratelimit"):
            bucket = opened(each.typed_config).token_bucket
            every = bucket.fill_interval.ToMilliseconds()
            yield f"{bucket.tokens_per_fill.value} requests per {every} ms, at once {bucket.max_tokens}"
        if each.name.endswith("body_size_limit"):
            yield f"bodies of {opened(each.typed_config).value['max_request_bytes'] / 1024:.0f} KiB"
    common = manager.common_http_protocol_options
    yield f"{common.max_headers_count.value} headers of {manager.max_request_headers_kb.value} KiB"
    if common.headers_with_underscores_action:
        yield "no underscores in their names"
    yield _lasts("complete", manager.request_headers_timeout)
    yield _lasts("idle", common.idle_timeout)
    yield _lasts("streams", manager.stream_idle_timeout)
    if manager.xff_num_trusted_hops:
        yield f"{manager.xff_num_trusted_hops} proxies in front"


def _lasts(what: str, time: Any) -> str:  # noqa: ANN401  generated, without annotations
    milliseconds = time.ToMilliseconds()
    return f"{what} {f'within {milliseconds / 1000:g} s' if milliseconds else 'for ever'}"
