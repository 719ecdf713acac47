"""The few protobuf fields we write ourselves, so that a resource is serialized once and then only joined."""

from collections.abc import Iterable
from functools import cache

LOW_BITS = 0x7F
MORE = 0x80
LENGTH_DELIMITED = 2
SHORT = tuple(bytes((number,)) for number in range(LOW_BITS + 1))


def varint(number: int) -> bytes:
    """A non-negative number in protobuf's base 128."""
    if number <= LOW_BITS:
        return SHORT[number]
    out = bytearray()
    while number > LOW_BITS:
        out.append(number & LOW_BITS | MORE)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number: int, payload: bytes) -> bytes:
    """One length-delimited field; nothing at all for an empty payload, as proto3 would."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(payload)) + payload if payload else b""


def text(number: int, value: str) -> bytes:
    """One string field."""
    return field(number, value.encode())


def packed(type_url: str, body: bytes) -> bytes:
    """A google.protobuf.Any around a serialized message."""
    return _kind(type_url) + field(2, body)


@cache
def _kind(type_url: str) -> bytes:
    return text(1, type_url)


def named(name: str, version: str, type_url: str, body: bytes) -> bytes:
    """A delta discovery Resource."""
    return text(1, version) + field(2, packed(type_url, body)) + text(3, name)


def repeated(number: int, values: Iterable[str]) -> bytes:
    """A repeated string field, which keeps its empty strings."""
    key = varint(number << 3 | LENGTH_DELIMITED)
    return b"".join(key + varint(len(value)) + value for value in (each.encode() for each in values))
