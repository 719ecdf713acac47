"""Messages into bytes: always the same ones for the same message, so that a version can be made from them."""

from google.protobuf import any_pb2, message

MORE = 0x80  # the bit by which a varint says that another byte follows
LENGTH_DELIMITED = 2


def encode(built: message.Message) -> bytes:
    """Return the message's deterministic serialization: its fields by number, its maps by key."""
    return bytes(built.SerializeToString(deterministic=True))


def packed(built: message.Message) -> any_pb2.Any:
    """Wrap a message for a field that takes any type."""
    wrapped = any_pb2.Any()
    wrapped.Pack(built, deterministic=True)
    return wrapped


def element(number: int, body: bytes) -> bytes:
    """Frame a serialized message as one element of a repeated field.

    A message is the concatenation of its fields, so a large one is joined from elements that were serialized
    once, where one of thousands has changed.
    """
    return _varint(number << 3 | LENGTH_DELIMITED) + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number >= MORE:
        digits.append(number & (MORE - 1) | MORE)
        number >>= 7
    digits.append(number)
    return bytes(digits)
