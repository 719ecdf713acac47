"""Compares JSON with the shape a struct demands, and names every field that differs."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from types import MappingProxyType

import msgspec

from translator.objects.admission.finding import Finding, join
from translator.objects.admission.shape import (
    AnyShape,
    FlagShape,
    ListShape,
    MapShape,
    NumberOrTextShape,
    NumberShape,
    RecordShape,
    Shape,
    TextShape,
    TimeShape,
)
from translator.objects.constraints import Between, Items, OneOf, Text

_QUOTES = MappingProxyType(
    {
        bool: ", as YAML reads on, off, yes and no: put it in quotes",
        int: ": put it in quotes",
        float: ": put it in quotes",
    }
)
_TYPES: Mapping[type, str] = MappingProxyType(
    {
        bool: "true or false",
        int: "a number",
        float: "a number with a fraction",
        str: "text",
        list: "a list",
        dict: "a map",
    }
)


def differences(value: object, shape: Shape, path: str) -> Iterator[Finding]:
    """Yield every difference between a value and the shape it should have."""
    match shape:
        case TextShape() | NumberShape() | NumberOrTextShape() | FlagShape() | TimeShape():
            yield from _of_scalar(value, shape, path)
        case ListShape():
            yield from _of_list(value, shape, path)
        case MapShape():
            yield from _of_map(value, shape, path)
        case RecordShape():
            yield from _of_record(value, shape, path)
        case AnyShape():
            pass


def _of_scalar(
    value: object, shape: TextShape | NumberShape | NumberOrTextShape | FlagShape | TimeShape, path: str
) -> Iterator[Finding]:
    message = _against(value, shape)
    if message:
        yield Finding(path, message)


def _against(
    value: object, shape: TextShape | NumberShape | NumberOrTextShape | FlagShape | TimeShape
) -> str | None:
    match shape:
        case TextShape(demand):
            return _of_text(value, demand)
        case NumberShape(demand):
            return _of_number(value, demand)
        case NumberOrTextShape(demand):
            is_text = isinstance(value, str | float)  # a fraction can be said in quotes
            return _of_text(value, demand) if is_text else _of_number(value, None)
        case FlagShape():
            return None if isinstance(value, bool) else f"must be true or false, and is {described(value)}"
        case TimeShape():
            return _of_time(value)


def _of_text(value: object, demand: Text | OneOf | None) -> str | None:
    if not isinstance(value, str):
        return f"must be text, and is {described(value)}{_QUOTES.get(type(value), '')}"
    match demand:
        case None:
            return None
        case OneOf(options):
            return None if value in options else _not_among(value, options)
        case Text():
            return _of_form(value, demand)


def _of_form(value: str, demand: Text) -> str | None:
    if len(value) < demand.shortest:
        return (
            "must not be empty"
            if demand.shortest == 1
            else f"must have at least {demand.shortest} characters"
        )
    if demand.longest is not None and len(value) > demand.longest:
        return f"must have at most {demand.longest} characters, and has {len(value)}"
    if demand.pattern and not demand.pattern.fullmatch(value):
        return f'must be {demand.means}, and is "{shortened(value)}"'
    return None


def _of_number(value: object, demand: Between | OneOf | None) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        remedy = ": remove the quotes" if isinstance(value, str) and value.isdecimal() else ""
        return f"must be a whole number, and is {described(value)}{remedy}"
    match demand:
        case None:
            return None
        case OneOf(options):
            return None if value in options else _not_among(str(value), options)
        case Between(least, most):
            return None if least <= value <= most else f"must be a number from {least} to {most}"


def _of_time(value: object) -> str | None:
    try:
        msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        return "must be a time such as 2026-01-31T12:00:00Z"
    return None


def _of_list(value: object, shape: ListShape, path: str) -> Iterator[Finding]:
    if not isinstance(value, list):
        yield Finding(path, f"must be a list, and is {described(value)}: begin each item with a hyphen")
        return
    demand = shape.demand
    if len(value) < demand.fewest:
        yield Finding(path, f"must have at least {_items(demand.fewest)}")
    if demand.most is not None and len(value) > demand.most:
        yield Finding(
            path, f"must have at most {_items(demand.most)}, and has {len(value)}: split the object"
        )
    yield from _repeated(value, demand, path)
    for index, item in enumerate(value):
        yield from differences(item, shape.item, f"{path}[{index}]")


def _repeated(items: list[object], demand: Items, path: str) -> Iterator[Finding]:
    """Items of a list whose key, or whose whole value, was there before."""
    first: dict[tuple[object, ...], int] = {}
    for index, item in enumerate(items):
        key = _key(item, demand)
        if key is None:
            continue
        if key in first:
            same = " and ".join(demand.key) or "value"
            yield Finding(f"{path}[{index}]", f"has the same {same} as [{first[key]}]: remove one")
        first.setdefault(key, index)


def _key(item: object, demand: Items) -> tuple[object, ...] | None:
    """What makes an item unique in its list; None where nothing does, or where that is misshapen."""
    if demand.distinct:
        key: tuple[object, ...] = (item,)
    elif demand.key and isinstance(item, dict):
        key = tuple(item.get(name) for name in demand.key)
    else:
        return None
    return key if all(type(part) in {str, int} for part in key) else None


def _of_map(value: object, shape: MapShape, path: str) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield Finding(path, f"must be a map of names to values, and is {described(value)}")
        return
    if shape.demand and len(value) > shape.demand.most:
        yield Finding(path, f"must have at most {shape.demand.most} entries, and has {len(value)}")
    for name, entry in value.items():
        yield from differences(entry, shape.value, f"{path}[{shortened(name)}]")


def _of_record(value: object, shape: RecordShape, path: str) -> Iterator[Finding]:
    if not isinstance(value, dict):
        yield Finding(path, f"must be a map of fields, and is {described(value)}")
        return
    yield from _unknown(value, shape, path)
    for name, field in shape.fields.items():
        if name in value:
            yield from differences(value[name], field.shape, join(path, name))
        elif field.required:
            yield Finding(join(path, name), "is required, and missing")


def _unknown(value: Mapping[str, object], shape: RecordShape, path: str) -> Iterator[Finding]:
    known = {*shape.fields, *shape.also}
    for name in value:
        if name not in known:
            yield Finding(join(path, shortened(name)), f"is no field of this kind{_suggestion(name, known)}")


def _suggestion(name: str, known: set[str]) -> str:
    """Say which field was probably meant, whatever the case it was written in."""
    by_lower = {field.lower(): field for field in sorted(known)}
    near = get_close_matches(shortened(name).lower(), by_lower, n=1)
    if near:
        return f"; did you mean {by_lower[near[0]]}?"
    return f"; it has {', '.join(sorted(known))}" if known else ""


def _not_among(value: str, options: tuple[str | int, ...]) -> str:
    near = get_close_matches(value[:60], [str(option) for option in options], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f'must be one of {", ".join(map(str, options))}, and is "{shortened(value)}"{hint}'


def _items(count: int) -> str:
    return "1 item" if count == 1 else f"{count} items"


def described(value: object) -> str:
    """Say what a value is without showing it: it may be a secret."""
    return _TYPES.get(type(value), "empty")


def shortened(text: str) -> str:
    """Keep what is enough to recognize a text."""
    longest = 60
    return text if len(text) <= longest else f"{text[:longest]}..."
