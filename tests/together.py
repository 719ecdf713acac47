"""The resources of many worlds as those of one, so that Envoy can judge them all at once."""

from collections.abc import Mapping

from google.protobuf import any_pb2, message

from tests.envoy_validate import Resources
from tests.messages import opened, read

EVERYWHERE = "0.0.0.0"  # noqa: S104  # compared, never bound


def together(worlds: Mapping[str, Resources]) -> dict[str, dict[str, bytes]]:
    """Join worlds by their titles: what each has is named after it, and bound to an address of its own."""
    joined: dict[str, dict[str, bytes]] = {}
    for number, (title, resources) in enumerate(worlds.items(), 1):
        names = {name: f"{title}: {name}" for named in resources.values() for name in named}
        names[EVERYWHERE] = f"127.1.{number // 250}.{number % 250 + 1}"
        for type_url, named in resources.items():
            known = joined.setdefault(type_url, {})
            known |= {names[name]: _renamed(type_url, body, names) for name, body in named.items()}
    return joined


def _renamed(type_url: str, body: bytes, names: Mapping[str, str]) -> bytes:
    whole = read(type_url, body)
    _rename(whole, names)
    return bytes(whole.SerializeToString(deterministic=True))


def _rename(part: message.Message, names: Mapping[str, str]) -> None:
    """Change names wherever they stand, at any depth."""
    if isinstance(part, any_pb2.Any):
        inner = opened(part)
        _rename(inner, names)
        part.value = inner.SerializeToString(deterministic=True)
        return
    for field, value in part.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            below = value.values()
        else:
            below = value if field.is_repeated else (value,)
        if field.type == field.TYPE_STRING and not field.is_repeated and value in names:
            setattr(part, field.name, names[value])
        for each in below:
            if isinstance(each, message.Message):
                _rename(each, names)
