"""A release of an earlier version is upgraded to today's: what runs is replaced, what is kept taken over."""

from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPConnection

import pytest

from e2e.beside import CRD
from e2e.earlier import checked_out, is_shallow
from e2e.kubectl import eventually, kubectl, read
from e2e.scenarios.backend import Backend
from e2e.scenarios.pods import Pods, uids
from e2e.scenarios.release import NAME, OURS, REPLICAS, Release, installed
from e2e.scenarios.shop import EDGE, Shop, visited
from e2e.scenarios.traffic import PATIENCE
from legation.permissions import AUTHORITY
from tests.pki import Authority

PAIRS = (f"replicas={REPLICAS}", f"gatewayClass.parameters.envoy.replicas={REPLICAS}")
TODAYS = ("image.tag=", "envoyImage=envoyproxy/envoy:newer")  # without a tag, the chart names its own version
PROXIES = f"legation-{EDGE}"
ADMIN = 19080


@pytest.fixture
def release(inside: None) -> Iterator[Release]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Two replicas of the earlier version by its own chart, with two proxies for each Gateway."""
    if is_shallow():
        pytest.skip("this clone has no history, and hence no earlier version: `git fetch --unshallow`")
    chart = checked_out()
    kubectl("delete", "crd", OURS, "--ignore-not-found")  # Helm would leave today's as it is
    with installed(*PAIRS, "image.tag=earlier", chart=chart) as release:
        yield release


def test_an_upgrade_from_an_earlier_version_costs_no_request_and_takes_over_what_that_one_kept(
    release: Release, namespace: str
) -> None:
    shop, earlier = Shop(namespace), read("crd", OURS)["spec"]
    old, new = (Backend(name, Authority(name)) for name in ("old", "new"))
    with visited(shop, old, new) as traffic:
        eventually(lambda: shop.proxies.ready(REPLICAS))
        assert told(release.pods) == {HTTPStatus.NOT_FOUND}
        before, taken_over = uids(release.pods, shop.proxies), kept(release, shop)
        release.upgrade(*TODAYS)
        kubectl("apply", "--server-side", "--force-conflicts", "--filename", str(CRD))
        eventually(lambda: shop.proxies.ready(REPLICAS) and not before & uids(release.pods, shop.proxies))
        assert told(release.pods) == {HTTPStatus.OK}
        assert kept(release, shop) == taken_over
        shop.leads_to(new)
        traffic.reaches(new.name)
        eventually(lambda: shop.route_is_told(generation=2))
        eventually(lambda: [pod for pod in release.pods.all() if pod.name in release.leader])
    assert traffic.losses == []
    assert read("crd", OURS)["spec"] != earlier


def told(pods: Pods) -> set[int]:
    """Ask each replica for what it finds wrong, which the earlier version has nowhere."""
    return {status(each.address, "/api/v1/findings") for each in pods.all()}


def status(host: str, path: str) -> int:
    """Ask the admin port of a replica."""
    connection = HTTPConnection(host, ADMIN, timeout=PATIENCE)
    connection.request("GET", path)
    answer = connection.getresponse()
    connection.close()
    return answer.status


def kept(release: Release, shop: Shop) -> list[tuple[str, object]]:
    """Read what outlives a version: authority and Lease; the proxies' identity, Deployment and Service."""
    ours = [("secret", AUTHORITY), ("lease", NAME)]
    theirs = [(kind, PROXIES) for kind in ("secret", "deployment", "service")]
    places = [(release.namespace, each) for each in ours] + [(shop.namespace, each) for each in theirs]
    found = [read(*which, "--namespace", namespace) for namespace, which in places]
    return [(each["metadata"]["uid"], each.get("data")) for each in found]
