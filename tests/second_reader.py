"""An independent reader of what we serve: `envoy-data-plane` must understand the same as `xds-protos`."""

from importlib import import_module

import betterproto2
from google.protobuf import json_format, symbol_database


def assert_reads_equal(type_url: str, body: bytes) -> None:
    """Compare the JSON forms of two libraries' readings, and the bytes that the second one writes."""
    name = type_url.rpartition("/")[2]
    first = symbol_database.Default().GetSymbol(name).FromString(body)
    second = _message_class(name).parse(body)
    assert second.to_dict() == json_format.MessageToDict(first)
    assert bytes(second) == body


def _message_class(name: str) -> type[betterproto2.Message]:
    package, _, title = name.rpartition(".")
    found: type[betterproto2.Message] = getattr(import_module(f"envoy_data_plane.{package}"), title)
    return found
