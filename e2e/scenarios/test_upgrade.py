"""A release is upgraded: everything that runs is replaced."""

from e2e.kubectl import eventually
from e2e.scenarios.backend import Backend
from e2e.scenarios.pods import Pods
from e2e.scenarios.release import REPLICAS, Release
from e2e.scenarios.shop import Shop, visited
from tests.pki import Authority

# There is no earlier release to upgrade from: the same program runs under the names of other images.
OTHERS = ("image.tag=other", "podAnnotations.release=other", "envoyImage=envoyproxy/envoy:other")


def test_an_upgrade_that_replaces_every_pod_costs_no_request(release: Release, shop: Shop) -> None:
    with visited(shop, Backend("shop", Authority("shop"))) as traffic:
        eventually(lambda: shop.proxies.ready(REPLICAS))
        before = uids(release.pods, shop.proxies)
        release.upgrade(*OTHERS)
        eventually(lambda: shop.proxies.ready(REPLICAS) and not before & uids(release.pods, shop.proxies))
    assert traffic.losses == []


def uids(*found: Pods) -> set[str]:
    """Name the pods that there are, in a way that no others are ever named."""
    return {pod.uid for pods in found for pod in pods.all()}
