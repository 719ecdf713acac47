"""A policy, or its roots, that end before Envoy could ask for them: nobody waits for what will not come."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from msgspec import Struct

from tests.handshakes.backends import Speech, http_backend, speaks
from tests.handshakes.cases import RIGHT, ROOT, trusting
from tests.handshakes.manifests import Json, config_map, endpoints, policy, route, service
from tests.handshakes.rig import Channel, Rig, rigged
from tests.handshakes.shop import OPEN, SHUT, Visitor, encrypted, gateway, routed
from tests.handshakes.traffic import Traffic, flowing
from xds_server.report import Overdue
from xds_server.snapshot import CDS

pytestmark = pytest.mark.envoy

BEFORE = route("HTTPRoute", "pay", [("before", 80)], hostnames=["pay.test"])
POLICY, ROOTS = policy("pay", trusting("passing")), config_map("passing", ROOT.pem)
SUCCESSOR = policy("successor", trusting("root"), target="pay")


class End(Struct, frozen=True):
    """What is gone in the same breath, what there is in its place, and what comes when that has settled."""

    gone: Sequence[Json]
    instead: Sequence[Json]
    then: Sequence[Json]
    fails_between: bool = False

    def come(self, rig: Rig) -> None:
        """Have it so, as one change."""
        rig.change(self.instead, self.gone)


ENDS = {
    "deleted": End([POLICY], [routed("pay", "other")], []),
    "deleted, then led elsewhere": End([POLICY], [BEFORE], [routed("pay", "other")]),
    "deleted, then there again": End([POLICY], [BEFORE], [POLICY, routed("pay", "pay")]),
    "replaced": End([POLICY], [SUCCESSOR], []),
    "without roots, then with them": End([ROOTS], [], [ROOTS], fails_between=True),
}


@pytest.mark.parametrize("whole", [False, True], ids=["delta", "state of the world"])
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_no_route_waits_for_a_policy_that_ends_as_soon_as_its_cluster_was_sent(
    end: End, *, whole: bool
) -> None:
    async with AsyncExitStack() as stack:
        before = await stack.enter_async_context(http_backend(Speech(lasting=True)))
        proved = await stack.enter_async_context(http_backend(speaks(RIGHT, lasting=True)))
        rig = await stack.enter_async_context(rigged(Channel(whole=whole)))
        rig.apply(*gateway(), BEFORE, service("before", {80: None}), *endpoints("before", 80, before.port))
        await rig.settled()
        traffic, visitor = Traffic(frozenset({OPEN})), Visitor(rig, "HTTPRoute")
        async with flowing(traffic, visitor.come):
            await traffic.more()
            traffic.enter(frozenset({OPEN, SHUT} if end.fails_between else {OPEN}))
            rig.once_sent(CDS, lambda: end.come(rig))
            made = encrypted("pay", proved.port), encrypted("other", proved.port)
            rig.apply(*made[0], *made[1], POLICY, ROOTS, routed("pay", "pay"))
            await rig.settled()
            await traffic.more()
            rig.apply(*end.then)
            await rig.settled()
            await traffic.quiet()
            traffic.enter(frozenset({OPEN}))
            await traffic.more()
        assert traffic.surprises == []
        assert proved.told
        assert bytes(proved.tap.cleartext) == b""
    assert [each for each in rig.reports if isinstance(each, Overdue)] == []
