"""Says what came and went, and how much each level rose in all rounds; fails if one of them is not flat."""

import asyncio
import os
import sys
from collections.abc import Sequence
from time import monotonic

from bench.soak.churn import CHANGED, DELETED, MADE, Changes
from bench.soak.levels import Growth, growth
from bench.soak.soak import PAGES, QUESTIONS, VISITORS, soak

ROUNDS = int(os.environ.get("ROUNDS", "240"))
WARM_UP = ROUNDS // 4  # until what is remembered of names and sizes that come by chance has come
HOUR = 3600.0  # seconds
PAGES_EACH = len(PAGES) + 2 * QUESTIONS


def main() -> int:
    """Run it, print tables, and return the exit code."""
    began = monotonic()
    soaked = asyncio.run(soak(ROUNDS, WARM_UP))
    took = monotonic() - began
    found = growth(soaked.levels, VISITORS)
    print(f"{ROUNDS} rounds, and those before them to warm up, in 1/{HOUR / took:.1f} of an hour")
    tell_changes(soaked.changes)
    print(f"  {ROUNDS * VISITORS} Envoys came and went, {ROUNDS * PAGES_EACH} pages were looked at")
    tell_levels(found)
    return int(not all(each.is_flat for each in found))


def tell_changes(changes: Changes) -> None:
    """Print how many objects of which kind became what."""
    total = changes.total()
    print(f"{total} objects came, changed or went: in an hour that is one every {HOUR / total:.2g} seconds")
    print(f"  {'':16} {MADE:>8} {CHANGED:>8} {DELETED:>8}")
    for kind in sorted({kind for _, kind in changes}):
        numbers = (changes[how, kind] for how in (MADE, CHANGED, DELETED))
        print(f"  {kind:16} {' '.join(f'{number:>8}' for number in numbers)}")


def tell_levels(found: Sequence[Growth]) -> None:
    """Print how much each level rose, beside what it may."""
    print(f"  {'':10} {'level':>12} {'rose by':>12} {'may rise by':>12} {'rose by':>9} {'may by':>9}")
    for each in found:
        verdict = "" if each.is_flat else "  NOT FLAT"
        shares = (f"{part / each.level:>9.2%}" for part in (each.grown, each.allowed))
        print(
            f"  {each.what:10} {each.level:>12.0f} {each.grown:>12.1f} {each.allowed:>12.1f}"
            f" {' '.join(shares)}{verdict}"
        )


if __name__ == "__main__":
    sys.exit(main())
