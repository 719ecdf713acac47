"""A stream of news from one replica to another, on the port that Envoys use: bytes, whatever they mean."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import suppress

import grpc
from msgspec import Struct

from xds_server.admission import Peer, Refusal
from xds_server.call import Call, begin, peer_of

SERVICE, METHOD = "legation.v1.Replicas", "Follow"
LONGEST_MESSAGE = 16 << 20
OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),  # else a connection with an older identity is used again
    ("grpc.enable_http_proxy", 0),
    ("grpc.max_receive_message_length", LONGEST_MESSAGE),
    ("grpc.keepalive_time_ms", 10_000),  # finds a replica that died without a word
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.min_reconnect_backoff_ms", 3_000),  # which is also the longest wait for a connection
)


class Feed(Struct, frozen=True):
    """What is told to whoever is let in, for as long as they listen."""

    refusal: Callable[[Peer], Refusal | None]
    told: Callable[[], AsyncIterator[bytes]]


class Identity(Struct, frozen=True):
    """What a follower proves itself with, and what the other end must prove; all PEM."""

    chain: bytes
    key: bytes
    server_roots: bytes
    server_name: str

    def __repr__(self) -> str:
        """Say whom it expects; the key stays unsaid."""
        return f"Identity(towards {self.server_name})"


class LostError(Exception):
    """The other end cannot be heard, or no longer; says why."""


class Followers:
    """Everybody who follows a feed."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._speaking: set[asyncio.Task[None]] = set()

    def handler(self) -> grpc.GenericRpcHandler:
        """Give what a server answers calls by."""
        method = grpc.unary_stream_rpc_method_handler(self.follow)
        return grpc.method_handlers_generic_handler(SERVICE, {METHOD: method})

    async def follow(self, _request: bytes, call: Call) -> None:
        """Tell one follower what there is to tell, until it goes or we do."""
        refusal = self._feed.refusal(peer_of(call))
        if refusal is not None:
            await call.abort(grpc.StatusCode.PERMISSION_DENIED, refusal.reason)
        await begin(call)
        async with asyncio.TaskGroup() as tasks:
            speaking = tasks.create_task(self._speak(call))
            self._speaking.add(speaking)
            speaking.add_done_callback(self._speaking.discard)

    def dismiss(self) -> None:
        """End every stream in good order."""
        for task in list(self._speaking):
            task.cancel()

    async def _speak(self, call: Call) -> None:
        with suppress(grpc.aio.InternalError):  # the follower went while we wrote
            async for message in self._feed.told():
                await call.write(message)


async def followed(target: str, identity: Identity) -> AsyncGenerator[bytes]:
    """Follow the feed at an address; ends when the other end says goodbye, and raises if it is lost."""
    options = (*OPTIONS, ("grpc.ssl_target_name_override", identity.server_name))
    credentials = grpc.ssl_channel_credentials(identity.server_roots, identity.key, identity.chain)
    async with grpc.aio.secure_channel(target, credentials, options) as channel:
        try:
            async for message in channel.unary_stream(f"/{SERVICE}/{METHOD}")(b""):
                yield message
        except grpc.aio.AioRpcError as error:
            raise LostError(error.details() or error.code().name) from error
