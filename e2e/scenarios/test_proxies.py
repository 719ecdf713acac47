"""Proxies stop, crash and are lost, and the others go on."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from e2e.kubectl import eventually
from e2e.scenarios.backend import Backend
from e2e.scenarios.pods import Pod
from e2e.scenarios.release import REPLICAS, Release
from e2e.scenarios.shop import Shop, visited
from e2e.scenarios.traffic import LASTING, PASSING, Loss, Traffic, asked
from tests.pki import Authority

ALSO = 8080
KNOWN_WITHIN = timedelta(seconds=60)  # that a proxy is gone, to whoever sends connections to it


def both(shop: Shop) -> tuple[Pod, Pod]:
    """Wait until both proxies are ready."""
    one, other = eventually(lambda: shop.proxies.ready(REPLICAS))
    return one, other


def share(traffic: Traffic, *pods: Pod) -> bool:
    """Say whether these proxies, and no others, carry the traffic."""
    return {answer.proxy for answer in traffic.more(60)} == {pod.address for pod in pods}


def test_two_proxies_share_the_traffic_and_a_gateway_waits_for_the_slower_one(
    release: Release, shop: Shop
) -> None:
    with visited(shop, Backend("shop", Authority("shop"))) as traffic:
        slow, quick = both(shop)
        eventually(lambda: share(traffic, slow, quick))
        assert traffic.losses == []
        slow.signal(signal.SIGSTOP)
        try:
            shop.listens(80, ALSO)
            eventually(lambda: asked(quick.address, ALSO).answer)
            assert shop.address() == "", "only one of both has taken it"
        finally:
            slow.signal(signal.SIGCONT)
        eventually(shop.address)
        eventually(lambda: asked(slow.address, ALSO).answer)
    eventually(lambda: release.pods.ready(REPLICAS))


def test_a_proxy_that_ends_fails_only_what_it_carried_and_its_successor_has_all_it_had(
    release: Release, shop: Shop
) -> None:
    with visited(shop, Backend("shop", Authority("shop"))) as traffic:
        first, second = both(shop)
        eventually(lambda: share(traffic, first, second))
        with loses(traffic, first) as losses:
            first.signal(signal.SIGKILL)
            eventually(lambda: shop.proxies.restarts() == 1)
            first, second = both(shop)
            eventually(lambda: share(traffic, first, second))
        with loses(traffic, second) as further:
            second.vanish()
            first, second = both(shop)
            eventually(lambda: share(traffic, first, second))
        assert traffic.losses == losses + further
    eventually(lambda: release.pods.ready(REPLICAS))


@contextmanager
def loses(traffic: Traffic, ended: Pod) -> Iterator[list[Loss]]:
    """See that nothing fails but connections to this proxy, each of them once, and for a while new ones."""
    before, begun = len(traffic.losses), datetime.now(UTC)
    losses: list[Loss] = []
    yield losses
    losses += traffic.losses[before:]
    known = [loss for loss in losses if loss.proxy]
    assert {loss.proxy for loss in known} <= {ended.address}
    assert len(known) <= LASTING + PASSING
    assert all(loss.moment - begun < KNOWN_WITHIN for loss in losses)
    assert {loss.status for loss in losses} <= {0}, "a proxy that is there answers as it should"
