"""Changes of headers in Envoy's terms: it removes first, so what is set or added stays."""

from collections.abc import Iterator

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2

from translator.rules.headers import UNCHANGED, HeaderChanges

SET = base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD
ADD = base_pb2.HeaderValueOption.APPEND_IF_EXISTS_OR_ADD


def change_request(
    built: route_components_pb2.Route | route_components_pb2.WeightedCluster.ClusterWeight,
    changes: HeaderChanges,
) -> None:
    """Change the headers of requests that go this way."""
    if changes is not UNCHANGED:
        built.request_headers_to_add.extend(_added(changes))
        built.request_headers_to_remove.extend(changes.remove)


def change_response(
    built: route_components_pb2.Route | route_components_pb2.WeightedCluster.ClusterWeight,
    changes: HeaderChanges,
) -> None:
    """Change the headers of answers to them."""
    if changes is not UNCHANGED:
        built.response_headers_to_add.extend(_added(changes))
        built.response_headers_to_remove.extend(changes.remove)


def _added(changes: HeaderChanges) -> Iterator[base_pb2.HeaderValueOption]:
    for action, pairs in ((SET, changes.set), (ADD, changes.add)):
        for key, value in pairs:
            literal = value.replace("%", "%%")  # Envoy would take a single one for a placeholder
            yield base_pb2.HeaderValueOption(header={"key": key, "value": literal}, append_action=action)
