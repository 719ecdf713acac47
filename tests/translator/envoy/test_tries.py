"""Timeouts and retries: what a real Envoy does with backends that are slow, that fail or are not there."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tests.envoy_validate import runnable
from tests.legation.running import free_port
from tests.loopback import LOOPBACK, Backend, ask
from tests.real_envoy import running_envoy
from tests.translator.envoy.plans import BOUND, TABLE, Hop, Plans, backend, bodies, build
from tests.translator.envoy.routed import entry, gateway_of
from translator.rules.backends import Share
from translator.rules.endpoints import Endpoint
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.ports import HttpPort, Site
from translator.rules.tries import Again, Tries

SILENT = 0  # in the place of a status: no answer comes
AMPLE = 3000  # milliseconds, in which a backend that means to answer has answered


@asynccontextmanager
async def faltering(answers: Sequence[int]) -> AsyncIterator[Backend]:
    """Answer each request with the next status, and all that follow with the last."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        status = answers[min(len(heads), len(answers)) - 1]
        if status == SILENT:
            await reader.read()  # until Envoy gives up
        else:
            writer.write(f"HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode())
        writer.close()

    server = await asyncio.start_server(serve, LOOPBACK, 0)
    async with server:
        yield Backend(server.sockets[0].getsockname()[1], heads, [])


async def asked(tries: Tries, *answers: int) -> tuple[int, int]:
    """Return the status of one request, and how often a backend that answers so was asked."""
    rule = HttpRule(Forward((Share(backend("pay"), 1),), tries=tries))
    hosts = {TABLE: {"*": [entry(HttpMatch(PathPrefix("/")), rule)]}}
    async with faltering(answers) as server, gateway_of(hosts, server) as ports:
        return (await ask(ports[TABLE])).status, len(server.heads)


async def test_a_request_is_tried_again_by_code_and_as_often_as_it_says() -> None:
    twice = Tries(again=Again(2, (500, 503), backoff=1))
    assert await asked(twice, 500, 503, 200) == (200, 3)
    assert await asked(twice, 500, 500, 500, 200) == (500, 3)
    assert await asked(twice, 502, 200) == (502, 1)
    assert await asked(Tries(), 500, 200) == (500, 1)


async def test_a_try_that_takes_too_long_ends_and_another_follows_it_only_where_that_was_asked_for() -> None:
    assert await asked(Tries(each=AMPLE), SILENT) == (504, 1)
    assert await asked(Tries(each=AMPLE, again=Again(1)), SILENT, 200) == (200, 2)


async def test_the_time_for_a_request_covers_all_of_its_tries() -> None:
    assert await asked(Tries(request=AMPLE, again=Again(9, (500,), backoff=1)), 500, SILENT) == (504, 2)
    assert await asked(Tries(request=0, each=0), 200) == (200, 1)
    assert await asked(Tries(request=400_000), 200) == (200, 1)


async def test_a_request_that_no_backend_took_goes_to_another() -> None:
    rule = HttpRule(Forward((Share(backend("pay"), 1),), tries=Tries(again=Again(30, backoff=1))))
    hosts = {TABLE: {"*": [entry(HttpMatch(PathPrefix("/")), rule)]}}
    async with faltering([200]) as server:
        at = (Endpoint(LOOPBACK, free_port()), Endpoint(LOOPBACK, server.port))
        site = Site((LOOPBACK,), 0, HttpPort(TABLE))
        plans = Plans({BOUND: site}, hosts, (Hop(backend("pay"), at),))
        async with running_envoy(runnable(bodies(build(plans)))) as envoy:
            port = await envoy.listener_port(str(BOUND))
            assert {(await ask(port)).status for _ in range(20)} == {200}
