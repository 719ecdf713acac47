"""The xDS port, attacked by whoever reaches it, and by whoever holds the identity of one Gateway."""

import asyncio
import importlib
import pkgutil
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from typing import BinaryIO

import envoy.service
import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.descriptor import FileDescriptor

from legation.channel.identity import proven_group
from tests.pki import CLIENT, SERVER, Authority, Issued, Wish, self_signed
from tests.security.door import (
    DELTA,
    OURS,
    OWN_KEY,
    OWN_SECRET,
    THEIR_KEY,
    THEIR_SECRET,
    THEIRS,
    WHOLE,
    WITHIN,
    Door,
    Talk,
    door,
    ended,
    lapsed,
    uri_of,
)
from xds_server.admission import LONGEST_CLAIM
from xds_server.hub import Hub
from xds_server.report import TurnedAway
from xds_server.service import SERVICE, Address, Terms, serving
from xds_server.snapshot import CDS, EDS, LDS, RDS, SDS, Snapshot


def literals(headers: Mapping[bytes, bytes]) -> bytes:
    """Write headers as literals that no table remembers."""
    return b"".join(
        bytes([0, len(name)]) + name + bytes([len(value)]) + value for name, value in headers.items()
    )


BOTH = pytest.mark.parametrize("method", [WHOLE, DELTA], ids=["whole", "delta"])
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS, PING = 1, 3, 4, 6
END_OF_HEADERS, CANCELLED = 4, struct.pack(">I", 8)
OPENING = literals({
    b":method": b"POST",
    b":scheme": b"http",
    b":path": f"/{SERVICE}/{DELTA}".encode(),
    b"content-type": b"application/grpc",
})  # fmt: skip
PINGS = 3
ASKED_NOTHING = {"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"} | {
    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo" for version in ("v1", "v1alpha")
} | {
    f"/grpc.channelz.v1.Channelz/{method}" for method in ("GetServers", "GetTopChannels", "GetSocket")
}  # fmt: skip


@pytest.fixture
async def port() -> AsyncIterator[Door]:
    async with door() as opened:
        yield opened


@BOTH
@pytest.mark.parametrize(
    "names", [(THEIR_SECRET,), ("*",), (), ("*", THEIR_SECRET), (f"{THEIR_SECRET}\0",), ("certificate/*",)]
)
async def test_no_way_of_asking_gives_the_secret_of_another_gateway(
    port: Door, method: str, names: tuple[str, ...]
) -> None:
    async with port.channel(port.identity()) as channel:
        talk = Talk(channel, method)
        await talk.say(SDS, *names, node=OURS)
        await talk.say(CDS)
        await talk.hear_until(OURS.encode())
        await talk.say(SDS, *names, OWN_SECRET)
        await talk.hear_until(OWN_KEY)
    assert THEIR_KEY not in talk.bytes


async def test_a_secret_of_another_gateway_is_as_absent_as_one_that_never_was(port: Door) -> None:
    async with port.channel(port.identity()) as channel:
        talk = Talk(channel, DELTA)
        await talk.say(SDS, THEIR_SECRET, node=OURS)
        there = await talk.hear()
        await talk.say(SDS, THEIR_SECRET.replace("door", "none"))
        never = await talk.hear()
    assert (there.names, there.removed) == ((), (THEIR_SECRET,))
    assert (never.names, never.removed) == ((), (THEIR_SECRET.replace("door", "none"),))


@BOTH
async def test_a_secret_that_changes_later_is_not_pushed_to_those_who_guessed_its_name(
    port: Door, method: str
) -> None:
    async with port.channel(port.identity()) as channel:
        talk = Talk(channel, method)
        await talk.say(SDS, THEIR_SECRET, OWN_SECRET, node=OURS)
        await talk.hear()
        port.hub.publish(THEIRS, Snapshot.of({SDS: {}}))
        await talk.say(CDS)
        await talk.hear()
    assert THEIR_KEY not in talk.bytes


