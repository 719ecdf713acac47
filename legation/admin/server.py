"""The admin port: health, readiness, metrics, and how things stand as JSON. No key material is ever on it."""

import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from types import MappingProxyType

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from legation.addresses import HostPort
from legation.admin.gauges import StandingGauges
from legation.admin.kept import Kept
from legation.admin.maps import Ask, Count, Maps, Question
from legation.admin.metrics import Telemetry, exposition, taken_down
from legation.admin.page import POLICY, Page
from legation.admin.tools import Tools
from legation.answers import FROM_NO_PAGE
from legation.standing import NOTHING_COUNTED, Counters, Standing, as_json
from legation.turns import aside, drop
from translator.objects.scalars import is_address
from translator.translate import INDEXES
from translator.world import World
from xds_server.hub import Connected

LONGEST_SILENCE = 60_000  # milliseconds in which who is answered may read nothing

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

SAFE = MappingProxyType({
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "legation",  # and nothing of what it is made of
})  # fmt: skip
# No script can set this header, and browsers send it only to loopback and to whoever proved a name by TLS:
# not to somebody else's name that leads here. What came through an API server is known by it.
FROM_A_SECURE_PLACE = "Sec-Fetch-Site"


async def _misdirected(_: web.Request) -> web.Response:
    text = "ask for this port by an address, or by the name it was given with --admin\n"
    return web.Response(status=HTTPStatus.MISDIRECTED_REQUEST, text=text)


async def nobody_counts() -> Counters:
    """Say nothing of handshakes, where no Envoy runs that could be asked."""
    return NOTHING_COUNTED


async def about_nothing(question: Question) -> bytes | None:
    """Answer about an empty world, where there is none yet."""
    return question(World(INDEXES))


class AdminPort:
    """Answers what may be asked."""

    def __init__(
        self,
        standing: Standing,
        telemetry: Telemetry,
        names: frozenset[str],
        count: Count = nobody_counts,
        ask: Ask = about_nothing,
    ) -> None:
        """Answer from these parts, to those who asked for one of these host names or for an address."""
        self._count = count
        self._standing = standing
        self._telemetry = telemetry
        self._names = names
        self._page = Page()
        self._maps = Maps(standing, ask, count)
        self._tools = Tools(standing, ask)
        self._statuses, self._expositions = Kept(), Kept()  # apart: who is counted may answer late
        self._gauges = StandingGauges(standing)
        telemetry.registry.register(self._gauges)

    def app(self) -> web.Application:
        """Say who answers what."""
        app = web.Application(middlewares=[self._guarded])
        app.add_routes([
            web.get("/", self._page.front),
            web.get("/assets/{name}", self._page.asset),
            web.get("/healthz", self._healthz),
            web.get("/readyz", self._readyz),
            web.get("/metrics", self._metrics),
            web.get("/api/v1/status", self._status),
            *self._maps.routes(),
            *self._tools.routes(),
        ])  # fmt: skip
        return app

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse pages of others that had a browser resolve their own name to this address."""
        _end_silence(request)
        try:
            answer = await (handler if self._may_ask(request) else _misdirected)(request)
        except web.HTTPException as refusal:
            refusal.headers.update(SAFE)
            raise
        answer.headers.update(SAFE)
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    def _may_ask(self, request: web.Request) -> bool:
        said = request.headers
        is_tool = said.keys() >= FROM_NO_PAGE.keys()
        return is_tool or FROM_A_SECURE_PLACE in said or self._is_known(_host(request))

    def _is_known(self, host: str) -> bool:
        return is_address(host) or host.lower() in self._names

    async def _healthz(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _readyz(self, _: web.Request) -> web.Response:
        if self._standing.ready:  # also where the API server is away: docs/decisions/0010 says why
            stale = "".join(f"out of date: {each}\n" for each in self._standing.stale())
            return web.Response(text=f"ok\n{stale}")
        lacks = self._standing.lacks()
        text = f"nothing was translated yet; not read: {lacks}\n" if lacks else "nothing was read yet\n"
        return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=text)

    async def _metrics(self, request: web.Request) -> web.Response:
        async def make() -> bytes:
            await aside(self._gauges.look)
            return await aside(partial(exposition, taken_down(self._telemetry.registry)))

        answer = await self._expositions.newest(request.path, make)
        return web.Response(body=answer.body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _status(self, request: web.Request) -> web.Response:
        async def make() -> bytes:
            counters, connected = await self._count(), await self._standing.connected()
            return await aside(partial(_written, self._standing.still(), counters, connected))

        answer = await self._statuses.newest(request.path, make)
        return web.Response(body=answer.body, content_type="application/json")


def _written(standing: Standing, counters: Counters, connected: Sequence[Connected]) -> bytes:
    overview = standing.overview(counters, connected)
    body = as_json(overview)
    parts: list[object] = [*overview.routes, *overview.policies]
    del overview
    drop(parts)
    return body


def _end_silence(request: web.Request) -> None:
    """Have the kernel end the connection of who reads nothing: an answer is kept for as long as it stands."""
    if sys.platform == "linux" and request.transport is not None:
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, LONGEST_SILENCE)


def _host(request: web.Request) -> str:
    """Say which name was asked for; what cannot be one is nobody's."""
    try:
        return request.url.host or ""
    except ValueError:  # a port beyond all ports, two of them, letters that no name has
        return ""


@asynccontextmanager
async def answering(port: AdminPort, at: HostPort) -> AsyncGenerator[int]:
    """Answer while the block runs; yield the port's number."""
    runner = web.AppRunner(port.app(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, at.host, at.port)
        await site.start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
