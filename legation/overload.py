"""What an Envoy does before it runs out of connections or of memory: it takes less, and lets go of more."""

import json
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
from envoy_data_plane.google.protobuf import Any

MOST_CONNECTIONS = 50_000
CONNECTIONS = "envoy.resource_monitors.global_downstream_max_connections"
HEAP = "envoy.resource_monitors.fixed_heap"
TYPE_OF_HEAP = "type.googleapis.com/envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig"
SHARE_OF_HEAP = 0.9  # of what there is; stacks and what the kernel keeps for a process take the rest
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


def overload() -> OverloadManager:
    """Guard an Envoy against too many connections."""
    limit = DownstreamConnectionsConfig(max_active_downstream_connections=MOST_CONNECTIONS)
    return OverloadManager(
        resource_monitors=[ResourceMonitor(name=CONNECTIONS, typed_config=Any.pack(limit))]
    )


def memory(most: str) -> str:
    """Write what `--config-yaml` adds to guard the memory of an Envoy, of which there are so many bytes."""
    actions = [_patience(), *(_step(name, part) for name, part in STEPS)]
    guard = OverloadManager(refresh_interval=timedelta(milliseconds=250), actions=actions).to_dict()
    monitor = {"name": HEAP, "typedConfig": {"@type": TYPE_OF_HEAP, "maxHeapSizeBytes": most}}
    return json.dumps({"overloadManager": {**guard, "resourceMonitors": [monitor]}}, sort_keys=True)


def _step(name: str, part: float) -> OverloadAction:
    trigger = Trigger(name=HEAP, threshold=ThresholdTrigger(value=round(part * SHARE_OF_HEAP, 4)))
    return OverloadAction(name=f"envoy.overload_actions.{name}", triggers=[trigger])


def _patience() -> OverloadAction:
    begin, end = (round(part * SHARE_OF_HEAP, 4) for part in (SHORTEN_FROM, SHORTENED_AT))
    trigger = Trigger(name=HEAP, scaled=ScaledTrigger(scaling_threshold=begin, saturation_threshold=end))
    timers = [
        ScaleTimersOverloadActionConfigScaleTimer(timer=timer, min_timeout=timedelta(seconds=least))
        for timer, least in SHORTENED
    ]
    return OverloadAction(
        name="envoy.overload_actions.reduce_timeouts",
        triggers=[trigger],
        typed_config=Any.pack(ScaleTimersOverloadActionConfig(timer_scale_factors=timers)),
    )
