"""A Gateway with backends of many certificates: each behind every kind of route, and as a mirror."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import NamedTuple, TypeVar

from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import apply, eventually, kubectl, namespaced, read
from e2e.scenarios.background import beside
from e2e.scenarios.shop import EDGE, Shop
from tests.handshakes.backends import Backend, grpc_backend, http_backend, speaks
from tests.handshakes.clients import Place, send
from tests.handshakes.manifests import (
    Json,
    edge,
    elsewhere,
    endpoints,
    http_listener,
    route,
    service,
    tcp_listener,
    tls_listener,
    tls_secret,
)
from tests.handshakes.tap import Tap
from tests.pki import Authority, Issued

KINDS = ("HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute")
HTTP, TLS, FIRST_TCP = 80, 443, 9000
HTTPS, GRPC = 443, 8443
FEW = 6  # requests of which each proxy gets some, most likely

T = TypeVar("T")
Answers = frozenset[tuple[str, int | None]]
Told = Mapping[str, Mapping[str, str]]


class Cast(NamedTuple):
    """Backends on the node, for HTTP and for gRPC one to a name, and the loop that they run on."""

    loop: asyncio.AbstractEventLoop
    http: dict[str, Backend]
    grpc: dict[str, Backend]

    def tcp_port(self, name: str) -> int:
        """Return the port of the Gateway that leads to a backend by TCPRoute."""
        return FIRST_TCP + list(self.http).index(name)

    def run(self, what: Coroutine[None, None, T]) -> T:
        """Run something on the backends' loop."""
        return asyncio.run_coroutine_threadsafe(what, self.loop).result()


class Stage(NamedTuple):
    """Where all of them play, and clients of it."""

    namespace: str
    address: str
    cast: Cast
    clients: ssl.SSLContext

    def ask(self, kind: str, name: str) -> int | None:
        """Send one request to a backend as a kind of route carries it; None is told where it is closed."""
        port = TLS if kind == "TLSRoute" else self.cast.tcp_port(name) if kind == "TCPRoute" else HTTP
        return self._send(kind, port, hostname(kind, name))

    def copy(self, name: str) -> int | None:
        """Send one request that is copied to a backend, and answered by the first one."""
        return self._send("HTTPRoute", HTTP, hostname("copied", name))

    def answers(self, name: str) -> Answers:
        """Send a few requests by each kind of route; what was proved before counts no more."""
        self.cast.run(_part(self.cast.grpc[name].tap))
        return frozenset((kind, self.ask(kind, name)) for kind in KINDS for _ in range(FEW))

    def put(self, *manifests: Json) -> None:
        """Apply objects."""
        _put(self.namespace, manifests)

    def delete(self, kind: str, name: str) -> None:
        """Delete an object."""
        kubectl("delete", kind, name, "--namespace", self.namespace)

    def says(self, policy: str) -> Told:
        """Read what a policy's status says of its newest generation, by Gateway."""
        found = read("backendtlspolicy", policy, "--namespace", self.namespace)
        newest = found["metadata"]["generation"]
        return {
            each["ancestorRef"]["name"]: {
                condition["type"]: f"{condition['status']} {condition['reason']}"
                for condition in each["conditions"]
                if condition["observedGeneration"] == newest
            }
            for each in found.get("status", {}).get("ancestors", [])
        }

    def _send(self, kind: str, port: int, host: str) -> int | None:
        return self.cast.run(send(kind, Place(self.address, port), host, self.clients))


def hostname(kind: str, name: str) -> str:
    """Return the name that a client asks for."""
    return f"{name}.{kind.lower()}.test"


def copying(route_name: str, backend: str, mirror: str, **spec: object) -> Json:
    """Return a route to one backend that copies requests to another."""
    copy = {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": mirror, "port": HTTPS}}}
    rule = {"backendRefs": [{"name": backend, "port": HTTPS}], "filters": [copy]}
    return route("HTTPRoute", route_name, [], rules=[rule], **spec)


@contextmanager
def staged(shown: Mapping[str, Issued], *policies: Json) -> Iterator[Stage]:
    """Have a backend for each certificate, with policies that are there before anything leads to one."""
    public = Authority("public")
    with beside(_serving(shown)) as cast, namespaced() as namespace:
        _put(namespace, policies)
        _put(namespace, [*_gateway(cast, public), *(each for name in shown for each in _behind(name, cast))])
        address = eventually(Shop(namespace).address)
        yield Stage(namespace, address, cast, ssl.create_default_context(cadata=public.pem))


@asynccontextmanager
async def _serving(shown: Mapping[str, Issued]) -> AsyncIterator[Cast]:
    async with AsyncExitStack() as stack:
        http = {
            name: await stack.enter_async_context(http_backend(speaks(issued), NODE_ADDRESS))
            for name, issued in shown.items()
        }
        grpc = {
            name: await stack.enter_async_context(grpc_backend(issued, NODE_ADDRESS))
            for name, issued in shown.items()
        }
        yield Cast(asyncio.get_running_loop(), http, grpc)


async def _part(tap: Tap) -> None:
    """End connections: those that a backend proved itself on outlast the roots that it did so by."""
    tap.hang_up()
    await tap.all_closed()


def _put(namespace: str, manifests: Iterable[Json]) -> None:
    items = [elsewhere(each, namespace) for each in manifests]
    apply(namespace, json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))


def _gateway(cast: Cast, public: Authority) -> Iterator[Json]:
    yield tls_secret(EDGE, public.issue(dns=[hostname("TLSRoute", "*")]))
    tcp = [tcp_listener(cast.tcp_port(name)) for name in cast.http]
    yield edge(http_listener(HTTP), tls_listener("tls", TLS, EDGE), *tcp)


def _behind(name: str, cast: Cast) -> Iterator[Json]:
    """Return a Service, a route of each kind to it, and one by which requests are copied to it."""
    yield service(name, {HTTPS: "https", GRPC: "kubernetes.io/h2c"})
    yield from endpoints(name, HTTPS, cast.http[name].port, address=NODE_ADDRESS)
    yield from endpoints(name, GRPC, cast.grpc[name].port, address=NODE_ADDRESS)
    for kind, port in (("HTTPRoute", HTTPS), ("GRPCRoute", GRPC), ("TLSRoute", HTTPS)):
        yield route(kind, name, [(name, port)], hostnames=[hostname(kind, name)])
    parent = {"name": EDGE, "sectionName": f"tcp-{cast.tcp_port(name)}"}
    yield route("TCPRoute", name, [(name, HTTPS)], parentRefs=[parent])
    first = next(iter(cast.http))
    yield copying(f"{name}-copied", first, name, hostnames=[hostname("copied", name)])
