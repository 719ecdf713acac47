"""What proxies tell of requests, in lines that people read: made from the bytes themselves."""

from collections.abc import Iterator
from typing import Any

from envoy.config.listener.v3 import listener_pb2

from tests.messages import opened
from translator.envoy.resource import LISTENER
from translator.translate import Resources


def telemetry(resources: Resources) -> dict[str, list[str]]:
    """Say of each port what is told about its requests or connections, and whom."""
    read = (listener_pb2.Listener.FromString(each.body) for each in resources[LISTENER].values())
    return {
        each.name: [
            f"{chain.name}: {', '.join(_told(opened(chain.filters[-1].typed_config))) or 'nothing'}"
            for chain in each.filter_chains
        ]
        for each in read
    }


def _told(last: Any) -> Iterator[str]:  # noqa: ANN401  generated, without annotations
    for log in last.access_log:
        written = opened(log.typed_config)
        if log.name.endswith("stdout"):
            yield "JSON" if written.log_format.HasField("json_format") else "text"
        else:
            yield f"logs to {_whom(written.common_config.grpc_service)}"
    if hasattr(last, "tracing") and last.HasField("tracing"):
        tracer = opened(last.tracing.provider.typed_config)
        share = f"{last.tracing.random_sampling.value:g} %"
        yield f"traces of {share} to {_whom(tracer.grpc_service)} as {tracer.service_name}"


def _whom(service: Any) -> str:  # noqa: ANN401  generated, without annotations
    return f"{service.envoy_grpc.cluster_name} (as {service.envoy_grpc.authority})"
