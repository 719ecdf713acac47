"""SupportedVersion: of which releases and channels of Gateway API the cluster's CRDs are, and which we know.

A release that we do not know is served all the same, as far as it agrees with those that we do (GatewayClass,
`bundle-version`). Where nobody can say what the CRDs are, nothing is said.
"""

import re
from typing import NamedTuple

from translator.verdict import Condition, fails, holds, listed
from translator.world import Fact, World

SUPPORTED = "v1.7"
KNOWN = re.compile(rf"{re.escape(SUPPORTED)}\.\d+(-.+)?")
UNMARKED = "no version"


class Bundle(NamedTuple):
    """What a CRD's annotations say; nothing where there are none."""

    version: str = ""
    channel: str = ""


Bundles = frozenset[Bundle]

BUNDLES: Fact[Bundles | None] = Fact("of which releases the CRDs of Gateway API are", None)


def is_experimental(world: World) -> bool:
    """Say whether the API has the fields of the experimental channel, which a standard one would drop."""
    bundles = world.fact(BUNDLES)
    return not bundles or all(each.channel == "experimental" for each in bundles)


def version_condition(world: World) -> tuple[Condition, ...]:
    """Tell a class whether the CRDs are of releases that we know."""
    bundles = world.fact(BUNDLES)
    if not bundles:
        return ()
    versions = {each.version for each in bundles}
    found = listed(sorted(each or UNMARKED for each in versions))
    if all(KNOWN.fullmatch(each) for each in versions):
        return (holds("SupportedVersion", message=f"the CRDs of Gateway API are of {found}"),)
    message = f"the CRDs of Gateway API are of {found}; supported is {SUPPORTED}, others as far as they agree"
    return (fails("SupportedVersion", "UnsupportedVersion", message),)
