"""The admin port: what it answers, and to whom."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

import aiohttp
import pytest
from aiohttp import web

from legation.addresses import HostPort
from legation.admin import server
from legation.admin.metrics import Telemetry
from legation.admin.server import AdminPort, Handler, answering
from legation.answers import FROM_NO_PAGE
from legation.change import Stated
from legation.contact import Stale
from legation.folder import Folder, read
from legation.manifests import Place, Problem
from legation.standing import NOTHING_COUNTED, Counters, Standing, read_overview
from legation.workbench import Workbench
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, together
from tests.looking import eventually
from translator.rules.gateways import BINDING, Binding
from xds_server.hub import Hub
from xds_server.report import Envoy, Overdue, Rejected, TurnedAway
from xds_server.snapshot import LDS

SHOP = together(LEGATION_CLASS, gateway("edge", 80), route("store", "store"))


def standing_of(text: str | None) -> Standing:
    """How things stand once this was translated; None for nothing yet."""
    standing = Standing(Hub(lambda _: None), dict)
    if text is not None:
        folder = Folder()
        folder.take("a.yaml", read(text, "a.yaml"))
        standing.problems = folder.problems()
        here = Stated(BINDING, Binding("127.0.0.1", is_exclusive=True))
        standing.take(Workbench().work((here, *folder.changes())))
    return standing


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[int]:
    """Answer while the block runs; yield the port's number."""
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


class Client:
    """Asks the admin port."""

    def __init__(self, session: aiohttp.ClientSession, port: int) -> None:
        self._session = session
        self._port = port

    async def get(
        self, path: str, host: str | None = None, more: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, str]:
        """Status and text of one answer."""
        headers = {**more, **({"Host": host} if host is not None else {})}
        async with self._session.get(f"http://127.0.0.1:{self._port}{path}", headers=headers) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def admin(standing: Standing, telemetry: Telemetry | None = None) -> AsyncIterator[Client]:
    port = AdminPort(standing, telemetry or Telemetry(), frozenset({"localhost"}))
    async with answering(port, HostPort("127.0.0.1", 0)) as number, aiohttp.ClientSession() as session:
        yield Client(session, number)


async def test_it_is_alive_at_once_and_ready_once_everything_was_read() -> None:
    async with admin(standing_of(None)) as client:
        assert (await client.get("/healthz"))[0] == 200
        assert (await client.get("/readyz"))[0] == 503
    async with admin(standing_of(SHOP)) as client:
        assert (await client.get("/readyz"))[0] == 200


async def test_it_stays_ready_when_the_api_server_is_away_and_says_what_is_out_of_date() -> None:
    standing = standing_of(SHOP)
    standing.stale = lambda: (Stale("Service", 12.3, "no answer: <gone>"),)
    async with admin(standing) as client:
        assert await client.get("/readyz") == (
            200,
            "ok\nout of date: Service for 12 s (no answer: <gone>)\n",
        )
        _, body = await client.get("/api/v1/status")
    assert read_overview(body.encode()).stale == standing.stale()


async def test_the_status_is_what_the_commands_read() -> None:
    async with admin(standing_of(SHOP)) as client:
        status, body = await client.get("/api/v1/status")
    assert status == 200
    overview = read_overview(body.encode())
    assert [(each.name, each.bound) for each in overview.gateways] == [("infra/edge", ("127.0.0.1:80",))]
    assert [(each.kind, each.name) for each in overview.routes] == [("HTTPRoute", "shop/store")]
    assert [each.object for each in overview.findings] == ["HTTPRoute shop/store"]


async def test_a_status_is_made_once_for_all_who_ask_while_another_is_made() -> None:
    many, made, came, everybody = 20, list[int](), list[web.Request](), asyncio.Event()

    async def count() -> Counters:
        made.append(len(came))
        await everybody.wait()
        return NOTHING_COUNTED

    @web.middleware
    async def counting(request: web.Request, handler: Handler) -> web.StreamResponse:
        came.append(request)
        if len(came) == many:
            everybody.set()
        return await handler(request)

    port = AdminPort(standing_of(SHOP), Telemetry(), frozenset(), count)
    app = port.app()
    app.middlewares.append(counting)
    async with serving(app) as number, aiohttp.ClientSession() as session:
        client = Client(session, number)
        answers = await asyncio.gather(*[client.get("/api/v1/status") for _ in range(many)])
        assert {status for status, _ in answers} == {200}
        before = len(made)
        assert before <= 2  # one that had begun before others asked, and one for all of those
        assert (await client.get("/api/v1/status"))[0] == 200
    assert len(made) == before + 1


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("localhost:19080", 200),
        ("127.0.0.1", 200),
        ("[::1]:19080", 200),
        ("LOCALHOST", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example:19080", 421),
    ],
)
async def test_a_name_that_somebody_else_resolves_to_us_is_refused(host: str, status: int) -> None:
    async with admin(standing_of(SHOP)) as client:
        for path in ("/", "/api/v1/status", "/metrics", "/healthz"):
            assert (await client.get(path, host))[0] == status


async def test_the_commands_are_answered_by_whatever_name_they_come() -> None:
    async with admin(standing_of(SHOP)) as client:
        assert (await client.get("/api/v1/status", "api.cluster.example", FROM_NO_PAGE))[0] == 200


async def test_who_reads_nothing_of_a_long_answer_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LONGEST_SILENCE", 200)
    standing = standing_of(SHOP)
    standing.problems = (Problem(Place("a.yaml", 1), "x" * 30_000_000),)  # more than kernels keep
    runner = web.AppRunner(AdminPort(standing, Telemetry(), frozenset()).app())
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        with socket.create_connection(runner.addresses[0]) as reader:
            reader.sendall(b"GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            answering_it = runner.server
            assert answering_it is not None
            await eventually(lambda: answering_it.connections)
            await eventually(lambda: not answering_it.connections)
    finally:
        await runner.cleanup()


async def test_metrics_have_the_names_that_are_documented() -> None:
    telemetry = Telemetry()
    envoy = Envoy("infra/edge", "edge-1")
    telemetry.note(Rejected(envoy, LDS, {"infra/edge:80": "v1"}, "cannot bind", isolated=True))
    telemetry.note(Overdue(envoy, LDS, "infra/edge:80", 5.0))
    telemetry.note(TurnedAway("infra/edge", "edge-1", "too many streams"))
    standing = standing_of(SHOP)
    telemetry.take(standing.outcome)
    async with admin(standing, telemetry) as client:
        _, body = await client.get("/metrics")
    for line in (
        "legation_ready 1.0",
        'legation_gateways{programmed="False"} 1.0',
        'legation_findings{group="refused"} 1.0',
        "legation_translation_seconds_count 1.0",
        'legation_rejections_total{gateway="infra/edge",type="Listener"} 1.0',
        'legation_overdue_total{gateway="infra/edge"} 1.0',
        "legation_turned_away_total 1.0",
    ):
        assert f"{line}\n" in body