@BOTH
async def test_an_envoy_that_becomes_another_while_it_speaks_stays_who_it_was(
    port: Door, method: str
) -> None:
    async with port.channel(port.identity()) as channel:
        talk = Talk(channel, method)
        await talk.say(CDS, node=OURS)
        await talk.hear()
        for type_url, name in ((CDS, "*"), (SDS, THEIR_SECRET), (EDS, "any"), (RDS, "any"), (LDS, "*")):
            await talk.say(type_url, name, node=THEIRS)
        await talk.say(SDS, THEIR_SECRET, OWN_SECRET, node=THEIRS)
        await talk.hear_until(OWN_KEY)
    assert THEIR_KEY not in talk.bytes
    assert THEIRS.encode() not in talk.bytes.replace(THEIR_SECRET.encode(), b"")


@pytest.mark.parametrize(
    "claimed", [THEIRS, "infra/edge/", "INFRA/EDGE", " infra/edge", "infra/edge2", "*/*"]
)
async def test_a_claim_that_the_certificate_does_not_prove_gets_nothing(port: Door, claimed: str) -> None:
    assert await port.refusal(port.identity(), claimed) == grpc.StatusCode.PERMISSION_DENIED


STRANGERS: Mapping[str, Callable[[Authority], Issued | None]] = {
    "no certificate": lambda _: None,
    "its own word": lambda _: self_signed(uri=[uri_of(OURS)], eku=[CLIENT]),
    "another authority of the same name": lambda _: Authority("legation").issue(
        uri=[uri_of(OURS)], eku=[CLIENT]
    ),
    "one that lapsed": lambda at: at.issue(**lapsed(uri_of(OURS))),
    "one for servers": lambda at: at.issue(uri=[uri_of(OURS)], eku=[SERVER]),
}
PROVES_NOTHING: Mapping[str, Wish] = {
    "another trust domain": {"uri": ["spiffe://elsewhere/ns/infra/gateway/edge"]},
    "a path that ends later": {"uri": [f"{uri_of(OURS)}/more"]},
    "a query": {"uri": [f"{uri_of(OURS)}?x"]},
    "letters of another case": {"uri": [uri_of(OURS).upper()]},
    "a Gateway of another namespace": {"uri": [uri_of(THEIRS)]},
    "two Gateways": {"uri": [uri_of(OURS), uri_of(THEIRS)]},
    "a host that is called so": {"dns": [uri_of(OURS)]},
    "a subject that is called so": {"common_name": uri_of(OURS)},
    "a replica": {"uri": ["spiffe://legation/replica"]},
    "nobody": {},
}


@pytest.mark.parametrize("shown", STRANGERS)
async def test_who_shows_no_certificate_of_ours_does_not_get_through_the_handshake(
    port: Door, shown: str
) -> None:
    assert await port.refusal(STRANGERS[shown](port.authority), OURS) == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("proven", PROVES_NOTHING)
async def test_a_certificate_of_ours_that_names_not_just_this_gateway_gets_nothing(
    port: Door, proven: str
) -> None:
    wish: Wish = {**PROVES_NOTHING[proven], "eku": [CLIENT]}
    shown = port.authority.issue(**wish)
    assert await port.refusal(shown, OURS) == grpc.StatusCode.PERMISSION_DENIED


async def test_plaintext_gets_nothing_from_a_port_that_is_guarded(port: Door) -> None:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port.port}") as channel:
        assert await ended(channel, OURS) == grpc.StatusCode.UNAVAILABLE
    reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
    writer.write(PREFACE + frame(SETTINGS) + b"GET / HTTP/1.1\r\n\r\n")
    async with asyncio.timeout(WITHIN):
        answered = await reader.read()
    writer.close()
    assert all(word not in answered for word in (b"HTTP", b"grpc", b"legation"))
    assert port.reports == []


