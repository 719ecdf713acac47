"""Says how much each level rose in all rounds; fails if one of them is not flat."""

import asyncio
import os
import sys
from time import monotonic

from bench.soak.levels import growth
from bench.soak.soak import soak

ROUNDS = int(os.environ.get("ROUNDS", "240"))


def main() -> int:
    """Run it, print a table, and return the exit code."""
    began = monotonic()
    found = growth(asyncio.run(soak(ROUNDS)))
    took = monotonic() - began
    print(f"{ROUNDS} rounds in {took / 60:.0f} minutes")
    print(f"  {'':10} {'level':>12} {'rose by':>12} {'may rise by':>12}")
    for each in found:
        verdict = "" if each.is_flat else "  NOT FLAT"
        print(f"  {each.what:10} {each.level:>12.0f} {each.grown:>12.1f} {each.allowed:>12.1f}{verdict}")
    return int(not all(each.is_flat for each in found))


if __name__ == "__main__":
    sys.exit(main())
