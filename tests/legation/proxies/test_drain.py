"""Before a managed proxy ends: its command says of Envoy's counters what `legation up` says of them."""

import asyncio
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from legation.addresses import HostPort
from legation.proxies.drain import drain
from legation.proxies.envoy_admin import in_flight
from tests.legation.proxies.test_envoy_admin import COUNTED
from tests.legation.running import free_port

LONG = 3600
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def admin(gauges: Mapping[str, int]) -> AsyncIterator[int]:
    """Answer whatever is asked by these gauges, as Envoy writes them."""
    body = "".join(f"{name}: {value}\n" for name, value in gauges.items()).encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


async def waits(gauges: Mapping[str, int], withdrawal: int = 0, patience: int = LONG) -> bool:
    """Say whether the command waits at all; it tells each step that it takes."""
    async with admin(gauges) as port:
        bash, *rest = drain(HostPort("127.0.0.1", port), withdrawal, patience)
        running = await asyncio.create_subprocess_exec(bash, "-x", *rest, stdout=PIPE, stderr=PIPE)
        assert running.stderr is not None
        try:
            while line := await asyncio.wait_for(running.stderr.readline(), 60):
                if line == b"+ sleep 1\n":
                    return True
            return False
        finally:
            if running.returncode is None and not running.stderr.at_eof():
                running.kill()
            await running.communicate()


@pytest.mark.parametrize(("gauges", "number"), COUNTED)
async def test_it_waits_for_what_is_in_flight_and_for_nothing_else(
    gauges: dict[str, int], number: int
) -> None:
    assert in_flight(gauges) == number
    assert await waits(gauges) == (number > 0)


async def test_it_waits_until_others_have_heard_of_the_end() -> None:
    assert await waits({}, withdrawal=LONG)


async def test_it_waits_no_longer_than_it_may() -> None:
    assert not await waits({"http.edge.downstream_rq_active": 1}, withdrawal=LONG, patience=0)


async def test_an_envoy_that_has_ended_is_not_waited_for() -> None:
    running = await asyncio.create_subprocess_exec(
        *drain(HostPort("127.0.0.1", free_port()), 0, LONG), stdout=PIPE, stderr=PIPE
    )
    await asyncio.wait_for(running.communicate(), 60)