def methods() -> Iterator[str]:
    """Name every method of every service that Envoy's API has, and of those that gRPC servers may have."""
    for found in pkgutil.walk_packages(envoy.service.__path__, "envoy.service."):
        if found.name.endswith("_pb2"):
            described: FileDescriptor = importlib.import_module(found.name).DESCRIPTOR
            for service in described.services_by_name.values():
                yield from (f"/{service.full_name}/{method.name}" for method in service.methods)
    yield from ASKED_NOTHING


async def test_nothing_is_served_but_the_two_streams_to_whomever(port: Door) -> None:
    every = {*methods()}
    served = {f"/{SERVICE}/{method}" for method in (WHOLE, DELTA)}
    assert served < every
    assert any("Fetch" in method for method in every)
    request = discovery_pb2.DiscoveryRequest(type_url=SDS, resource_names=[OWN_SECRET])
    request.node.id, request.node.cluster = "stranger", OURS
    async with port.channel(port.identity()) as channel:
        for method in sorted(every - served):
            call = channel.unary_unary(method)(request.SerializeToString())
            async with asyncio.timeout(WITHIN):
                assert await call.code() == grpc.StatusCode.UNIMPLEMENTED, method


@BOTH
async def test_enormous_metadata_and_thousands_of_unknown_types_disturb_nobody(
    port: Door, method: str
) -> None:
    async with port.channel(port.identity()) as channel:
        odd, plain = Talk(channel, method), Talk(channel, method)
        await plain.say(CDS, node=OURS)
        await plain.hear()
        kind = discovery_pb2.DeltaDiscoveryRequest if odd.delta else discovery_pb2.DiscoveryRequest
        first = kind(type_url=CDS)
        first.node.id, first.node.cluster = "stranger", OURS
        first.node.metadata["role"] = "x" * (3 << 20)
        await odd.stream.write(first.SerializeToString())
        await odd.say(CDS)
        await odd.hear()
        for number in range(2_000):
            await odd.say(f"type.googleapis.com/unknown.Number{number}", "name", nonce=f"never {number}")
        await odd.say(SDS, OWN_SECRET)
        await plain.say(SDS, OWN_SECRET)
        for talk in (odd, plain):
            await talk.hear_until(OWN_KEY)
    assert all(one.envoy.group == OURS for one in port.hub.connected())


@BOTH
@pytest.mark.parametrize("claim", ["x" * (LONGEST_CLAIM + 1), "\x1b]0;owned\x07", "edge\n{}", "\u202e/x"])
async def test_a_claim_that_no_terminal_should_show_is_neither_served_nor_repeated(
    port: Door, method: str, claim: str
) -> None:
    async with port.channel(port.identity()) as channel:
        talk = Talk(channel, method)
        await talk.say(CDS, node=claim)
        async with asyncio.timeout(WITHIN):
            assert await talk.stream.code() == grpc.StatusCode.INVALID_ARGUMENT
    [report] = port.reports
    assert isinstance(report, TurnedAway)
    assert (report.group, report.node) == ("", "")


@BOTH
async def test_a_stream_that_is_opened_and_left_is_ended(method: str) -> None:
    async with (
        door(Terms(group_of=proven_group, drain=0.0, silence=0.2)) as port,
        port.channel(port.identity()) as channel,
    ):
        calls = [channel.stream_stream(f"/{SERVICE}/{method}")() for _ in range(20)]
        async with asyncio.timeout(WITHIN):
            ends = [await call.code() for call in calls]
    assert set(ends) == {grpc.StatusCode.DEADLINE_EXCEEDED}


async def test_a_connection_that_never_shakes_hands_is_closed(port: Door) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port.port)
    writer.write(b"\x16\x03\x01\x02\x00")  # a handshake begins, and its rest never comes
    async with asyncio.timeout(60):
        assert await reader.read() == b""
    writer.close()


