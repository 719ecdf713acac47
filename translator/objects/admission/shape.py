"""The shape a struct demands of JSON: its fields, their types, and the constraints written beside them."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, NamedTuple, Union, get_args, get_origin

from msgspec import Raw, Struct
from msgspec.structs import fields

from translator.objects.constraints import Between, Entries, Items, OneOf, Text
from translator.objects.meta import Part


class TextShape(Struct, frozen=True):
    """A string."""

    demand: Text | OneOf | None = None


class NumberShape(Struct, frozen=True):
    """A whole number."""

    demand: Between | OneOf | None = None


class NumberOrTextShape(Struct, frozen=True):
    """A whole number, or a text in its place, such as a name or an amount."""

    demand: Text | None = None


class FlagShape(Struct, frozen=True):
    """Yes or no."""


class TimeShape(Struct, frozen=True):
    """A moment in RFC 3339."""


class AnyShape(Struct, frozen=True):
    """Whatever it is."""


class ListShape(Struct, frozen=True):
    """A list whose items have one shape."""

    item: "Shape"
    demand: Items = Items()


class MapShape(Struct, frozen=True):
    """A map from any names to values of one shape."""

    value: "Shape"
    demand: Entries | None = None


class FieldShape(NamedTuple):
    """One field of a record."""

    required: bool
    shape: "Shape"


class RecordShape(Struct, frozen=True):
    """A map with known fields; those in `also` may have any shape."""

    fields: dict[str, FieldShape]
    also: frozenset[str]


Shape = (
    TextShape
    | NumberShape
    | NumberOrTextShape
    | FlagShape
    | TimeShape
    | AnyShape
    | ListShape
    | MapShape
    | RecordShape
)

_PLAIN: Mapping[object, Shape] = MappingProxyType({bool: FlagShape(), datetime: TimeShape(), Raw: AnyShape()})


@cache
def shape_of(part: type[Part]) -> RecordShape:
    """Read a struct's shape from its annotations, once."""
    known = {
        field.encode_name: FieldShape(field.required, _shape(_without_none(field.type)))
        for field in fields(part)
    }
    return RecordShape(known, part.also)


def _without_none(hint: object) -> object:
    """Let `X | None` mean `X`: a null is taken for an absent field before shapes are compared."""
    options = [option for option in get_args(hint) if option is not NoneType]
    return options[0] if get_origin(hint) in {Union, UnionType} and len(options) == 1 else hint


def _shape(hint: object) -> Shape:
    base, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    demand = marks[0] if marks else None
    if isinstance(base, type) and issubclass(base, Part):
        return shape_of(base)
    if get_origin(base) is tuple:
        return ListShape(_shape(get_args(base)[0]), demand or Items())
    if get_origin(base) is dict:
        return MapShape(_shape(get_args(base)[1]), demand)
    return _scalar(base, demand)


def _scalar(base: object, demand: Text | Between | OneOf | None) -> Shape:
    if base is str and not isinstance(demand, Between):
        return TextShape(demand)
    if base is int and not isinstance(demand, Text):
        return NumberShape(demand)
    if base == int | str | None and not isinstance(demand, Between | OneOf):
        return NumberOrTextShape(demand)
    return _PLAIN[base]
