"""SupportedVersion: of which releases of Gateway API the cluster's CRDs are, and which of them we know.

A release that we do not know is served all the same, as far as it agrees with those that we do (GatewayClass,
`bundle-version`). Where nobody can say what the CRDs are, nothing is said.
"""

import re

from translator.verdict import Condition, fails, holds, listed
from translator.world import Fact, World

SUPPORTED = "v1.7"
KNOWN = re.compile(rf"{re.escape(SUPPORTED)}\.\d+(-.+)?")
UNMARKED = "no version"

Bundles = frozenset[str]  # what the CRDs' annotations say; empty for one without

BUNDLES: Fact[Bundles | None] = Fact("of which releases the CRDs of Gateway API are", None)


def version_condition(world: World) -> tuple[Condition, ...]:
    """Tell a class whether the CRDs are of releases that we know."""
    bundles = world.fact(BUNDLES)
    if not bundles:
        return ()
    found = listed(sorted(each or UNMARKED for each in bundles))
    if all(KNOWN.fullmatch(each) for each in bundles):
        return (holds("SupportedVersion", message=f"the CRDs of Gateway API are of {found}"),)
    message = f"the CRDs of Gateway API are of {found}; supported is {SUPPORTED}, others as far as they agree"
    return (fails("SupportedVersion", "UnsupportedVersion", message),)