def frame(kind: int, body: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    """Write one frame of HTTP/2, about the whole connection unless a stream is named."""
    return struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body


async def kind_of_frame(reader: asyncio.StreamReader) -> int:
    """Take one frame in, and say its kind."""
    heading = await reader.readexactly(9)
    await reader.readexactly(int.from_bytes(heading[:3]))
    return heading[3]


@asynccontextmanager
async def served_beside(stranger: bytes) -> AsyncIterator[asyncio.StreamReader]:
    """Have an honest Envoy be served, before and after a stranger began to speak HTTP/2 beside it."""
    hub = Hub(lambda _report: None)
    hub.publish(OURS, Snapshot.of({CDS: {}}))
    async with (
        serving(hub, [Address("127.0.0.1:0")], Terms(drain=0.0)) as [number],
        grpc.aio.insecure_channel(f"127.0.0.1:{number}") as channel,
    ):
        talk = Talk(channel, DELTA)
        await talk.say(CDS, node=OURS)
        await talk.hear()
        reader, writer = await asyncio.open_connection("127.0.0.1", number)
        writer.write(PREFACE + frame(SETTINGS) + stranger)
        yield reader
        await talk.say(SDS, "nothing")
        assert (await talk.hear()).removed == ("nothing",)
        writer.transport.abort()


async def test_a_flood_of_pings_ends_its_own_connection_and_no_other() -> None:
    async with served_beside(frame(PING, b"\0" * 8) * 1_000) as reader, asyncio.timeout(WITHIN):
        with suppress(ConnectionError):
            while await reader.read(1 << 16):
                pass


async def test_a_flood_of_settings_delays_no_other() -> None:
    async with served_beside(frame(SETTINGS) * 2_000_000):
        pass


async def test_a_connection_carries_so_many_streams_at_once_and_no_more() -> None:
    opened = b"".join(frame(HEADERS, OPENING, END_OF_HEADERS, number) for number in range(1, 20_001, 2))
    refused = 0
    async with served_beside(opened) as reader, asyncio.timeout(WITHIN):
        while refused < 9_000:
            refused += await kind_of_frame(reader) == RST_STREAM


def crowd(port: int) -> set[int]:
    """Open 2,000 streams from 20 connections; say by which kinds of frames they were answered at once."""
    opening = OPENING + literals({b":authority": b"legation", b"te": b"trailers"})
    streams = b"".join(frame(HEADERS, opening, END_OF_HEADERS, number) for number in range(1, 200, 2))
    kinds = set[int]()
    with ExitStack() as connections:
        made = [connections.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(20)]
        for each in made:
            each.settimeout(WITHIN)
            each.sendall(PREFACE + frame(SETTINGS) + streams)
        answers = [(each, connections.enter_context(each.makefile("rb"))) for each in made]
        for _ in range(PINGS):  # whoever was asked so often has taken in what came before, and said so
            for connection, read in answers:
                connection.sendall(frame(PING, b"all said"))
                kinds |= until_ping(read)
    return kinds


def until_ping(read: BinaryIO) -> set[int]:
    """Take frames in until a ping is answered; say of which kinds."""
    kinds, body = set[int](), b""
    while body != b"all said":
        heading = read.read(9)
        kinds.add(heading[3])
        body = read.read(int.from_bytes(heading[:3]))
    return kinds


async def test_of_thousands_who_come_at_once_none_is_sent_away_unheard() -> None:
    async with serving(Hub(lambda _report: None), [Address("127.0.0.1:0")], Terms(drain=0.0)) as [port]:
        assert RST_STREAM not in crowd(port)  # meanwhile the event loop, which would hear them, has no turn


async def test_streams_that_are_taken_back_as_soon_as_they_are_opened_delay_no_other() -> None:
    taken_back = b"".join(
        frame(HEADERS, OPENING, END_OF_HEADERS, number) + frame(RST_STREAM, CANCELLED, stream=number)
        for number in range(1, 100_001, 2)
    )
    async with served_beside(taken_back):
        pass
