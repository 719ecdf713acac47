"""Services of XBackends in a scripted API server: made, put back, taken away, and others' left alone."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from k8s_watch.reader import Reader
from k8s_watch.writer import Writer
from legation.pods.keeper import PodsKeeper
from legation.pods.wanted import Pods
from legation.proxies.ways import Ways
from tests.k8s_watch.faulty_api import SOON, FaultyApi, Key, serving
from tests.k8s_watch.listener import reached
from translator.names import Name

API = "gateway.networking.x-k8s.io/v1alpha1"
PAY = Pods(Name("shop", "pay"), "1", API, (("app", "pay"),), 8080)
KEY: Key = ("services", *PAY.service)


def cluster() -> FaultyApi:
    api = FaultyApi()
    api.roots.add("/api/v1")
    api.kinds.add("services")
    return api


@asynccontextmanager
async def keeping(
    api: FaultyApi, folder: Path, wanted: Mapping[Name, Pods | None]
) -> AsyncIterator[PodsKeeper]:
    """Keep what is wanted until the block ends."""
    async with serving(api), reached(api, folder) as server, asyncio.timeout(SOON):
        keeper = PodsKeeper(Ways(Reader(server), Writer(server, "legation.dev/gateway-controller")))
        keeper.take(wanted)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(keeper.run())
            yield keeper
            running.cancel()


def selector(api: FaultyApi) -> object:
    spec = api.objects.get(KEY, {}).get("spec", {})
    return spec.get("selector") if isinstance(spec, dict) else None


async def test_a_service_is_made_and_put_back_when_somebody_changes_or_deletes_it(tmp_path: Path) -> None:
    api = cluster()
    async with keeping(api, tmp_path, {PAY.x_backend: PAY}):
        await api.until(lambda: selector(api) == {"app": "pay"})
        owners = api.objects[KEY]["metadata"]["ownerReferences"]  # type: ignore[call-overload, index]  # an object's own
        await api.put(PAY.service.name, "services", owners=owners, spec={"selector": {"app": "other"}})
        await api.until(lambda: selector(api) == {"app": "pay"})
        await api.delete(PAY.service.name, "services")
        await api.until(lambda: selector(api) == {"app": "pay"})


async def test_what_selects_no_pods_any_more_has_no_service(tmp_path: Path) -> None:
    api = cluster()
    async with keeping(api, tmp_path, {PAY.x_backend: PAY}) as keeper:
        await api.until(lambda: KEY in api.objects)
        keeper.take({PAY.x_backend: Pods(PAY.x_backend, PAY.uid, API)})
        await api.until(lambda: KEY not in api.objects)


async def test_a_service_stays_as_it_is_while_nobody_leads_there(tmp_path: Path) -> None:
    api, web = cluster(), Pods(Name("shop", "web"), "2", API, (("app", "web"),), 80)
    async with keeping(api, tmp_path, {PAY.x_backend: PAY}) as keeper:
        await api.until(lambda: KEY in api.objects)
        keeper.take({PAY.x_backend: None, web.x_backend: web})
        await api.until(lambda: ("services", *web.service) in api.objects)
        assert KEY in api.objects


async def test_what_is_somebody_elses_is_left_alone_and_made_when_it_is_gone(tmp_path: Path) -> None:
    api, web = cluster(), Pods(Name("shop", "web"), "2", API, (("app", "web"),), 80)
    await api.put(PAY.service.name, "services", spec={"selector": {"app": "precious"}})
    async with keeping(api, tmp_path, {PAY.x_backend: PAY, web.x_backend: web}):
        await api.until(lambda: ("services", *web.service) in api.objects)
        assert selector(api) == {"app": "precious"}
        await api.delete(PAY.service.name, "services")
        await api.until(lambda: selector(api) == {"app": "pay"})
