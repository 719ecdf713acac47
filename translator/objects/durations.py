"""Durations as the Gateway API writes them."""

import re

_PART = re.compile(r"([0-9]+)(h|ms|m|s)")
_UNITS = (("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


def milliseconds(written: str) -> int:
    """Read a duration, such as 1h30m or 500ms."""
    units = dict(_UNITS)
    return sum(int(count) * units[unit] for count, unit in _PART.findall(written))
