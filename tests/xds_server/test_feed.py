"""News from one replica to another, on the port that Envoys use: who may follow, and how it ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2

from tests.legation.running import free_port
from tests.looking import SOON
from tests.pki import CLIENT, Authority
from xds_server.admission import Peer, Refusal
from xds_server.feed import METHOD, SERVICE, Feed, Identity, LostError, followed
from xds_server.hub import Hub
from xds_server.service import SERVICE as ADS
from xds_server.service import Address, Proof, Terms, mutual_tls, serving
from xds_server.snapshot import CDS

FIRST = discovery_pb2.DeltaDiscoveryRequest(type_url=CDS, node={"id": "envoy-1", "cluster": "shop/edge"})
NAME = "legation.test"
ROOTS = Authority("the channel")
TERMS = Terms(drain=0.1)
SERVER = ROOTS.issue(dns=[NAME])


def identity(uri: str = "spiffe://legation/replica", by: Authority = ROOTS, name: str = NAME) -> Identity:
    issued = by.issue(uri=[uri], eku=[CLIENT])
    return Identity(issued.chain_pem.encode(), issued.key_pem.encode(), ROOTS.pem.encode(), name)


def refusal(peer: Peer) -> Refusal | None:
    proven = peer.proofs["x509_subject_alternative_name"]
    return None if proven == (b"spiffe://legation/replica",) else Refusal("not a replica")


async def counting() -> AsyncIterator[bytes]:
    yield b"one"
    yield b"two"
    await asyncio.Event().wait()


@asynccontextmanager
async def told(
    news: Callable[[], AsyncIterator[bytes]] = counting, terms: Terms = TERMS
) -> AsyncIterator[str]:
    proof = Proof(SERVER.chain_pem.encode(), SERVER.key_pem.encode(), ROOTS.pem.encode())
    door = Address("127.0.0.1:0", mutual_tls(lambda: proof))
    hub = Hub(lambda _report: None)
    async with serving(hub, [door], terms, Feed(refusal, news)) as [port]:
        yield f"127.0.0.1:{port}"


async def lost(target: str, by: Identity) -> str:
    """Follow, and say why nothing is heard."""
    async with asyncio.timeout(SOON), aclosing(followed(target, by)) as messages:
        with pytest.raises(LostError) as error:
            await anext(messages)
    return str(error.value)


async def test_a_replica_hears_what_is_told_and_that_it_ends_well() -> None:
    async with asyncio.timeout(SOON), AsyncExitStack() as replica:
        target = await replica.enter_async_context(told())
        async with aclosing(followed(target, identity())) as messages:
            assert [await anext(messages), await anext(messages)] == [b"one", b"two"]
            await replica.aclose()
            assert await anext(messages, None) is None


async def test_whoever_is_not_let_in_hears_nothing() -> None:
    async with told() as target:
        envoy = identity("spiffe://legation/ns/infra/gateway/edge")
        assert await lost(target, envoy) == "not a replica"


async def test_without_a_certificate_that_is_believed_there_is_no_connection() -> None:
    async with told() as target:
        assert await lost(target, identity(by=Authority("somebody else")))


async def test_a_server_of_another_name_is_not_believed() -> None:
    async with told() as target:
        assert await lost(target, identity(name="elsewhere.test"))


async def test_where_nobody_listens_that_is_said_at_once() -> None:
    assert "refused" in await lost(f"127.0.0.1:{free_port()}", identity())


async def test_a_follower_that_goes_is_told_nothing_more() -> None:
    ended = asyncio.Event()

    async def news() -> AsyncIterator[bytes]:
        try:
            async for each in counting():
                yield each
        finally:
            ended.set()

    async with asyncio.timeout(SOON), told(news) as target:
        async with aclosing(followed(target, identity())) as messages:
            assert await anext(messages) == b"one"
        await ended.wait()


async def test_a_replica_follows_on_when_the_connections_of_envoys_have_reached_their_age() -> None:
    aged = asyncio.Event()

    async def news() -> AsyncIterator[bytes]:
        yield b"one"
        await aged.wait()
        yield b"two"

    terms = Terms(drain=0.1, longest_connection=0.5, group_of=lambda _node, _peer: "shop/edge")
    async with (
        asyncio.timeout(SOON),
        told(news, terms) as target,
        aclosing(followed(target, identity())) as messages,
    ):
        assert await anext(messages) == b"one"
        assert await envoys_end(target) == grpc.StatusCode.OK
        aged.set()
        assert await anext(messages) == b"two"


async def envoys_end(target: str) -> grpc.StatusCode:
    """Be an Envoy that came later, until it is sent away."""
    shown = identity()
    credentials = grpc.ssl_channel_credentials(shown.server_roots, shown.key, shown.chain)
    named = (("grpc.ssl_target_name_override", NAME),)
    async with grpc.aio.secure_channel(target, credentials, named) as channel:
        stream = channel.stream_stream(f"/{ADS}/DeltaAggregatedResources")()
        await stream.write(FIRST.SerializeToString())
        code: grpc.StatusCode = await stream.code()
        return code


async def test_without_a_feed_nobody_is_told_anything() -> None:
    hub = Hub(lambda _report: None)
    async with (
        serving(hub, [Address("127.0.0.1:0")], Terms(drain=0.0)) as [port],
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        call = channel.unary_stream(f"/{SERVICE}/{METHOD}")(b"")
        assert await asyncio.wait_for(call.code(), SOON) == grpc.StatusCode.UNIMPLEMENTED


def test_a_key_is_not_shown_where_an_identity_is() -> None:
    assert "PRIVATE KEY" not in repr(identity())
