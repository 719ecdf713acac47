"""How Envoy speaks HTTP with clients: the same at every port, but for the route table."""

from collections.abc import Iterable, Sequence

from envoy.config.core.v3 import protocol_pb2
from envoy.config.listener.v3 import listener_components_pb2
from envoy.extensions.filters.http.cors.v3 import cors_pb2
from envoy.extensions.filters.http.fault.v3 import fault_pb2
from envoy.extensions.filters.http.lua.v3 import lua_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.http.stateful_session.v3 import stateful_session_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2

from translator.envoy.asking import filters, places
from translator.envoy.config_source import OVER_ADS
from translator.envoy.cors import CORS
from translator.envoy.durations import duration
from translator.envoy.encode import encode, packed
from translator.envoy.forwards import FAULT
from translator.envoy.sessions import SESSION, UNAGED
from translator.envoy.telemetry import request_logs, tracing
from translator.rules.clients import Manners
from translator.rules.questions import Question
from translator.rules.tables import Table
from translator.rules.telemetry import Telemetry

KIB = 1024

# Limits are those that Envoy's documentation advises for an edge, with none on the length of a whole request.
# Paths are brought into one form before routes are matched, so that a route cannot be passed by in another.
# Nobody in front is believed about where a client is, unless parameters say how many proxies there are; no
# client may steer Envoy by its own headers.
PREPARED = encode(
    http_connection_manager_pb2.HttpConnectionManager(
        http_filters=[
            {  # enabled by a route only, as are all but the last
                "name": CORS,
                "typed_config": packed(cors_pb2.Cors()),
                "disabled": True,
            },
            *places(),  # after it, for preflights show nobody's credentials
            {  # for the shares of a route's traffic that are refused
                "name": FAULT,
                "typed_config": packed(fault_pb2.HTTPFault()),
                "disabled": True,
            },
            {  # before sessions, so that it sees answers after them
                "name": UNAGED,
                "typed_config": packed(lua_pb2.Lua()),
                "disabled": True,
            },
            {
                "name": SESSION,
                "typed_config": packed(stateful_session_pb2.StatefulSession()),
                "disabled": True,
            },
            {
                "name": "envoy.filters.http.router",
                "typed_config": packed(router_pb2.Router(suppress_envoy_headers=True)),
            },
        ],
        http2_protocol_options={
            "max_concurrent_streams": {"value": 100},
            "initial_stream_window_size": {"value": 64 * KIB},
            "initial_connection_window_size": {"value": 1024 * KIB},
        },
        server_header_transformation="PASS_THROUGH",  # none where a route takes it away
        stream_flush_timeout={"seconds": 300},  # for clients that do not take what they asked for
        use_remote_address={"value": True},
        internal_address_config={  # nobody is internal; an empty list would mean all private addresses
            "cidr_ranges": [{"address_prefix": "255.255.255.255", "prefix_len": {"value": 32}}]
        },
        upgrade_configs=[{"upgrade_type": "websocket"}],
        normalize_path={"value": True},
        merge_slashes=True,
        path_with_escaped_slashes_action="UNESCAPE_AND_REDIRECT",
    )
)


def prepared(manners: Manners, told: Telemetry, *, over_quic: bool) -> bytes:
    """Return what all managers of a port have in common."""
    built = http_connection_manager_pb2.HttpConnectionManager.FromString(PREPARED)
    if over_quic:
        built.codec_type = http_connection_manager_pb2.HttpConnectionManager.HTTP3
    common = built.common_http_protocol_options
    common.idle_timeout.CopyFrom(duration(manners.idle))
    common.max_headers_count.value = manners.headers
    if manners.refuses_underscores:
        common.headers_with_underscores_action = protocol_pb2.HttpProtocolOptions.REJECT_REQUEST
    built.max_request_headers_kb.value = manners.header_kilobytes
    built.stream_idle_timeout.CopyFrom(duration(manners.stream_idle))
    built.request_headers_timeout.CopyFrom(duration(manners.request_headers))
    built.xff_num_trusted_hops = manners.trusted_hops
    built.access_log.extend(request_logs(told))
    if (traced := tracing(told)) is not None:
        built.tracing.CopyFrom(traced)
    return encode(built)


def manager(
    table: Table,
    asked: Sequence[Question],
    common: bytes,
    first: Iterable[http_connection_manager_pb2.HttpFilter] = (),
) -> listener_components_pb2.Filter:
    """Build the filter that speaks HTTP and sends requests where a route table says."""
    built = http_connection_manager_pb2.HttpConnectionManager.FromString(common)
    if asked:
        _ask_first(built, filters(asked, by_host=not table.hostname))
    _put_first(built, first)
    built.stat_prefix = built.rds.route_config_name = str(table)
    built.rds.config_source.ParseFromString(OVER_ADS)
    return listener_components_pb2.Filter(
        name="envoy.filters.network.http_connection_manager", typed_config=packed(built)
    )


def _ask_first(
    built: http_connection_manager_pb2.HttpConnectionManager,
    asking: Iterable[http_connection_manager_pb2.HttpFilter],
) -> None:
    """Put questions before all else, and have every filter look at the route that is chosen after them."""
    others = [*built.http_filters]
    for other in others:  # which do nothing unless that route says so
        other.disabled = False
    del built.http_filters[:]
    built.http_filters.extend((*asking, *others))


def _put_first(
    built: http_connection_manager_pb2.HttpConnectionManager,
    first: Iterable[http_connection_manager_pb2.HttpFilter],
) -> None:
    """Have filters see requests before anybody is asked about them."""
    others = [*built.http_filters]
    del built.http_filters[:]
    built.http_filters.extend((*first, *others))
