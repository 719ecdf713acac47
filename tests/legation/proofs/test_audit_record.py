"""A record of one change must not cost more because much was put at once."""

import sys
from datetime import UTC, datetime
from types import FrameType

from legation.change import Put
from legation.proofs.audit_record import MOST_CAUSES, Changed, changed
from legation.proofs.changes import HopChange, Proved
from translator.envoy.proofs import Grade, Proof
from translator.names import Name
from translator.objects.http_route import HTTPRoute
from translator.translate import INDEXES
from translator.world import World

HOPS = 40


def recorded(routes: int) -> tuple[tuple[Changed, ...], int]:
    """Record new ways beside so many routes that were put with them; count the calls that this takes."""
    proved = Proved(Proof(Grade.CLEARTEXT, "shop/pay:8443"), ())
    hops = [HopChange("infra/edge", f"shop/pay:{n}", None, proved) for n in range(HOPS)]
    batch = [Put(HTTPRoute, Name("shop", f"r{n:05}"), None) for n in range(routes)]
    world, calls = World(INDEXES), 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        return changed(world, hops, batch, datetime(2026, 1, 1, tzinfo=UTC)), calls
    finally:
        sys.setprofile(before)


def objects(record: Changed) -> tuple[str, ...]:
    """Name what a record says came with it."""
    return tuple(each.object for each in record.because)


def test_the_first_objects_that_lead_somewhere_are_named() -> None:
    records, _ = recorded(routes=100)
    assert {objects(each) for each in records} == {
        tuple(f"HTTPRoute shop/r{n:05}" for n in range(MOST_CAUSES))
    }


def test_a_batch_is_looked_through_once_however_many_ways_it_changes() -> None:
    _, few = recorded(routes=100)
    _, many = recorded(routes=1100)
    assert many - few < 1000 * HOPS / 2
