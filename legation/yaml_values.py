"""Reads one YAML document into plain values, event by event, so that none costs more than its size.

Nothing is built by recursion, no alias is unfolded, no tag makes an object: hostility ends in a sentence.
"""

import re
from functools import reduce
from types import MappingProxyType
from typing import NamedTuple

import yaml

from translator.objects.admission.compare import shortened
from translator.objects.admission.finding import join

DEEPEST = 64
MOST_VALUES = 500_000
MOST_ALIASED = 1_000_000  # in all documents of a file: what reads them may write it out

_TAG = "tag:yaml.org,2002:"
_COLLECTION_TAGS = frozenset({None, "!", f"{_TAG}map", f"{_TAG}seq"})
_SCALAR_TAGS = frozenset({None, "!", *(f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null"))})
_KEYS_ARE_TEXT = "has a key that is no text"
_WORDS = MappingProxyType(
    {
        **dict.fromkeys(("~", "null", "Null", "NULL", "")),
        **{form: True for word in ("true", "yes", "on") for form in (word, word.title(), word.upper())},
        **{form: False for word in ("false", "no", "off") for form in (word, word.title(), word.upper())},
    }
)
_INTEGER = re.compile(r"[-+]?(?:0b[01]{1,64}|0o?[0-7]{1,20}|0x[0-9a-fA-F]{1,16}|0|[1-9][0-9_]{0,18})")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)(?:[eE][-+]?[0-9]{1,2})?")
_NUMERIC = frozenset("-+.0123456789")


class Repeated(NamedTuple):
    """A key that one map has twice; the first value is kept."""

    path: str
    line: int


class _Anchored(NamedTuple):
    value: object
    size: int


class _Open:
    """A list or a map that has begun and not ended."""

    def __init__(self, holder: "list[object] | dict[str, object]", anchor: str | None) -> None:
        """Begin a list or a map."""
        self.holder = holder
        self.anchor = anchor
        self.key: str | None = None
        self.size = 1
        self.merged: list[dict[str, object]] = []

    def step(self) -> str:
        """Say where the next value goes; a key may be as long as its file."""
        return f"[{len(self.holder)}]" if isinstance(self.holder, list) else shortened(str(self.key))

    def merge(self, value: object) -> str | None:
        """Keep the maps that a merge key brings in, the first before the next."""
        maps = value if isinstance(value, list) else [value]
        for one in maps:
            if not isinstance(one, dict):
                return "has a merge key << with something else than maps"
            self.merged.append(one)
        return None


def line_of(event: yaml.Event) -> int:
    """Say in which line of its text an event begins, counted from 1."""
    return event.start_mark.line + 1 if event.start_mark else 1


class Builder:
    """Puts the values of one document together from its events; a sentence in answer ends it."""

    def __init__(self, aliased: int = 0) -> None:
        """Begin with nothing, in a file that repeats so much by aliases already."""
        self.value: object = None
        self.aliased = aliased
        self.repeated: list[Repeated] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, _Anchored] = {}
        self._values = 0

    def take(self, event: yaml.Event) -> str | None:
        """Take the next event, or say why the document cannot be read."""
        self._values += 1
        if self._values > MOST_VALUES:
            return f"has more than {MOST_VALUES} values: split the file"
        if isinstance(event, yaml.AliasEvent):
            return self._take_alias(str(event.anchor), line_of(event))
        if isinstance(event, yaml.ScalarEvent):
            return _wrong_tag(event, _SCALAR_TAGS) or self._take_scalar(event)
        if isinstance(event, yaml.CollectionStartEvent):
            return _wrong_tag(event, _COLLECTION_TAGS) or self._begin(event)
        if isinstance(event, yaml.CollectionEndEvent):
            return self._end()
        return None  # the beginning and the end of the stream and of the document say nothing

    def _take_scalar(self, event: yaml.ScalarEvent) -> str | None:
        is_key = self._awaits_key()
        value = event.value if is_key else scalar(event)
        size = 1 + len(event.value)
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(value, size)
        if not is_key:
            return self._attach(value, size)
        self._name(event.value, line_of(event))
        return None

    def _take_alias(self, anchor: str, line: int) -> str | None:
        if anchor not in self._anchors:
            return "has an alias, and no anchor of its name ends before it: put text with a * in quotes"
        value, size = self._anchors[anchor]
        self.aliased += size
        if self.aliased > MOST_ALIASED:
            return "repeats too much by aliases: write it out"
        if not self._awaits_key():
            return self._attach(value, size)
        if not isinstance(value, str):
            return _KEYS_ARE_TEXT
        self._name(value, line)
        return None

    def _awaits_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].holder, dict) and self._open[-1].key is None

    def _name(self, key: str, line: int) -> None:
        place = self._open[-1]
        place.key = key
        if key in place.holder:
            path = reduce(join, (each.step() for each in self._open), "")
            self.repeated.append(Repeated(shortened(path), line))

    def _begin(self, event: yaml.CollectionStartEvent) -> str | None:
        if self._awaits_key():
            return _KEYS_ARE_TEXT
        if len(self._open) >= DEEPEST:
            return f"is nested more than {DEEPEST} levels deep"
        holder: list[object] | dict[str, object] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._open.append(_Open(holder, event.anchor))
        return None

    def _end(self) -> str | None:
        done = self._open.pop()
        if isinstance(done.holder, dict):
            for source in done.merged:
                done.holder.update({key: value for key, value in source.items() if key not in done.holder})
        if done.anchor:
            self._anchors[done.anchor] = _Anchored(done.holder, done.size)
        return self._attach(done.holder, done.size)

    def _attach(self, value: object, size: int) -> str | None:
        if not self._open:
            self.value = value
            return None
        place = self._open[-1]
        place.size += size
        key, place.key = place.key, None
        if isinstance(place.holder, list):
            place.holder.append(value)
        elif key == "<<":
            return place.merge(value)
        else:
            place.holder.setdefault(str(key), value)
        return None


def _wrong_tag(
    event: yaml.ScalarEvent | yaml.CollectionStartEvent, known: frozenset[str | None]
) -> str | None:
    if event.tag in known:
        return None
    # What it says is not repeated: it may be a password that nobody put in quotes.
    return "has a tag, which means nothing here: remove it, or put text that begins with ! in quotes"


def scalar(event: yaml.ScalarEvent) -> bool | int | float | str | None:
    """Say what a scalar means: text if it is quoted or said to be, else what it looks like."""
    is_text = event.tag == f"{_TAG}str" or (event.tag in {None, "!"} and not event.implicit[0])
    return event.value if is_text else plain(event.value)


def plain(text: str) -> bool | int | float | str | None:
    """Say what text without quotes means, as Kubernetes' own tools take it."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC:
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text.replace("_", ""))
    return float(text) if _FLOAT.fullmatch(text) else text


def _integer(text: str) -> int:
    """A number that begins with a zero is octal."""
    digits = text.lstrip("-+")
    return int(text, 8) if digits.startswith("0") and digits[1:].isdecimal() else int(text, 0)
