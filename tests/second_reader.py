"""An independent reader of what we serve: `envoy-data-plane` must understand the same as `xds-protos`."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from warnings import catch_warnings, simplefilter

import betterproto2
from envoy_data_plane.google.protobuf import Struct
from envoy_data_plane.message_pool import default_message_pool
from google.protobuf import json_format, symbol_database


@dataclass(eq=False, repr=False)
class TypedStruct(betterproto2.Message):
    """A message by its type's name, which the second library lacks."""

    type_url: str = betterproto2.field(1, betterproto2.TYPE_STRING)
    value: Struct | None = betterproto2.field(  # noqa: RUF009  as the library's own messages do
        2, betterproto2.TYPE_MESSAGE, optional=True
    )


default_message_pool.register_message("xds.type.v3", "TypedStruct", TypedStruct)


def assert_reads_equal(type_url: str, body: bytes) -> None:
    """Compare the JSON forms of two libraries' readings."""
    name = type_url.rpartition("/")[2]
    first = json_format.MessageToDict(symbol_database.Default().GetSymbol(name).FromString(body))
    for inner in (type_url, *_types(first)):
        package = inner.rpartition("/")[2].rpartition(".")[0]
        import_module(f"envoy_data_plane.{package}")  # its types are known to the second library from then on
    with catch_warnings():
        simplefilter("ignore", DeprecationWarning)  # Envoy itself says in validate mode what is deprecated
        second = default_message_pool.url_to_type[type_url].parse(body).to_dict()
    assert _written(second) == _written(first)


def _written(read: object) -> object:
    """Write whole numbers as text: of 64 bits that is JSON's form, which one library forgets in wrappers."""
    if isinstance(read, dict):
        return {name: _written(value) for name, value in read.items()}
    if isinstance(read, list):
        return [_written(value) for value in read]
    return str(read) if isinstance(read, int) and not isinstance(read, bool) else read


def _types(read: object) -> Iterator[str]:
    """Yield the types that are named anywhere inside."""
    if isinstance(read, dict):
        if "@type" in read:
            yield read["@type"]
        yield from (found for value in read.values() for found in _types(value))
    elif isinstance(read, list):
        yield from (found for value in read for found in _types(value))
