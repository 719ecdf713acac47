"""Gateways with proxies, their backends, and somebody who asks the first; objects are written to the API."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import NamedTuple

import aiohttp
import msgspec
from aiohttp import web
from msgspec import Struct

from bench.cluster.manifests import (
    ADDRESSES,
    ENDING,
    GATEWAY_API,
    SERVER_NAME,
    Json,
    Ports,
    address,
    backends,
    endpoints,
    first_routes,
    gateway_name,
    roots,
)
from bench.cluster.sides import Side
from bench.cluster.wanted import GATEWAYS
from bench.cluster.writes import status_writes
from e2e.beside import gateway
from e2e.kubectl import apply, kubectl, wait_for
from e2e.test_proxies import reached
from k8s_watch.api_server import ApiServer, Call, kubeconfig
from k8s_watch.kind import Place
from k8s_watch.writer import Writer, Written
from tests.loopback import server_tls
from tests.pki import Authority

AT_ONCE = 16  # requests to the API server
UNANSWERED = 0
PLURALS = {
    "HTTPRoute": "httproutes",
    "BackendTLSPolicy": "backendtlspolicies",
    "Service": "services",
    "EndpointSlice": "endpointslices",
    "ConfigMap": "configmaps",
}


class _Condition(Struct, frozen=True):
    type: str
    status: str


class _Reference(Struct, frozen=True):
    kind: str = "Gateway"


class _Parent(Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()
    ancestor: _Reference = msgspec.field(name="ancestorRef", default=_Reference())


class _Listener(Struct, frozen=True):
    attached: int = msgspec.field(name="attachedRoutes")


class _Status(Struct, frozen=True):
    parents: tuple[_Parent, ...] = ()
    ancestors: tuple[_Parent, ...] = ()
    listeners: tuple[_Listener, ...] = ()


class _Object(Struct, frozen=True):
    status: _Status = _Status()


class _List(Struct, frozen=True):
    items: tuple[_Object, ...]


class Backends(NamedTuple):
    """All backends as one server, whom it is vouched for by, and when each address was first asked."""

    ports: Ports
    roots: str
    asked: dict[str, float]


class Scene(NamedTuple):
    """What a measurement works with."""

    api: ApiServer
    writer: Writer
    session: aiohttp.ClientSession
    namespace: str
    pids: Sequence[int]  # of the control plane
    at: str  # the address of the first Gateway
    backends: Backends
    numbers: "count[int]"  # of endpoints that were never there

    async def put(self, manifest: Json) -> None:
        """Let an object be like this."""
        outcome = await self.writer.apply(self._place(manifest), msgspec.json.encode(manifest))
        assert isinstance(outcome, Written), outcome

    async def put_all(self, manifests: Iterable[Json]) -> None:
        """Let objects be like this, several at a time."""
        await _each(self.put, manifests)

    async def delete(self, manifest: Json) -> None:
        """Let there be no such object."""
        await self.writer.delete(self._place(manifest))

    async def delete_all(self, manifests: Iterable[Json]) -> None:
        """Let there be no such objects, several at a time."""
        await _each(self.delete, manifests)

    async def have_backends(self, routes: int) -> None:
        """Have the Services of so many routes, and whom their policies trust."""
        trusted = roots(self.backends.roots)
        await self.put_all(chain((trusted,), backends(routes, self.backends.ports)))

    async def replace(self, name: str) -> tuple[str, float]:
        """Replace the endpoint of a Service that is ready; give the new one, and when the API knew it."""
        number = next(self.numbers)
        await self.put(endpoints(name, self.backends.ports.of(name), number))
        return address(number), monotonic()

    async def answer(self, host: str) -> int:
        """Ask the Gateway for a host; give the status of its answer."""
        try:
            async with self.session.get(f"http://{self.at}/", headers={"host": host}) as response:
                await response.read()
                return response.status
        except (aiohttp.ClientError, TimeoutError):
            return UNANSWERED

    async def accepted(self) -> int:
        """Count the routes that are told to be accepted."""
        return sum(map(_accepted, await self._all("httproutes")))

    async def accepted_policies(self) -> int:
        """Count the policies that are told to be accepted for a Gateway, and not only for their Service."""
        return sum(map(_accepted, await self._all("backendtlspolicies")))

    async def attached(self) -> int:
        """Read how many routes the Gateways say that they have."""
        gateways = await self._all("gateways")
        return sum(each.attached for gateway in gateways for each in gateway.status.listeners)

    async def status_writes(self) -> Mapping[str, int]:
        """Count the writes of statuses so far."""
        return status_writes((await self._get("/metrics", accept="text/plain")).decode())

    async def _get(self, path: str, accept: str = "application/json") -> bytes:
        async with self.api.send(Call("GET", path, accept=accept)) as answer:
            return await answer.read()

    async def _all(self, plural: str) -> tuple[_Object, ...]:
        place = Place(GATEWAY_API, plural, self.namespace)
        return msgspec.json.decode(await self._get(place.path()), type=_List).items

    def _place(self, manifest: Json) -> Place:
        plural = PLURALS[manifest["kind"]]
        return Place(manifest["apiVersion"], plural, self.namespace, manifest["metadata"]["name"])


@asynccontextmanager
async def staged(side: Side) -> AsyncIterator[Scene]:
    """Have Gateways whose proxies answer."""
    namespace = side.namespace
    kubectl("create", "namespace", namespace)
    wait_for(namespace, "create", "serviceaccount/default")
    async with (
        ApiServer(kubeconfig(os.environ["KUBECONFIG"])) as api,
        side.serving(namespace) as processes,
        _backends() as found,
        aiohttp.ClientSession() as session,
    ):
        try:
            names = [gateway_name(number) for number in range(GATEWAYS)]
            for name in names:
                gateway(namespace, name)
            for route in first_routes(GATEWAYS):
                apply(namespace, msgspec.json.encode(route).decode())
            at, *_ = [await reached(namespace, name) for name in names]
            pids, numbers = await asyncio.to_thread(processes), count(ENDING + 1)
            yield Scene(api, Writer(api, "bench"), session, namespace, pids, at, found, numbers)
        finally:
            await asyncio.to_thread(kubectl, "delete", "namespace", namespace)


@asynccontextmanager
async def _backends() -> AsyncIterator[Backends]:
    authority, found = Authority("bench"), dict[str, float]()

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        local, _ = request.transport.get_extra_info("sockname")
        found.setdefault(local, monotonic())
        return web.Response(text=local)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        with _node_has(ADDRESSES), TemporaryDirectory() as folder:
            tls = server_tls(authority.issue(dns=[SERVER_NAME]), Path(folder))
            for context in (None, tls):
                await web.TCPSite(runner, "0.0.0.0", 0, ssl_context=context).start()  # noqa: S104  inside a network namespace
            plain, secret = (int(port) for _, port in runner.addresses)
            yield Backends(Ports(plain, secret), authority.pem, found)
    finally:
        await runner.cleanup()


@contextmanager
def _node_has(addresses: str) -> Iterator[None]:
    """Have the node answer at a range of addresses."""
    route = ("local", addresses, "dev", "lo")
    subprocess.run(["ip", "route", "add", *route], check=True)  # noqa: S603, S607  as written above
    try:
        yield
    finally:
        subprocess.run(["ip", "route", "del", *route], check=True)  # noqa: S603, S607  as written above


async def _each(do: Callable[[Json], Awaitable[None]], manifests: Iterable[Json]) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(manifest: Json) -> None:
        async with turns:
            await do(manifest)

    await asyncio.gather(*(one(manifest) for manifest in manifests))


def _accepted(thing: _Object) -> bool:
    told = thing.status.parents + thing.status.ancestors
    conditions = (each for about in told if about.ancestor.kind == "Gateway" for each in about.conditions)
    return any((each.type, each.status) == ("Accepted", "True") for each in conditions)
