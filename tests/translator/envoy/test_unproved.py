"""Streams to backends that are not fully verified end by themselves, and logs say what they were."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.envoy_validate import runnable
from tests.loopback import LOOPBACK, server_tls
from tests.pki import self_signed
from tests.real_envoy import RunningEnvoy, running_envoy, until
from tests.translator.envoy.plans import BOUND, EDGE, TABLE, Hop, Plans, bodies, build
from translator.names import Name, ServicePort
from translator.rules.backend_tls import Anybody, PinsAlone, UpstreamTls
from translator.rules.backends import Backend, Protocol, Share
from translator.rules.endpoints import Endpoint
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.insecure_verification import Weakness
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.pins import Pins
from translator.rules.ports import Bound, HttpPort, Site, TcpPort
from translator.rules.streams import Streams
from translator.rules.tables import Entry
from translator.rules.telemetry import Telemetry

pytestmark = pytest.mark.envoy

TCP, PROVED = Bound(EDGE, 5432), Bound(EDGE, 5433)
ENDS_WITHIN = 60.0
WRITTEN, SOON = Telemetry(stdout="JSON"), ("--file-flush-interval-msec", "20")
UPGRADE = b"GET / HTTP/1.1\r\nhost: any.test\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
PAY = self_signed(dns=["pay.test"])

Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Say whatever is said, after a change of protocol where one is asked for."""
    with suppress(ConnectionError, ssl.SSLError):
        while piece := await reader.read(1024):
            writer.write(SWITCHED if piece.startswith(b"GET ") else piece)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def echoing(folder: Path) -> AsyncIterator[int]:
    server = await asyncio.start_server(_echo, LOOPBACK, 0, ssl=server_tls(PAY, folder))
    async with server:
        yield server.sockets[0].getsockname()[1]


def plans(port: int, told: Telemetry = WRITTEN) -> Plans:
    """Lead requests and connections to one backend that nobody verifies, and connections to a pinned one."""
    service = ServicePort(Name("shop", "pay"), 443)
    requests = Backend(service, Protocol.HTTP, Name("shop", "tls"), weakness=Weakness.UNVERIFIED)
    connections = requests._replace(protocol=Protocol.TCP)
    pinned = connections._replace(policy=Name("shop", "pinned"), weakness=None)
    unverified = UpstreamTls("pay.test", Anybody(), ())
    proved = UpstreamTls("pay.test", PinsAlone(), (), pins=Pins((PAY.key_pin,)))
    at = (Endpoint(LOOPBACK, port),)
    entry = Entry(HttpMatch(PathPrefix("/")), HttpRule(Forward((Share(requests, 1),))), "rule 0")
    return Plans(
        {
            BOUND: Site((LOOPBACK,), 0, HttpPort(TABLE), telemetry=told),
            TCP: Site((LOOPBACK,), 0, TcpPort(Streams((Share(connections, 1),))), telemetry=told),
            PROVED: Site((LOOPBACK,), 0, TcpPort(Streams((Share(pinned, 1),))), telemetry=told),
        },
        {TABLE: {"*": [entry]}},
        (Hop(requests, at, unverified), Hop(connections, at, unverified), Hop(pinned, at, proved)),
    )


def hastened(config: Mapping[str, object]) -> Mapping[str, object]:
    """Let what ends after five minutes, of one cluster and of one listener, end soon after it was used."""
    text = json.dumps(config)
    for field in ("maxStreamDuration", "maxDownstreamConnectionDuration"):
        before, after = f'"{field}": "300s"', f'"{field}": "5s"'
        assert text.count(f'"{field}"') == text.count(before) == 1
        text = text.replace(before, after)
    read: Mapping[str, object] = json.loads(text)
    return read


async def said(connection: Pair, word: bytes) -> bytes:
    reader, writer = connection
    writer.write(word)
    await writer.drain()
    return await reader.read(1024)


async def test_upgraded_requests_and_connections_end_and_proved_ones_last(tmp_path: Path) -> None:
    async with (
        asyncio.timeout(ENDS_WITHIN),
        echoing(tmp_path) as port,
        running_envoy(hastened(runnable(bodies(build(plans(port))))), *SOON) as envoy,
    ):
        upgraded, connected, proved = [
            await asyncio.open_connection(LOOPBACK, await envoy.listener_port(str(each)))
            for each in (BOUND, TCP, PROVED)
        ]
        assert (await said(upgraded, UPGRADE)).startswith(b"HTTP/1.1 101")
        for each in (connected, proved):
            assert await said(each, b"coins") == b"coins"
        for reader, writer in (upgraded, connected):
            assert await reader.read() == b""
            writer.close()
        assert await said(proved, b"more") == b"more"
        proved[1].close()
        assert await verifications(envoy) == {
            str(BOUND): "unverified",
            str(TCP): "unverified",
            str(PROVED): None,
        }


async def test_a_line_of_text_ends_with_what_is_left_out_of_the_proof(tmp_path: Path) -> None:
    expected = {
        "shop/pay:443+tls/unverified": "unverified",
        "shop/pay:443/tcp+tls/unverified": "unverified",
        "shop/pay:443/tcp+pinned": "-",
    }
    async with echoing(tmp_path) as port:
        config = runnable(bodies(build(plans(port, Telemetry(stdout="Text")))))
        async with running_envoy(config, *SOON) as envoy:
            for bound, word in ((BOUND, UPGRADE), (TCP, b"coins"), (PROVED, b"coins")):
                opened = await asyncio.open_connection(LOOPBACK, await envoy.listener_port(str(bound)))
                assert await said(opened, word)
                opened[1].close()

            async def all_there() -> bool:
                return last_words(envoy, expected) == expected

            await until(all_there, within=ENDS_WITHIN)


def last_words(envoy: RunningEnvoy, clusters: Iterable[str]) -> dict[str, str]:
    """Return how the lines end that name a cluster, as far as there are any."""
    lines = [line.split() for line in envoy.log.read_text().splitlines()]
    return {each: line[-1] for each in clusters for line in lines if each in line}


async def verifications(envoy: RunningEnvoy) -> dict[str, str | None]:
    """Return what the access log says of each listener's backend, once it says something of all."""
    read: dict[str, str | None] = {}

    async def all_there() -> bool:
        lines = [line for line in envoy.log.read_text().splitlines() if line.startswith("{")]
        read.update({each["listener"]: each["verification"] for each in map(json.loads, lines)})
        return len(read) == len((BOUND, TCP, PROVED))

    await until(all_there, within=ENDS_WITHIN)
    return read
