"""What clients are granted: a real Envoy keeps to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

import pytest
from msgspec import Struct

from tests.envoy_validate import runnable
from tests.handshakes.acceptor import Pair, accepting
from tests.loopback import LOOPBACK, Backend, ask, http_backend
from tests.real_envoy import RunningEnvoy, running_envoy, until
from tests.translator.envoy.plans import BOUND, TABLE, Hop, Plans, backend, bodies, build
from translator.rules.backends import Protocol, Share
from translator.rules.clients import Manners, Rate
from translator.rules.endpoints import Endpoint
from translator.rules.http_routes import Forward, HttpRule
from translator.rules.matches import HttpMatch, PathPrefix
from translator.rules.ports import HttpPort, Site, TcpPort
from translator.rules.streams import Streams
from translator.rules.tables import Entry
from translator.rules.tries import ONE_TRY, Tries

pytestmark = pytest.mark.envoy
WITHIN = 60.0
POST = "POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n"
END = b"the end"
V1 = b"PROXY TCP4 192.0.2.7 192.0.2.1 1234 80\r\n"
V2 = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + bytes([192, 0, 2, 8, 192, 0, 2, 1, 4, 210, 0, 80])


class Gateway:
    """A port of a Gateway with one backend behind it."""

    def __init__(self, envoy: RunningEnvoy, port: int, told: Backend) -> None:
        self.envoy = envoy
        self.port = port
        self.told = told

    async def says(self, sent: bytes = b"") -> bytes:
        """Send bytes and a request, and return everything that comes until the connection is closed."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self.port)
        try:
            writer.write(sent + b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            return await asyncio.wait_for(reader.read(), WITHIN)
        except ConnectionError:
            return b""
        finally:
            writer.transport.abort()


@asynccontextmanager
async def gateway(manners: Manners, *, passes_on: bool = False) -> AsyncIterator[Gateway]:
    protocol = Protocol.TCP if passes_on else Protocol.HTTP
    share = Share(backend("web", protocol), 1)
    hosts = {TABLE: {"*": [Entry(HttpMatch(PathPrefix("/")), HttpRule(Forward((share,))), "all")]}}
    async with http_backend("web") as told:
        plan = TcpPort(Streams((share,))) if passes_on else HttpPort(TABLE)
        plans = Plans(
            {BOUND: Site((LOOPBACK,), 0, plan, manners=manners)},
            {} if passes_on else hosts,
            (Hop(backend("web", protocol), (Endpoint(LOOPBACK, told.port),)),),
        )
        async with running_envoy(runnable(bodies(build(plans)))) as envoy:
            yield Gateway(envoy, await envoy.listener_port(str(BOUND)), told)


async def test_requests_that_come_too_fast_are_refused_and_reach_nobody() -> None:
    async with gateway(Manners(rate=Rate(holds=3, back=1, every=3_600_000))) as edge:
        given = [(await ask(edge.port)).status for _ in range(5)]
        assert given == [HTTPStatus.OK] * 3 + [HTTPStatus.TOO_MANY_REQUESTS] * 2
        assert len(edge.told.heads) == 3
        grpc = {"content-type": "application/grpc"}
        assert (await ask(edge.port, headers=grpc)).headers["grpc-status"] == "8"


@pytest.mark.parametrize("passes_on", [False, True])
async def test_connections_beyond_the_limit_are_closed_until_one_ends(*, passes_on: bool) -> None:
    async with gateway(Manners(max_connections=1), passes_on=passes_on) as edge:
        _, first = await asyncio.open_connection(LOOPBACK, edge.port)

        async def held() -> bool:
            return (await edge.envoy.stats(f"connection_limit.{BOUND}.")).get(
                f"connection_limit.{BOUND}.active_connections"
            ) == 1

        await until(held)
        assert await edge.says() == b""
        first.close()

        async def served_again() -> bool:
            return b"200 OK" in await edge.says()

        await until(served_again)


async def test_headers_are_refused_that_are_too_many_too_long_or_not_clear() -> None:
    async with gateway(Manners(headers=10, header_kilobytes=1, refuses_underscores=True)) as edge:
        assert (await ask(edge.port, headers={"x-a": "b"})).status == HTTPStatus.OK
        too_many = {f"x-{number}": "a" for number in range(10)}
        assert (await ask(edge.port, headers=too_many)).status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        too_long = {"x-a": "a" * 1024}
        assert (await ask(edge.port, headers=too_long)).status == HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        assert (await ask(edge.port, headers={"x_a": "b"})).status == HTTPStatus.BAD_REQUEST
        assert len(edge.told.heads) == 1


async def test_underscores_are_nobodys_business_unless_asked() -> None:
    async with gateway(Manners()) as edge:
        assert (await ask(edge.port, headers={"x_a": "b"})).status == HTTPStatus.OK
        assert "x_a: b" in edge.told.heads[0]


class Upload(Struct, frozen=True):
    """A port of a Gateway that takes so much, and what has arrived behind it of each request."""

    port: int
    arrived: list[bytearray]

    async def send(self, request: bytes) -> bytes:
        """Send a request, and return everything that comes until the connection is closed."""
        reader, writer = await asyncio.open_connection(LOOPBACK, self.port)
        try:
            writer.write(request)
            return await asyncio.wait_for(reader.read(), WITHIN)
        finally:
            writer.transport.abort()


@asynccontextmanager
async def taking(kilobytes: int) -> AsyncIterator[Upload]:
    """Run a Gateway that takes bodies of so much, before a backend that answers at the end of one."""
    arrived: list[bytearray] = []

    async def store(connection: Pair) -> None:
        reader, writer = connection
        body = bytearray()
        arrived.append(body)
        while END not in body:
            if not (part := await reader.read(65536)):
                return
            body += part
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()

    share = Share(backend("web"), 1)
    rule = HttpRule(Forward((share,)))
    async with accepting(store) as port:
        plans = Plans(
            {BOUND: Site((LOOPBACK,), 0, HttpPort(TABLE), manners=Manners(body_kilobytes=kilobytes))},
            {TABLE: {"*": [Entry(HttpMatch(PathPrefix("/")), rule, "all")]}},
            (Hop(backend("web"), (Endpoint(LOOPBACK, port),)),),
        )
        async with running_envoy(runnable(bodies(build(plans)))) as envoy:
            yield Upload(await envoy.listener_port(str(BOUND)), arrived)


def announced(length: int) -> bytes:
    """Return the head of a request that says how long its body is."""
    return f"{POST}content-length: {length}\r\n\r\n".encode()


def in_pieces(*pieces: bytes) -> bytes:
    """Return a request that does not say so."""
    return f"{POST}transfer-encoding: chunked\r\n\r\n".encode() + b"".join(map(piece, (*pieces, b"")))


def piece(some: bytes) -> bytes:
    """Return a part of a body of unknown length; an empty one is the last."""
    return f"{len(some):x}\r\n".encode() + some + b"\r\n"


async def test_a_body_is_passed_on_that_is_not_larger_than_may_be() -> None:
    async with taking(1) as upload:
        exact = b"a" * (1024 - len(END)) + END
        assert b" 200 OK" in await upload.send(announced(1024) + exact)
        assert b" 200 OK" in await upload.send(in_pieces(exact[:700], exact[700:]))


async def test_a_body_that_is_larger_is_answered_413_before_it_comes_or_once_it_is_too_much() -> None:
    async with taking(1) as upload:
        assert b" 413 " in await upload.send(announced(1025))
        assert upload.arrived == []
        assert b" 413 " in await upload.send(in_pieces(b"a" * 1024, END))
        assert not any(END in each for each in upload.arrived)


async def test_nothing_of_a_body_is_held_back_to_be_counted() -> None:
    async with taking(1) as upload:
        _, writer = await asyncio.open_connection(LOOPBACK, upload.port)
        writer.write(in_pieces(b"begun").removesuffix(piece(b"")))

        async def begun() -> bool:
            return any(b"begun" in each for each in upload.arrived)

        await until(begun)
        writer.transport.abort()


@pytest.mark.parametrize(
    ("manners", "sent", "answered"),
    [
        (Manners(request_headers=200), b"GET / HTTP/1.1\r\n", b"HTTP/1.1 408 "),
        (Manners(idle=200), b"", b""),
    ],
    ids=["half a head", "nothing"],
)
async def test_who_does_not_finish_a_head_or_begin_a_request_is_let_go(
    manners: Manners, sent: bytes, answered: bytes
) -> None:
    async with gateway(manners) as edge:
        reader, writer = await asyncio.open_connection(LOOPBACK, edge.port)
        writer.write(sent)
        told = await asyncio.wait_for(reader.read(), WITHIN)
        assert told[: len(b"HTTP/1.1 408 ")] == answered
        writer.close()


@pytest.mark.parametrize(
    ("tries", "why"),
    [(ONE_TRY, "stream timeout"), (Tries(request=1000), "upstream request timeout")],
    ids=["nothing", "a second"],
)
async def test_silence_ends_a_request_unless_its_route_says_how_long_it_may_take(
    tries: Tries, why: str
) -> None:
    async def say_nothing(connection: Pair) -> None:
        await connection[0].read()

    rule = HttpRule(Forward((Share(backend("web"), 1),), tries=tries))
    async with accepting(say_nothing) as port:
        plans = Plans(
            {BOUND: Site((LOOPBACK,), 0, HttpPort(TABLE), manners=Manners(stream_idle=200))},
            {TABLE: {"*": [Entry(HttpMatch(PathPrefix("/")), rule, "all")]}},
            (Hop(backend("web"), (Endpoint(LOOPBACK, port),)),),
        )
        async with running_envoy(runnable(bodies(build(plans)))) as envoy:
            answer = await ask(await envoy.listener_port(str(BOUND)))
    assert (answer.status, answer.body) == (HTTPStatus.GATEWAY_TIMEOUT, why)


@pytest.mark.parametrize("begun", [V1, V2], ids=["version 1", "version 2"])
async def test_a_balancer_in_front_says_who_the_client_is(begun: bytes) -> None:
    async with gateway(Manners(proxy_protocol="Required")) as edge:
        assert await edge.says() == b""
        assert b"200 OK" in await edge.says(begun)
        [head] = edge.told.heads
        assert f"x-envoy-external-address: 192.0.2.{7 if begun == V1 else 8}\r\n" in head


async def test_where_it_need_not_say_so_connections_speak_for_themselves() -> None:
    async with gateway(Manners(proxy_protocol="Optional")) as edge:
        assert b"200 OK" in await edge.says()
        assert b"200 OK" in await edge.says(V1)
        own, said = edge.told.heads
        assert f"x-envoy-external-address: {LOOPBACK}\r\n" in own
        assert "x-envoy-external-address: 192.0.2.7\r\n" in said


@pytest.mark.parametrize(
    ("hops", "scheme", "address"), [(0, "http", LOOPBACK), (1, "https", "192.0.2.7")], ids=["none", "one"]
)
async def test_a_proxy_in_front_is_believed_where_there_is_one(hops: int, scheme: str, address: str) -> None:
    async with gateway(Manners(trusted_hops=hops)) as edge:
        forwarded = {"x-forwarded-for": "192.0.2.7", "x-forwarded-proto": "https", "x-envoy-internal": "true"}
        assert (await ask(edge.port, headers=forwarded)).status == HTTPStatus.OK
        [head] = edge.told.heads
        assert f"x-forwarded-proto: {scheme}\r\n" in head
        assert f"x-envoy-external-address: {address}\r\n" in head
        assert "x-envoy-internal" not in head
