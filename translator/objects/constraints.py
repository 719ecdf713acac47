"""What the API server demands of a field beyond its type; written beside the field, checked only in files.

`msgspec` passes over these marks, so decoding what the API server has already judged costs nothing more.
"""

import re

from msgspec import Struct


class Text(Struct, frozen=True):
    """A string of so many characters, whole as `pattern` says; `means` says the pattern to people."""

    shortest: int = 0
    longest: int | None = None
    pattern: re.Pattern[str] | None = None
    means: str = ""


class Between(Struct, frozen=True):
    """A whole number with both ends included."""

    least: int
    most: int


class OneOf(Struct, frozen=True):
    """One of the values listed; the field stays a plain string or number, so that newer values decode."""

    options: tuple[str | int, ...]


class Items(Struct, frozen=True):
    """A list of so many items, no two of them with the same `key`, or none of them twice if `distinct`."""

    fewest: int = 0
    most: int | None = None
    key: tuple[str, ...] = ()
    distinct: bool = False


class Entries(Struct, frozen=True):
    """A map of so many entries at the most."""

    most: int
