"""A layout that is made from ours leads every request to the same endpoints."""

from fractions import Fraction

import pytest

from bench.layouts.layout import Layout, by_rule, read
from bench.peers.portrait import Place, portrait
from bench.peers.programs import ourselves
from bench.peers.same import whole
from bench.peers.shop import PATHS, Size
from xds_server.snapshot import CDS, EDS

pytestmark = pytest.mark.tree

ROUTES = 12


def shares(layout: Layout) -> dict[Place, set[tuple[str, Fraction]]]:
    """Say which part of the requests each endpoint gets."""
    dump = {("", kind, name): body for kind, named in layout.items() for name, body in named.items()}
    return {place: {(leg.address, leg.share) for leg in each.legs} for place, each in portrait(dump).items()}


def test_each_rule_has_a_cluster_that_leads_where_the_rule_led() -> None:
    ours = read(whole(ourselves(), Size(ROUTES, 1)))
    rules = by_rule(ours)
    assert len(rules[CDS]) == len(rules[EDS]) == ROUTES * len(PATHS)
    assert shares(rules) == shares(ours)
