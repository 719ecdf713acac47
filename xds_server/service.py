"""gRPC: the AggregatedDiscoveryService, which only carries; the one module that knows protobuf."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from time import sleep
from typing import TypeVar

import grpc
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf.message import DecodeError
from msgspec import Struct

from xds_server.admission import GroupOf, Node, Peer, Refusal, claimed_group
from xds_server.call import Call, begin, peer_of
from xds_server.feed import Feed, Followers
from xds_server.hub import Hub, Seat
from xds_server.lifetime import Lifetime, connection_options, lifetime
from xds_server.messages import Ask, DeltaAsk, delta_frame, whole_frame
from xds_server.report import Envoy, TurnedAway
from xds_server.turns import Turns

T = TypeVar("T")
SERVICE = "envoy.service.discovery.v3.AggregatedDiscoveryService"
LONGEST_ERROR = 4_096
OWNER_ONLY = 0o177
MOST_WAITING = 20_000  # streams that nobody has heard yet: by itself gRPC sends some away beyond a thousand
UNTIL_BEGUN = 0.2  # seconds; to begin a handshake takes less than a thousandth of that
OPTIONS = (
    ("grpc.so_reuseport", 0),  # a second server on the port is a mistake to be told of
    ("grpc.max_send_message_length", -1),
    ("grpc.http2.min_ping_interval_without_data_ms", 1_000),  # else an idle Envoy's pings end its connection
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.keepalive_time_ms", 30_000),  # finds peers that died without a word
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.server_handshake_timeout_ms", 10_000),  # whoever connects and proves nothing costs no longer
    ("grpc.server.max_pending_requests", MOST_WAITING),
    ("grpc.server.max_pending_requests_hard_limit", MOST_WAITING),
    ("grpc.max_concurrent_streams", 100),  # of one connection, where an Envoy has one
)


class Address(Struct, frozen=True):
    """Where to listen: `unix:PATH` or HOST:PORT, in plaintext unless credentials are given."""

    target: str
    credentials: grpc.ServerCredentials | None = None


class Proof(Struct, frozen=True):
    """What the server proves itself with, and whose Envoys it believes; all PEM."""

    chain: bytes
    key: bytes
    client_roots: bytes


class Terms(Struct, frozen=True):
    """How the server names itself, whom it admits, and how it says goodbye; times in seconds.

    Whom it admits is asked again whenever something is about to be sent: who was once let in may be shut out.
    """

    control_plane: str = "legation"
    group_of: GroupOf = claimed_group
    drain: float = 3.0
    silence: float = 15.0  # from opening a stream to its first request, which says whose it is
    longest_connection: float | None = None  # after at most this, Envoys spread anew over replicas


class Said(Struct, frozen=True):
    """One request, with the node if it names one."""

    ask: Ask | DeltaAsk
    node: Node | None


class Ended(Struct, frozen=True):
    """Why we end a stream, in words and in gRPC's terms."""

    code: grpc.StatusCode
    reason: str


TERMS = Terms()


@asynccontextmanager
async def serving(
    hub: Hub, addresses: Sequence[Address], terms: Terms = TERMS, feed: Feed | None = None
) -> AsyncIterator[list[int]]:
    """Serve while the block runs; yields the port of each address, which for a socket file means nothing."""
    conversations = Conversations(hub, terms)
    followers = Followers(feed) if feed is not None else None
    server = grpc.aio.server(options=(*OPTIONS, *connection_options(terms.longest_connection)))
    methods = {
        "StreamAggregatedResources": conversations.whole,
        "DeltaAggregatedResources": conversations.delta,
    }
    handlers = {name: grpc.stream_stream_rpc_method_handler(method) for name, method in methods.items()}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    if followers is not None:
        server.add_generic_rpc_handlers((followers.handler(),))
    ports = [_bind(server, address) for address in addresses]
    await server.start()
    try:
        yield ports
    finally:
        async with asyncio.TaskGroup() as goodbye:
            goodbye.create_task(server.stop(terms.drain + 1))  # no new stream from here on
            goodbye.create_task(_dismiss(conversations, followers, terms.drain))


async def _dismiss(conversations: "Conversations", followers: Followers | None, within: float) -> None:
    """End what is open; who follows us does so until the last Envoy is gone."""
    await conversations.dismiss(within)
    if followers is not None:
        followers.dismiss()


def mutual_tls(proof: Callable[[], Proof]) -> grpc.ServerCredentials:
    """Demand a certificate of every client of one port; the proof is asked for at each handshake.

    gRPC frees the proof that it has when it is given another, even while a second thread begins a handshake
    by it, and crashes (grpc/grpc#36693). So it is given one only where something is new, and once those who
    had begun went on: until then nobody else begins.
    """
    held = proof()

    def news() -> grpc.ServerCertificateConfiguration | None:
        nonlocal held
        now = proof()
        if now == held:
            return None
        held = now
        sleep(UNTIL_BEGUN)
        return _shown(now)

    return grpc.dynamic_ssl_server_credentials(_shown(held), news, require_client_authentication=True)


