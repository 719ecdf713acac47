"""The shop that `tests/changing` changes, in a cluster: by the API server, and with two proxies."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import aiohttp
from msgspec import Struct

from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import eventually
from e2e.scenarios import shop as places
from e2e.scenarios.release import REPLICAS, Release
from k8s_watch.api_server import ApiServer, kubeconfig
from k8s_watch.kind import Place
from k8s_watch.writer import Missing, Writer, Written
from legation.standing import read_overview
from tests.changing.scene import SETTLES_WITHIN, START, Scene, furnished, visited
from tests.changing.shop import ASIDE, PLAIN, SECURE, SPARE, Grounds, Shop, sold, written
from tests.changing.stock import Stock
from tests.handshakes.manifests import Json, elsewhere
from tests.loopback import opens
from tests.real_envoy import until
from translator.objects.kinds import KINDS

ADMIN = 19080
PLURALS = MappingProxyType({info.kind: info.plural for info in KINDS})
PORTS = MappingProxyType({PLAIN: 80, SECURE: 443, SPARE: 8080, ASIDE: 8081})


class ApiObjects(NamedTuple):
    """Objects at the API server."""

    writer: Writer

    async def put(self, each: Json) -> None:
        """Have an object."""
        outcome = await self.writer.apply(_place(each), json.dumps(each).encode())
        assert isinstance(outcome, Written), (each, outcome)

    async def delete(self, each: Json) -> None:
        """Have it no more."""
        outcome = await self.writer.delete(_place(each))
        assert isinstance(outcome, Written | Missing), (each, outcome)


class Market(Struct):
    """A namespace in which one state follows the other."""

    namespace: str
    grounds: Grounds
    stock: Stock
    replicas: Sequence[str]  # addresses of the control plane
    doors: Sequence[str] = ()  # addresses of proxies

    async def save(self, shop: Shop) -> None:
        """Write what differs from the state before."""
        await self.stock.hold(elsewhere(each, self.namespace) for each in written(shop, self.grounds))

    async def tidy(self) -> None:
        """Delete what nobody leads to any more."""
        await self.stock.tidy()

    async def is_held(self) -> bool:
        """Say whether each of the proxies has all that is known to the replica that it is connected to."""
        envoys = [current for replica in self.replicas for current in await self._envoys(replica)]
        return envoys == [True] * len(self.doors)

    async def _envoys(self, replica: str) -> list[bool]:
        url = f"http://{replica}:{ADMIN}/api/v1/status"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            gateways = read_overview(await answer.read()).gateways
        ours = [each for each in gateways if each.name.startswith(f"{self.namespace}/")]
        return [envoy.current for gateway in ours for envoy in gateway.envoys]


def _place(each: Json) -> Place:
    metadata = each["metadata"]
    assert isinstance(metadata, dict)
    return Place(str(each["apiVersion"]), PLURALS[str(each["kind"])], metadata["namespace"], metadata["name"])


@asynccontextmanager
async def opened(release: Release, place: places.Shop) -> AsyncIterator[Scene]:
    """Open the shop in a namespace; nobody is ever to find an earlier state after a later one."""
    server = ApiServer(kubeconfig(os.environ["KUBECONFIG"]))
    async with furnished(PORTS, NODE_ADDRESS) as behind, server:
        replicas = [pod.address for pod in release.pods.ready(REPLICAS)]
        market = Market(place.namespace, behind.grounds, Stock(ApiObjects(Writer(server, "test"))), replicas)
        await market.save(START)
        address = await asyncio.to_thread(eventually, place.address)
        proxies = await asyncio.to_thread(eventually, lambda: place.proxies.ready(REPLICAS))
        market.doors = [pod.address for pod in proxies]
        for port in (PLAIN, SECURE):  # nodes hear of ready proxies a little later than the API server
            await until(partial(opens, PORTS[port], address), within=SETTLES_WITHIN)
        async with visited(market, behind, address, sold) as scene:
            yield scene
        assert behind.silent()
