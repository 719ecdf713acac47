"""The control plane is replaced, killed in part and as a whole, and cut off; and the API server goes away."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from tempfile import TemporaryFile
from time import monotonic
from urllib.request import urlopen

from e2e.cluster.control_plane import API_SERVER
from e2e.cluster.own import Own
from e2e.kubectl import eventually
from e2e.outages import away, parted
from e2e.scenarios.backend import Backend
from e2e.scenarios.background import beside
from e2e.scenarios.market import ADMIN, opened
from e2e.scenarios.pods import Pods, uids
from e2e.scenarios.release import REPLICAS, Release
from e2e.scenarios.shop import EDGE, Shop, visited
from e2e.scenarios.traffic import asked
from legation.proxies.managed import PROBES
from legation.proxies.probed import METRICS
from tests.changing.changes import ALL
from tests.pki import Authority

OUTAGE = float(os.environ.get("LEGATION_E2E_OUTAGE", "60"))  # seconds; longer than a Lease lasts
NOTICED_WITHIN = 90.0  # seconds; by its pings the control plane knows after 50, and an Envoy after 35
HEALED_WITHIN = 60.0  # seconds; an Envoy tries again at least each half minute
ROUNDS = 3  # of every change: listeners that swap their hostnames have swapped them at the end
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


async def test_while_no_packet_comes_through_nothing_is_lost_and_what_changed_arrives_once_one_does(
    release: Release, shop: Shop, own: Own
) -> None:
    chance = Random(7)  # noqa: S311  not for secrets
    async with opened(release, shop) as scene:
        await scene.settle()
        pods = [each for found in (release.pods, shop.proxies) for each in found.ready(REPLICAS)]
        before = (connected(release, shop), shop.address())
        with parted(own, addresses(shop.proxies), addresses(release.pods)):
            for change in [each for _ in range(ROUNDS) for each in chance.sample(ALL, len(ALL))]:
                await scene.make_unnoticed(change, chance)
            await noticed(lambda: connected(release, shop) == (0, 0), NOTICED_WITHIN)
            for traffic in scene.traffics.values():
                await traffic.more()
            assert (scene.ahead(), shop.address()) == ([], ""), "nobody has what is new, and nobody says so"
        await noticed(lambda: connected(release, shop) == before[0], HEALED_WITHIN)
        await scene.settle()
        await noticed(lambda: shop.address() == before[1], HEALED_WITHIN)
        assert pods == [each for found in (release.pods, shop.proxies) for each in found.ready(REPLICAS)]
    scene.tell()
    assert len(scene.made) == len(ALL), "each change was made"
    assert scene.ended() == {}


async def noticed(question: Callable[[], bool], within: float) -> None:
    """Wait until something is so, while visitors go on."""
    await asyncio.to_thread(eventually, question, within=within)


def addresses(pods: Pods) -> list[str]:
    """Say where pods are."""
    return [pod.address for pod in pods.ready(REPLICAS)]


def connected(release: Release, shop: Shop) -> tuple[int, int]:
    """Count the Gateway's Envoys that are connected: by the control plane, and by themselves."""
    envoys = f'legation_envoys{{gateway="{shop.namespace}/{EDGE}"}}'
    by_us = [counted(place, ADMIN, "/metrics", envoys) for place in addresses(release.pods)]
    state = "envoy_control_plane_connected_state{}"
    by_them = [counted(place, PROBES, METRICS, state) for place in addresses(shop.proxies)]
    return sum(by_us), sum(by_them)


def counted(address: str, port: int, path: str, series: str) -> int:
    """Read a series of a pod; nothing told is none."""
    with urlopen(f"http://{address}:{port}{path}", timeout=10) as answer:
        found = re.findall(rf"^{re.escape(series)} (\d+)", answer.read().decode(), re.MULTILINE)
    return sum(map(int, found))


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
