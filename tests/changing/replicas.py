"""Replicas of `legation run`, and an API server for them that does what it is told to."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import aiohttp

from tests.changing.kiosk import xds_port
from tests.handshakes.manifests import Json
from tests.k8s_watch.faulty_api import FaultyApi, serving, write_kubeconfig
from tests.legation.running import Legation, free_port
from tests.legation.running import serving as running_legation
from tests.real_envoy import until
from translator.objects.kinds import KINDS

WITHIN = 120.0
PLURALS = MappingProxyType({info.kind: info.plural for info in KINDS})


class Api(NamedTuple):
    """An API server that knows every kind."""

    server: FaultyApi

    async def put(self, each: Json) -> None:
        """Have an object."""
        made = json.loads(json.dumps(each))
        metadata, kind = made.pop("metadata"), made.pop("kind")
        del made["apiVersion"]
        place = metadata["name"], PLURALS[kind], metadata.get("namespace", "")
        await self.server.put(*place, labels=metadata.get("labels", {}), **made)

    async def delete(self, each: Json) -> None:
        """Have it no more."""
        metadata = each["metadata"]
        assert isinstance(metadata, dict)
        await self.server.delete(metadata["name"], PLURALS[str(each["kind"])], metadata.get("namespace", ""))


class Replica(NamedTuple):
    """A replica, and its port for Envoys."""

    running: Legation
    port: int

    async def is_ready(self) -> bool:
        """Say whether it may be asked for a configuration."""
        url = f"{await self.running.admin()}/readyz"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status == HTTPStatus.OK

    async def has_served(self) -> bool:
        """Say whether an Envoy is connected here, and has all that is known here."""
        gateways = (await self.running.overview()).gateways
        return [envoy.current for gateway in gateways for envoy in gateway.envoys] == [True]


@asynccontextmanager
async def api_serving() -> AsyncIterator[Api]:
    """Run such a server."""
    server = FaultyApi()
    server.roots = {f"/apis/{info.group}/{info.versions[0]}" for info in KINDS if info.group} | {"/api/v1"}
    server.kinds = set(PLURALS.values())
    async with serving(server):
        yield Api(server)


@asynccontextmanager
async def started(api: int, folder: Path) -> AsyncIterator[Replica]:
    """Run a replica that finds the API server at a port, until it is ready."""
    kubeconfig = write_kubeconfig(folder, f"http://127.0.0.1:{api}", token="t0")  # noqa: S106  # proves nothing
    place = ("--kubeconfig", str(kubeconfig), "--namespace", "shop", "--xds", f"127.0.0.1:{free_port()}")
    async with running_legation("run", *place) as running:
        replica = Replica(running, await xds_port(running))
        await until(replica.is_ready, within=WITHIN)
        yield replica
