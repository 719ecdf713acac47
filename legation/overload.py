"""What an Envoy does before it runs out of connections or of memory: it takes less, and lets go of more."""

from datetime import timedelta

from envoy_data_plane.envoy.config.overload.v3 import (
    OverloadAction,
    OverloadManager,
    ResourceMonitor,
    ScaledTrigger,
    ScaleTimersOverloadActionConfig,
    ScaleTimersOverloadActionConfigScaleTimer,
    ScaleTimersOverloadActionConfigTimerType,
    ThresholdTrigger,
    Trigger,
)
from envoy_data_plane.envoy.extensions.resource_monitors.downstream_connections.v3 import (
    DownstreamConnectionsConfig,
)
from envoy_data_plane.envoy.extensions.resource_monitors.fixed_heap.v3 import FixedHeapConfig
from envoy_data_plane.google.protobuf import Any

MOST_CONNECTIONS = 50_000
CONNECTIONS = "envoy.resource_monitors.global_downstream_max_connections"
HEAP = "envoy.resource_monitors.fixed_heap"
SHARE_OF_HEAP = 0.9  # of a process's memory; stacks and what the kernel keeps for it take the rest
STEPS = (  # at which part of the heap what is begun
    ("shrink_heap", 0.85),
    ("disable_http_keepalive", 0.9),
    ("stop_accepting_requests", 0.95),
    ("stop_accepting_connections", 0.98),
)
SHORTEN_FROM, SHORTENED_AT = 0.8, 0.95
SHORTENED = (  # patience with the silent is less the less memory there is, down to these seconds
    (ScaleTimersOverloadActionConfigTimerType.HTTP_DOWNSTREAM_CONNECTION_IDLE, 5),
    (ScaleTimersOverloadActionConfigTimerType.HTTP_DOWNSTREAM_STREAM_IDLE, 60),
)


def overload(memory: int | None) -> OverloadManager:
    """Guard an Envoy that may have so many bytes of memory; without a limit, only its connections are."""
    limit = DownstreamConnectionsConfig(max_active_downstream_connections=MOST_CONNECTIONS)
    connections = ResourceMonitor(name=CONNECTIONS, typed_config=Any.pack(limit))
    if memory is None:
        return OverloadManager(resource_monitors=[connections])
    most = FixedHeapConfig(max_heap_size_bytes=int(memory * SHARE_OF_HEAP))
    return OverloadManager(
        refresh_interval=timedelta(milliseconds=250),
        resource_monitors=[connections, ResourceMonitor(name=HEAP, typed_config=Any.pack(most))],
        actions=[_patience(), *(_step(name, part) for name, part in STEPS)],
    )


def _step(name: str, part: float) -> OverloadAction:
    trigger = Trigger(name=HEAP, threshold=ThresholdTrigger(value=part))
    return OverloadAction(name=f"envoy.overload_actions.{name}", triggers=[trigger])


def _patience() -> OverloadAction:
    trigger = Trigger(
        name=HEAP, scaled=ScaledTrigger(scaling_threshold=SHORTEN_FROM, saturation_threshold=SHORTENED_AT)
    )
    timers = [
        ScaleTimersOverloadActionConfigScaleTimer(timer=timer, min_timeout=timedelta(seconds=least))
        for timer, least in SHORTENED
    ]
    return OverloadAction(
        name="envoy.overload_actions.reduce_timeouts",
        triggers=[trigger],
        typed_config=Any.pack(ScaleTimersOverloadActionConfig(timer_scale_factors=timers)),
    )