def _shown(proof: Proof) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(proof.key, proof.chain)], proof.client_roots)


def _bind(server: grpc.aio.Server, address: Address) -> int:
    before = os.umask(OWNER_ONLY)  # a socket file is made while binding; nobody may slip in before a chmod
    try:
        if address.credentials is None:
            return int(server.add_insecure_port(address.target))
        return int(server.add_secure_port(address.target, address.credentials))
    finally:
        os.umask(before)


class Conversations:
    """Every open stream: admitted, carried, and ended together when the server goes."""

    def __init__(self, hub: Hub, terms: Terms) -> None:
        self._hub = hub
        self._terms = terms
        self._turns = Turns()
        self._speaking: set[asyncio.Task[Ended | None]] = set()

    async def whole(self, _requests: object, call: Call) -> None:
        """Carry a state-of-the-world stream."""
        await self._converse(call, whole=True)

    async def delta(self, _requests: object, call: Call) -> None:
        """Carry a delta stream."""
        await self._converse(call, whole=False)

    async def dismiss(self, within: float) -> None:
        """End the open streams one after the other, so that their Envoys do not all call again at once."""
        speaking = list(self._speaking)
        for task in speaking:
            task.cancel()
            await asyncio.sleep(within / len(speaking))

    async def _converse(self, call: Call, *, whole: bool) -> None:
        opening = await self._opening(call, whole=whole)
        ended = await self._carry(opening, call, whole=whole) if isinstance(opening, Said) else opening
        if ended is not None:
            node = (opening.node if isinstance(opening, Said) else None) or Node("", "")
            self._hub.told(TurnedAway(node.cluster, node.id, ended.reason))
            await call.abort(ended.code, ended.reason)

    async def _opening(self, call: Call, *, whole: bool) -> Said | Ended | None:
        """Hear the first request: until then a stream counts as nobody's, so that none stays so for long."""
        try:
            async with asyncio.timeout(self._terms.silence):
                raw = await call.read()
        except TimeoutError:
            return Ended(grpc.StatusCode.DEADLINE_EXCEEDED, "the first request did not come in time")
        return None if raw is grpc.aio.EOF else _said(raw, whole=whole)

    async def _carry(self, opening: Said, call: Call, *, whole: bool) -> Ended | None:
        peer = peer_of(call)
        admit = partial(self._group, opening.node, peer)
        group = admit()
        if isinstance(group, Ended):
            return group
        wake = asyncio.Event()
        seat = self._hub.join(group, peer.address, whole=whole, wake=wake.set)
        if isinstance(seat, Refusal):
            return Ended(grpc.StatusCode.RESOURCE_EXHAUSTED, seat.reason)
        try:
            await begin(call)
            stays = lifetime(seat.since, self._terms.longest_connection)
            conversation = Conversation(self._hub, seat, wake, call, admit, stays, self._turns)
            return await self._talk(conversation, opening.ask)
        finally:
            self._hub.leave(seat)

    def _group(self, node: Node | None, peer: Peer) -> Envoy | Ended:
        if node is None:
            return Ended(grpc.StatusCode.INVALID_ARGUMENT, "the first request must say its node")
        group = self._terms.group_of(node, peer)
        if isinstance(group, Refusal):
            return Ended(grpc.StatusCode.PERMISSION_DENIED, group.reason)
        return Envoy(group, node.id)

    async def _talk(self, conversation: "Conversation", opening: Ask | DeltaAsk) -> Ended | None:
        try:
            done = await self._both_ways(conversation, opening)
        except asyncio.CancelledError as gone:
            gone.__traceback__ = None  # of which frames are parts that refer to it: all held here would stay
            raise
        ends = (task.result() for task in done if not task.cancelled())
        return next((end for end in ends if end is not None), None)

    async def _both_ways(
        self, conversation: "Conversation", opening: Ask | DeltaAsk
    ) -> set[asyncio.Task[Ended | None]]:
        async with asyncio.TaskGroup() as tasks:
            speaking: asyncio.Task[Ended | None]
            listening = tasks.create_task(conversation.listen(opening))  # first, so that there is a question
            speaking = tasks.create_task(conversation.speak(self._terms.control_plane))
            self._speaking.add(speaking)
            speaking.add_done_callback(self._speaking.discard)
            done, _ = await asyncio.wait((speaking, listening), return_when=asyncio.FIRST_COMPLETED)
            speaking.cancel()
            listening.cancel()
        return done


