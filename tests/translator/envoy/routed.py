"""A real Envoy that is given route tables, before a backend that tells what reached it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from tests.envoy_validate import runnable
from tests.loopback import LOOPBACK, Answer, http_backend
from tests.loopback import Backend as Server
from tests.real_envoy import running_envoy
from tests.translator.envoy.plans import EDGE, TABLE, Hop, Plans, backend, bodies, build
from translator.rules.backends import Backend, Share
from translator.rules.endpoints import Endpoint
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.ports import Bound, HttpPort, Site
from translator.rules.tables import Entry, Table
from translator.verdict import Refused

PAY = backend("pay")
NOWHERE = backend("nowhere")  # a Service without endpoints
TO_PAY = HttpRule(Forward((Share(PAY, 1),)))
REFUSED = Refused("BackendNotFound", "Service shop/gone does not exist")
ROOT = HttpMatch(PathPrefix("/"))
Hosts = Mapping[str, Sequence[Entry]]


def entry(match: HttpMatch, rule: HttpRule = TO_PAY) -> Entry:
    """Return one match of a rule, in a route of the shop."""
    return Entry(match, rule, "HTTPRoute shop/store rule 1")


@asynccontextmanager
async def gateway(hosts: Hosts) -> AsyncIterator[tuple[int, Server]]:
    """Run an Envoy with these virtual hosts before a backend that answers `pay`."""
    async with http_backend("pay") as server, gateway_of({TABLE: hosts}, server) as ports:
        yield ports[TABLE], server


@asynccontextmanager
async def gateway_of(tables: Mapping[Table, Hosts], server: Server) -> AsyncIterator[Mapping[Table, int]]:
    """Run an Envoy that serves each table at a port of its own."""
    async with envoy_of(tables, {PAY: [server], NOWHERE: []}) as ports:
        yield ports


@asynccontextmanager
async def envoy_of(
    tables: Mapping[Table, Hosts], served: Mapping[Backend, Sequence[Server]]
) -> AsyncIterator[Mapping[Table, int]]:
    """Run an Envoy that serves each table at a port of its own, before any number of backends."""
    hops = tuple(
        Hop(each, tuple(Endpoint(LOOPBACK, server.port) for server in servers))
        for each, servers in served.items()
    )
    bounds = {table: Bound(EDGE, table.port) for table in tables}
    sites = {bound: Site((LOOPBACK,), 0, HttpPort(table)) for table, bound in bounds.items()}
    async with running_envoy(runnable(bodies(build(Plans(sites, tables, hops))))) as envoy:
        yield {table: await envoy.listener_port(str(bound)) for table, bound in bounds.items()}


def said(answer: Answer) -> str:
    """What the backend says, or how Envoy answers."""
    return answer.body if answer.status == 200 else str(answer.status)
