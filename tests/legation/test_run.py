"""`legation run` as a process, against an API server that goes away and comes back: what it says of that."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import grpc
import pytest
import pytest_asyncio
from envoy.config.listener.v3 import listener_pb2
from envoy.service.discovery.v3 import discovery_pb2
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from legation.settings import EVERYWHERE
from legation.standing import read_overview
from tests.k8s_watch.faults import Json, refusing
from tests.k8s_watch.faulty_api import FaultyApi, serving, write_kubeconfig
from tests.legation import running
from tests.legation.running import Legation, free_port
from tests.loopback import has_ipv6
from tests.real_envoy import until
from translator.objects.kinds import KINDS
from xds_server.service import SERVICE
from xds_server.snapshot import LDS

DOCUMENTED = re.compile(r"^\| `(legation_\w+)(?:\{([\w,]+)\})?` \|", re.MULTILINE)
METRICS = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
SORTS = ("find", "list", "watch", "get", "write")
WITHIN = 120.0

CLASS: Json = {"controllerName": "legation.dev/gateway-controller"}
GATEWAY: Json = {
    "gatewayClassName": "legation",
    "listeners": [{"name": "http", "port": 8080, "protocol": "HTTP"}],
}


@pytest_asyncio.fixture
async def api() -> AsyncIterator[FaultyApi]:
    """A server with every kind that is watched, and a Gateway of ours."""
    made = FaultyApi()
    made.roots = {f"/apis/{info.group}/{info.versions[0]}" for info in KINDS if info.group} | {"/api/v1"}
    made.kinds = {info.plural for info in KINDS}
    await made.put("legation", "gatewayclasses", "", spec=CLASS)
    await made.put("edge", "gateways", spec=GATEWAY)
    async with serving(made):
        yield made


class Asked:
    """The admin port of one replica."""

    def __init__(self, session: aiohttp.ClientSession, replica: Legation) -> None:
        self._session = session
        self._replica = replica

    async def get(self, path: str) -> tuple[int, str]:
        """Return code and text of an answer."""
        async with self._session.get(f"{await self._replica.admin()}{path}") as answer:
            return answer.status, await answer.text()

    async def families(self) -> list[Metric]:
        """Return everything that Prometheus would be told, as its own client reads it."""
        _, text = await self.get("/metrics")
        return [each for each in text_string_to_metric_families(text) if not each.name.endswith("_created")]

    async def measured(self, name: str, **labels: str) -> float:
        """Return one number, or 0 where there is none yet."""
        samples = (sample for family in await self.families() for sample in family.samples)
        found = (each.value for each in samples if (each.name, each.labels) == (name, labels))
        return next(found, 0.0)

    async def until(self, path: str, holds: Callable[[int, str], bool]) -> None:
        """Wait for an answer."""
        await until(lambda: self._holds(path, holds), within=WITHIN)

    async def _holds(self, path: str, holds: Callable[[int, str], bool]) -> bool:
        return holds(*await self.get(path))


@asynccontextmanager
async def replica(api: FaultyApi, folder: Path, xds: str = "") -> AsyncIterator[Asked]:
    """Run a replica for an Envoy on this machine."""
    xds = xds or f"127.0.0.1:{free_port()}"
    kubeconfig = write_kubeconfig(folder, f"http://127.0.0.1:{api.port}", token="t0")  # noqa: S106  # proves nothing
    place = ("--kubeconfig", str(kubeconfig), "--namespace", "shop", "--xds", xds)
    record = ("--audit-log", str(folder / "audit.log"))
    async with running.serving("run", *place, *record) as process, aiohttp.ClientSession() as session:
        yield Asked(session, process)


@pytest.mark.parametrize(("host", "everywhere"), [("127.0.0.1", EVERYWHERE), ("[::1]", "::")])
async def test_envoys_listen_by_ipv6_where_they_are_served_by_it(
    api: FaultyApi, tmp_path: Path, host: str, everywhere: str
) -> None:
    if everywhere == "::" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    target = f"{host}:{free_port()}"
    async with replica(api, tmp_path, target), grpc.aio.insecure_channel(target) as channel:
        stream = channel.stream_stream(f"/{SERVICE}/DeltaAggregatedResources")(wait_for_ready=True)
        request = discovery_pb2.DeltaDiscoveryRequest(type_url=LDS, node={"id": "a", "cluster": "shop/edge"})
        await stream.write(request.SerializeToString())
        answer = discovery_pb2.DeltaDiscoveryResponse.FromString(
            await asyncio.wait_for(stream.read(), WITHIN)
        )
    [listener] = (listener_pb2.Listener.FromString(each.resource.value) for each in answer.resources)
    assert listener.address.socket_address.address == everywhere
    assert listener.address.socket_address.ipv4_compat == (everywhere == "::")


def away(api: FaultyApi) -> None:
    """Let every request come to nothing."""
    for sort in SORTS:
        api.fail(sort, refusing(503, "no leader"))


async def reaches(number: Callable[[], Awaitable[float]], least: float) -> None:
    """Wait until something has been counted."""

    async def there() -> bool:
        return await number() >= least

    await until(there, within=WITHIN)


async def test_metrics_have_the_names_and_labels_that_are_documented(api: FaultyApi, tmp_path: Path) -> None:
    documented = {
        name: frozenset(filter(None, labels.split(","))) for name, labels in DOCUMENTED.findall(METRICS)
    }
    async with replica(api, tmp_path) as asked:
        await reaches(lambda: asked.measured("legation_leader"), 1)
        await reaches(
            lambda: asked.measured("legation_status_writes_total", kind="Gateway", outcome="written"), 1
        )
        families = [each for each in await asked.families() if each.name.startswith("legation_")]
    assert {each.name for each in families} == {name.removesuffix("_total") for name in documented}
    samples = [sample for family in families for sample in family.samples]
    for each in samples:
        name = re.sub(r"_(bucket|count|sum)$", "", each.name)
        assert documented[name] == each.labels.keys() - {"le"}, each
    kinds = {each.labels["kind"] for each in samples if "kind" in each.labels}
    assert kinds <= {info.kind for info in KINDS}
    numbers = {(each.name, each.labels.get("kind")): each.value for each in samples}
    assert numbers["legation_watch_objects", "Gateway"] == 1
    assert numbers["legation_watch_lists_total", "Gateway"] == 1
    assert numbers["legation_watch_stale_seconds", "Gateway"] == 0
    assert 0 <= numbers["legation_watch_silence_seconds", "Gateway"] < WITHIN


async def test_a_replica_that_loses_the_api_server_stays_ready_and_says_since_when(
    api: FaultyApi, tmp_path: Path
) -> None:
    async with replica(api, tmp_path) as asked:
        await asked.until("/readyz", lambda code, text: (code, text) == (200, "ok\n"))
        away(api)
        await api.end_watches()
        await asked.until("/readyz", lambda _, text: "Gateway for" in text and "no leader" in text)
        assert (await asked.get("/readyz"))[0] == 200
        assert (await asked.get("/healthz"))[0] == 200
        stale = read_overview((await asked.get("/api/v1/status"))[1].encode()).stale
        assert "Gateway" in {each.kind for each in stale}
        assert (await asked.get("/api/v1/envoys"))[0] == 200
        await reaches(lambda: asked.measured("legation_watch_stale_seconds", kind="Gateway"), 1)
        assert await asked.measured("legation_watch_failures_total", kind="Gateway", code="503") >= 1
        await reaches(lambda: asked.measured("legation_api_requests_failed_total", code="503"), len(KINDS))
        assert await asked.measured("legation_ready") == 1
        api.faults.clear()
        await asked.until("/readyz", lambda code, text: (code, text) == (200, "ok\n"))
        assert await asked.measured("legation_watch_stale_seconds", kind="Gateway") == 0
        assert await asked.measured("legation_watch_lists_total", kind="Gateway") == 1


async def test_a_replica_that_starts_without_an_api_server_is_not_ready_and_says_what_it_lacks(
    api: FaultyApi, tmp_path: Path
) -> None:
    away(api)
    async with replica(api, tmp_path) as asked:
        await asked.until("/readyz", lambda code, text: code == 503 and "Gateway (503: no leader)" in text)
        api.faults.clear()
        await asked.until("/readyz", lambda code, text: (code, text) == (200, "ok\n"))
