"""A Gateway with a proxy, a backend, and as many routes to it as are asked for, written to the API."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from e2e.beside import control_plane, gateway
from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import kubectl, read, wait_for
from e2e.test_proxies import reached
from k8s_watch.api_server import ApiServer, kubeconfig
from k8s_watch.kind import Place
from k8s_watch.writer import Writer, Written
from tests.legation.running import Legation

NAMESPACE = "bench"
PROBE = "probe-"  # how routes are called that only probe
GATEWAY_API = "gateway.networking.k8s.io/v1"
AT_ONCE = 16  # requests to the API server
SPARE = 8  # addresses of the Service that nobody asks, so that its endpoints can change

Json = dict[str, Any]


class Scene(NamedTuple):
    """What a measurement works with."""

    writer: Writer
    legation: Legation
    at: str  # the address of the Gateway
    backend: int  # its port

    async def put(self, manifest: Json) -> None:
        """Let an object be like this."""
        outcome = await self.writer.apply(_place(manifest), msgspec.json.encode(manifest))
        assert isinstance(outcome, Written), outcome

    async def put_all(self, manifests: Iterable[Json]) -> None:
        """Let objects be like this, several at a time."""
        turns = asyncio.Semaphore(AT_ONCE)

        async def put(manifest: Json) -> None:
            async with turns:
                await self.put(manifest)

        await asyncio.gather(*(put(manifest) for manifest in manifests))


def route(name: str, host: str) -> Json:
    """Write a route of one host to the backend."""
    rule = {"backendRefs": [{"name": "store", "port": 80}]}
    spec = {"parentRefs": [{"name": "edge"}], "hostnames": [host], "rules": [rule]}
    return _manifest(GATEWAY_API, "HTTPRoute", name, spec=spec)


def endpoints(port: int, last: int = 0) -> Json:
    """Write the endpoints of the backend; those that are not ready are never asked."""
    ready: Json = {"addresses": [NODE_ADDRESS]}
    spare = [
        {"addresses": [f"198.18.15.{last % 200 + n + 1}"], "conditions": {"ready": False}}
        for n in range(SPARE)
    ]
    manifest = _manifest("discovery.k8s.io/v1", "EndpointSlice", "store")
    manifest["metadata"]["labels"] = {"kubernetes.io/service-name": "store"}
    return manifest | {
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": [ready, *spare] if last % 2 else [*spare, ready],
    }


@asynccontextmanager
async def staged() -> AsyncIterator[Scene]:
    """Have a Gateway whose proxy answers."""
    kubectl("create", "namespace", NAMESPACE)
    wait_for(NAMESPACE, "create", "serviceaccount/default")
    try:
        async with (
            ApiServer(kubeconfig(os.environ["KUBECONFIG"])) as server,
            control_plane(NAMESPACE) as (legation, _),
            _backend() as port,
        ):
            gateway(NAMESPACE, "edge")
            scene = Scene(Writer(server, "bench"), legation, await reached(NAMESPACE, "edge"), port)
            ports = [{"name": "http", "port": 80, "targetPort": port}]
            await scene.put(_manifest("v1", "Service", "store", spec={"ports": ports}))
            await scene.put(endpoints(port))
            yield scene
    finally:
        kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def accepted() -> int:
    """Count the routes that were told what became of them, without those that only probe."""
    found = read("httproutes", "--namespace", NAMESPACE)["items"]
    filling = (each for each in found if not each["metadata"]["name"].startswith(PROBE))
    return sum(bool(each.get("status", {}).get("parents", [])) for each in filling)


@asynccontextmanager
async def _backend() -> AsyncIterator[int]:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="store")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, NODE_ADDRESS, 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _manifest(api_version: str, kind: str, name: str, **fields: object) -> Json:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _place(manifest: Json) -> Place:
    plural = f"{manifest['kind'].lower()}s"
    return Place(manifest["apiVersion"], plural, NAMESPACE, manifest["metadata"]["name"])
