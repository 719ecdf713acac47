"""The control plane is replaced and killed, in part and as a whole, and the API server goes away."""

import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from tempfile import TemporaryFile
from time import monotonic

from e2e.cluster.control_plane import API_SERVER
from e2e.cluster.own import Own
from e2e.kubectl import eventually
from e2e.outages import away
from e2e.scenarios.backend import Backend
from e2e.scenarios.background import beside
from e2e.scenarios.pods import uids
from e2e.scenarios.release import REPLICAS, Release
from e2e.scenarios.shop import EDGE, Shop, visited
from e2e.scenarios.traffic import asked
from tests.pki import Authority

OUTAGE = float(os.environ.get("LEGATION_E2E_OUTAGE", "60"))  # seconds; longer than a Lease lasts
MOST_TURNS = 100  # of a route to another backend and back
PROGRAMMED = 'jsonpath={.status.conditions[?(@.type=="Programmed")].status}{"\\n"}'


def backends(*names: str) -> list[Backend]:
    """Make backends, each with an authority of its own."""
    return [Backend(name, Authority(name)) for name in names]


def test_a_killed_control_plane_costs_no_request_and_what_changed_meanwhile_arrives(
    release: Release, shop: Shop
) -> None:
    old, new = backends("old", "new")
    with visited(shop, old, new) as traffic:
        shop.trusts(new.name, Authority("somebody else"))
        before = eventually(lambda: release.pods.ready(REPLICAS))
        for pod in before:
            pod.signal(signal.SIGKILL)
        shop.trusts(new.name, new.authority)
        shop.leads_to(new)
        traffic.reaches(new.name)
        again = {each.uid: each.restarts + 1 for each in before}
        eventually(lambda: {each.uid: each.restarts for each in release.pods.ready(REPLICAS)} == again)
        shop.leads_to(old)
        for pod in before:
            pod.vanish()  # wherever that change has come to
        traffic.reaches(old.name)
    assert traffic.losses == []


def test_what_changes_while_the_control_plane_is_replaced_arrives_and_costs_no_request(
    release: Release, shop: Shop
) -> None:
    old, new = backends("old", "new")
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


def test_when_the_leader_is_lost_another_takes_over_and_no_status_wavers(
    release: Release, shop: Shop
) -> None:
    old, new = backends("old", "new")
    with visited(shop, old, new) as traffic, told(shop) as programmed:
        leader = eventually(lambda: release.leader)
        [its] = [pod for pod in release.pods.all() if pod.name in leader]
        its.vanish()
        shop.leads_to(new)
        traffic.reaches(new.name)
        eventually(lambda: shop.route_is_told(generation=2))
        assert release.leader not in {"", leader}
        eventually(lambda: release.pods.ready(REPLICAS))
    assert traffic.losses == []
    assert set(programmed) == {"True"}


def test_while_the_api_server_is_away_traffic_goes_on_and_a_proxy_that_crashes_comes_back(
    release: Release, shop: Shop, own: Own
) -> None:
    old, new = backends("old", "new")
    with visited(shop, old, new) as traffic:
        crashed, _ = eventually(lambda: shop.proxies.ready(REPLICAS))
        eventually(shop.address)
        before = shop.programmed()
        with beside(away(own, API_SERVER)):
            ends = monotonic() + OUTAGE
            traffic.more()
            assert traffic.losses == []
            crashed.signal(signal.SIGKILL)
            eventually(lambda: asked(crashed.address).answer)
            while monotonic() < ends:
                traffic.more()
        shop.leads_to(new)
        traffic.reaches(new.name)
        eventually(lambda: release.pods.ready(REPLICAS))
        eventually(lambda: shop.programmed() == before)  # with the time since when it is so
    assert {loss.proxy for loss in traffic.losses} <= {crashed.address, ""}
    assert {loss.status for loss in traffic.losses} <= {0}


@contextmanager
def told(shop: Shop) -> Iterator[list[str]]:
    """Have a list, complete at the end, of all that the Gateway has said of its proxies meanwhile."""
    watch = [
        "kubectl",
        "get",
        "gateway",
        EDGE,
        "--namespace",
        shop.namespace,
        "--watch",
        "--output",
        PROGRAMMED,
    ]
    said: list[str] = []
    with TemporaryFile("w+") as out, subprocess.Popen(watch, stdout=out) as watching:  # noqa: S603  as written above
        try:
            yield said
            assert watching.poll() is None, "it was watched to the end"
        finally:
            watching.terminate()
        out.seek(0)
        said += out.read().splitlines()
