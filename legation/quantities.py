"""Amounts as Kubernetes writes them."""

import re
from decimal import Decimal

WRITTEN = re.compile(r"(\+?[0-9]*\.?[0-9]+|\+?[0-9]+\.)(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,2}))?")
BINARY, DECIMAL = "KMGTPE", "kMGTPE"
SMALL = (("n", -9), ("u", -6), ("m", -3))


def amount(written: str | float | None) -> int | None:
    """Return a whole number of bytes, or of whatever is counted; None for what is no amount."""
    found = WRITTEN.fullmatch(str(written))
    if found is None:
        return None
    number, unit, exponent = found.groups()
    return int(Decimal(number) * _factor(unit or "") * Decimal(10) ** int(exponent or 0))


def _factor(unit: str) -> Decimal:
    if unit.endswith("i"):
        return Decimal(1024) ** (BINARY.index(unit[0]) + 1)
    if unit in DECIMAL and unit:
        return Decimal(1000) ** (DECIMAL.index(unit) + 1)
    return Decimal(10) ** dict(SMALL).get(unit, 0)