class Conversation(Struct, frozen=True):
    """One open stream, between its seat in the hub and its gRPC call."""

    hub: Hub
    seat: Seat
    wake: asyncio.Event
    call: Call
    admitted: Callable[[], Envoy | Ended]
    stays: Lifetime
    turns: Turns

    async def listen(self, opening: Ask | DeltaAsk) -> Ended | None:
        """Take requests in until the client has said all, or too much."""
        ended = await self._in_turn(partial(self._hear, opening))
        while ended is None and (raw := await self.call.read()) is not grpc.aio.EOF:
            ended = await self._in_turn(partial(self._read, raw))
        return ended

    async def _in_turn(self, work: Callable[[], T]) -> T:
        return await self.turns.do(work, self.seat.stream.envoy.group)

    def _read(self, raw: bytes) -> Ended | None:
        said = _said(raw, whole=self.seat.whole)
        return said if isinstance(said, Ended) else self._hear(said.ask)

    def _hear(self, ask: Ask | DeltaAsk) -> Ended | None:
        if isinstance(admitted := self.admitted(), Ended):  # nobody may look while an answer is not read
            return admitted
        refusal = self.hub.receive(self.seat, ask)
        self.wake.set()
        return Ended(grpc.StatusCode.RESOURCE_EXHAUSTED, refusal.reason) if refusal is not None else None

    async def speak(self, control_plane: str) -> Ended | None:
        """Send the newest whenever the client has room, until it is shut out or was here for long enough."""
        with suppress(grpc.aio.InternalError):  # the client went while we wrote
            while True:
                self.wake.clear()
                answer = await self._in_turn(partial(self._next, control_plane))
                match answer:
                    case bytes():
                        await self.call.write(answer)
                    case Ended():
                        return answer
                    case None:
                        if self.stays.is_over(self.hub.clock(), settled=self.seat.stream.is_settled):
                            return None
                        await self._doze()
        return None

    def _next(self, control_plane: str) -> bytes | Ended | None:
        """Make the next answer, if it is still admitted then: to write the last may have taken for ever."""
        if isinstance(admitted := self.admitted(), Ended):
            return admitted
        response = self.hub.next(self.seat)
        if response is None:
            return None
        message = (whole_frame if self.seat.whole else delta_frame)(response, control_plane)
        self.hub.sent(self.seat, response, len(message))
        return message

    async def _doze(self) -> None:
        """Wait for news, but not for longer than until something is due without any."""
        now = self.hub.clock()
        times = (self.seat.stream.wake_at, self.stays.next_look(now))
        until = min((each for each in times if each is not None), default=None)
        with suppress(TimeoutError):
            async with asyncio.timeout(None if until is None else until - now):
                await self.wake.wait()


def _said(raw: bytes, *, whole: bool) -> Said | Ended:
    try:
        said = _whole(raw) if whole else _delta(raw)
    except DecodeError:
        return Ended(grpc.StatusCode.INVALID_ARGUMENT, "not a discovery request")
    if not said.ask.type_url:
        return Ended(grpc.StatusCode.INVALID_ARGUMENT, "a request must say its type URL")
    if said.node is not None and not said.node.is_readable:
        return Ended(grpc.StatusCode.INVALID_ARGUMENT, "node.id and node.cluster must be short and printable")
    return said


def _whole(raw: bytes) -> Said:
    request = discovery_pb2.DiscoveryRequest.FromString(raw)
    names = tuple(request.resource_names)
    ask = Ask(request.type_url, names, request.version_info, request.response_nonce, _error(request))
    return Said(ask, _node(request))


def _delta(raw: bytes) -> Said:
    request = discovery_pb2.DeltaDiscoveryRequest.FromString(raw)
    ask = DeltaAsk(
        type_url=request.type_url,
        subscribe=tuple(request.resource_names_subscribe),
        unsubscribe=tuple(request.resource_names_unsubscribe),
        versions=dict(request.initial_resource_versions),
        nonce=request.response_nonce,
        error=_error(request),
    )
    return Said(ask, _node(request))


def _error(request: discovery_pb2.DiscoveryRequest | discovery_pb2.DeltaDiscoveryRequest) -> str | None:
    """Take the words of a refusal, and nothing that a terminal would obey."""
    words = request.error_detail.message[:LONGEST_ERROR]
    shown = "".join(each if each.isprintable() or each == "\n" else " " for each in words)
    return shown if request.HasField("error_detail") else None


def _node(request: discovery_pb2.DiscoveryRequest | discovery_pb2.DeltaDiscoveryRequest) -> Node | None:
    return Node(request.node.id, request.node.cluster) if request.HasField("node") else None
