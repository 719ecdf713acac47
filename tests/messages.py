"""Reading Envoy's messages in tests: what is wrapped inside, at any depth."""

from collections.abc import Iterator
from typing import Any

from google.protobuf import any_pb2, message, symbol_database


def read(type_url: str, body: bytes) -> Any:  # noqa: ANN401  any message
    """Read a serialized message of the type that its URL names."""
    return symbol_database.Default().GetSymbol(type_url.rpartition("/")[2]).FromString(body)


def opened(wrapped: any_pb2.Any) -> Any:  # noqa: ANN401  any message
    """Unpack a message of whatever type it says."""
    return read(wrapped.type_url, wrapped.value)


def within(whole: message.Message) -> Iterator[message.Message]:
    """Yield a message, unpacked if it is wrapped, and all that it consists of."""
    if isinstance(whole, any_pb2.Any):
        yield from within(opened(whole))
        return
    yield whole
    for field, value in whole.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            below = [each for each in value.values() if isinstance(each, message.Message)]
        else:
            below = value if field.is_repeated else [value]
        for each in below:
            yield from within(each)
