"""The difference between two JSON objects as a merge patch (RFC 7386)."""

from collections.abc import Mapping

import msgspec
from msgspec import Raw

Fields = dict[str, Raw]


def merge_patch(before: Mapping[str, Raw], after: Mapping[str, Raw]) -> dict[str, object]:
    """Return what makes `before` into `after`: fields that went are null, equal ones are left out."""
    went: dict[str, object] = dict.fromkeys(before.keys() - after.keys())
    return went | {
        name: _patch(before.get(name), value) for name, value in after.items() if before.get(name) != value
    }


def _patch(before: Raw | None, after: Raw) -> object:
    """Patch an object within; anything else is replaced."""
    if before is None or not (_is_object(before) and _is_object(after)):
        return after
    return merge_patch(msgspec.json.decode(before, type=Fields), msgspec.json.decode(after, type=Fields))


def _is_object(value: Raw) -> bool:
    return bytes(value).lstrip().startswith(b"{")
