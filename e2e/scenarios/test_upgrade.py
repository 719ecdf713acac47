"""A release is upgraded: everything that runs is replaced."""

from concurrent.futures import ThreadPoolExecutor

from e2e.kubectl import eventually
from e2e.scenarios.backend import Backend
from e2e.scenarios.pods import Pods
from e2e.scenarios.release import REPLICAS, Release
from e2e.scenarios.shop import Shop, visited
from tests.pki import Authority

# There is no earlier release to upgrade from: the same program runs under the names of other images.
OTHERS = ("image.tag=other", "podAnnotations.release=other", "envoyImage=envoyproxy/envoy:other")
MOST_TURNS = 100  # of a route to another backend and back


def test_an_upgrade_that_replaces_every_pod_costs_no_request(release: Release, shop: Shop) -> None:
    with visited(shop, Backend("shop", Authority("shop"))) as traffic:
        eventually(lambda: shop.proxies.ready(REPLICAS))
        before = uids(release.pods, shop.proxies)
        release.upgrade(*OTHERS)
        eventually(lambda: shop.proxies.ready(REPLICAS) and not before & uids(release.pods, shop.proxies))
    assert traffic.losses == []


def test_what_changes_while_the_control_plane_is_replaced_arrives_and_costs_no_request(
    release: Release, shop: Shop
) -> None:
    old, new = (Backend(name, Authority(name)) for name in ("old", "new"))
    with visited(shop, old, new) as traffic, ThreadPoolExecutor(1) as thread:
        leader, before = eventually(lambda: release.leader), uids(release.pods)
        replacing = thread.submit(release.restart)
        turns = 0
        while turns < MOST_TURNS and not replacing.done():
            for backend in (new, old):
                shop.leads_to(backend)
                traffic.reaches(backend.name)
            turns += 1
        replacing.result()
        assert turns
        shop.leads_to(new)
        traffic.reaches(new.name)
        eventually(lambda: release.leader not in {"", leader})
        eventually(lambda: shop.route_is_told(generation=2 * turns + 2))
        eventually(lambda: not before & uids(release.pods))
    assert traffic.losses == []


def uids(*found: Pods) -> set[str]:
    """Name the pods that there are, in a way that no others are ever named."""
    return {pod.uid for pods in found for pod in pods.all()}
