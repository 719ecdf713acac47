"""Real gRPC streams to a real server in one process: what carries, what ends, what it costs the others."""

import asyncio
import gc
import stat
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from time import monotonic, sleep

import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

from tests.looking import SOON, eventually
from tests.pki import CLIENT, Authority
from tests.xds_server.honest_envoy import GROUP, cluster, plain
from tests.xds_server.pinger import DismissedError, Pinger, pinger
from xds_server import wire
from xds_server.admission import GroupOf, Limits, Node, Peer, Refusal
from xds_server.hub import Hub
from xds_server.report import Accepted, Report, Sent, TurnedAway
from xds_server.service import SERVICE, Address, Terms, serving
from xds_server.snapshot import CDS, EDS, LDS, SDS, Resource, Snapshot
from xds_server.turns import SLICE

PINGS, PACE = 7, 1.1  # more than gRPC bears with of those that come too soon; seconds between them
UNLIMITED = (("grpc.max_receive_message_length", -1),)
OWN_CONNECTION = (("grpc.use_local_subchannel_pool", 1),)
AGE = 20.0  # seconds that a stream is kept at most
CONNECTIONS, STREAMS = 10, 100  # the most that one connection may have
WHOLE, DELTA = "StreamAggregatedResources", "DeltaAggregatedResources"
BOTH = pytest.mark.parametrize("method", [WHOLE, DELTA], ids=["whole", "delta"])
TERMS = Terms(control_plane="legation-0/test", drain=0.0)


class Served(Struct, frozen=True):
    """A running server, with what it reported."""

    hub: Hub
    channel: grpc.aio.Channel
    reports: list[Report]

    def publish(self, **named: dict[str, Resource]) -> None:
        kinds = {"cds": CDS, "eds": EDS, "sds": SDS, "lds": LDS}
        offered = {kinds[kind]: resources for kind, resources in named.items()}
        self.hub.publish(GROUP, Snapshot.of(offered, self.hub.snapshot(GROUP)))

    def call(self, method: str) -> "Call":
        return Call(self.channel.stream_stream(f"/{SERVICE}/{method}")(), method)


class Call:
    """The client's end of one stream."""

    def __init__(self, stream: grpc.aio.StreamStreamCall, method: str) -> None:
        self.stream = stream
        self.delta = method == DELTA

    async def say(self, type_url: str, *names: str, node: str | None = GROUP, nonce: str = "") -> None:
        if self.delta:
            delta = discovery_pb2.DeltaDiscoveryRequest(type_url=type_url, response_nonce=nonce)
            delta.resource_names_subscribe.extend(names)
            request = delta
        else:
            request = discovery_pb2.DiscoveryRequest(type_url=type_url, response_nonce=nonce)
            request.resource_names.extend(names)
        if node is not None:
            request.node.id, request.node.cluster = "envoy-1", node
        await self.stream.write(request.SerializeToString())

    async def hear(self) -> discovery_pb2.DiscoveryResponse | discovery_pb2.DeltaDiscoveryResponse:
        kind = discovery_pb2.DeltaDiscoveryResponse if self.delta else discovery_pb2.DiscoveryResponse
        return kind.FromString(await asyncio.wait_for(self.stream.read(), SOON))

    async def bodies(self) -> list[bytes]:
        response = await self.hear()
        return [(each.resource if self.delta else each).value for each in response.resources]

    async def end(self) -> tuple[grpc.StatusCode, str]:
        code = await asyncio.wait_for(self.stream.code(), SOON)
        return code, await self.stream.details()


@asynccontextmanager
async def served(
    terms: Terms = TERMS, limits: Limits | None = None, clock: Callable[[], float] = monotonic
) -> AsyncIterator[Served]:
    reports: list[Report] = []
    hub = Hub(reports.append, limits=limits or Limits(), clock=clock)
    async with (
        serving(hub, [Address("127.0.0.1:0")], terms) as [port],
        grpc.aio.insecure_channel(f"127.0.0.1:{port}", UNLIMITED) as channel,
    ):
        yield Served(hub, channel, reports)


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as running:
        running.publish(cds={"a": cluster("v1")}, sds={"s": plain("v1")})
        yield running


@BOTH
async def test_an_envoy_is_served_over_grpc(server: Served, method: str) -> None:
    call = server.call(method)
    await call.say(CDS)
    assert await call.bodies() == [cluster("v1").body]
    server.publish(cds={"a": cluster("v2")})
    await call.say(CDS, nonce="unknown")
    first = server.hub.connected()[0]
    assert (first.envoy.group, first.envoy.node) == (GROUP, "envoy-1")


@pytest.mark.rule(52)
@BOTH
async def test_every_response_says_which_control_plane_sent_it(server: Served, method: str) -> None:
    call = server.call(method)
    await call.say(CDS)
    await call.say(SDS, "s")
    heard = [await call.hear(), await call.hear()]
    assert {response.control_plane.identifier for response in heard} == {"legation-0/test"}
    assert {response.type_url for response in heard} == {CDS, SDS}


@pytest.mark.rule(17)
@BOTH
async def test_only_the_first_request_must_say_the_node(server: Served, method: str) -> None:
    call = server.call(method)
    await call.say(CDS)
    await call.hear()
    await call.say(SDS, "s", node=None)
    assert await call.bodies() == [b"v1"]


@pytest.mark.rule(68)
@BOTH
async def test_a_stream_that_does_not_say_who_it_is_is_ended(server: Served, method: str) -> None:
    call = server.call(method)
    await call.say(CDS, node=None)
    assert (await call.end())[0] == grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.rule(68)
@BOTH
async def test_a_request_without_a_type_is_refused(server: Served, method: str) -> None:
    call = server.call(method)
    await call.say("")
    assert (await call.end())[0] == grpc.StatusCode.INVALID_ARGUMENT


def all_but(shut_out: Collection[str]) -> GroupOf:
    def group_of(node: Node, _peer: Peer) -> str | Refusal:
        return Refusal("taken back") if node.id in shut_out else node.cluster

    return group_of


@pytest.mark.rule(62)
@BOTH
async def test_who_is_shut_out_while_connected_gets_nothing_more(method: str) -> None:
    shut_out = list[str]()
    async with served(Terms(drain=0.0, group_of=all_but(shut_out))) as server:
        server.publish(cds={"a": cluster("v1")})
        call = server.call(method)
        await call.say(CDS)
        assert await call.bodies() == [cluster("v1").body]
        shut_out.append("envoy-1")
        server.hub.review(GROUP)
        assert await call.end() == (grpc.StatusCode.PERMISSION_DENIED, "taken back")
        again = server.call(method)
        await again.say(CDS)
        assert (await again.end())[0] == grpc.StatusCode.PERMISSION_DENIED
        assert TurnedAway(GROUP, "envoy-1", "taken back") in server.reports


@pytest.mark.rule(62)
@BOTH
async def test_who_is_shut_out_while_it_reads_nothing_gets_nothing_that_was_made_since(method: str) -> None:
    shut_out = list[str]()
    async with served(Terms(drain=0.0, group_of=all_but(shut_out))) as server:
        big = b"0" * (8 << 20)
        server.publish(cds={"a": Resource(big)}, sds={"s": plain("v1")})
        call = server.call(method)
        await call.say(CDS)
        await eventually(lambda: len(sent(server)) == 1)
        await call.say(SDS, "s")
        await eventually(lambda: server.hub.connected()[0].versions.keys() == {CDS, SDS})
        shut_out.append("envoy-1")
        server.hub.review(GROUP)
        server.publish(cds={"a": Resource(big)}, sds={"s": plain("the key that is new")})
        assert await call.bodies() == [big]
        assert await call.end() == (grpc.StatusCode.PERMISSION_DENIED, "taken back")
        assert len(sent(server)) == 1


@pytest.mark.rule(62)
@BOTH
async def test_who_is_shut_out_while_it_reads_nothing_is_heard_no_more(method: str) -> None:
    shut_out = list[str]()
    async with served(Terms(drain=0.0, group_of=all_but(shut_out))) as server:
        server.publish(cds={"a": Resource(b"0" * (8 << 20))})
        call = server.call(method)
        await call.say(CDS)
        await eventually(lambda: len(sent(server)) == 1)
        shut_out.append("envoy-1")
        await call.say(LDS)
        await eventually(lambda: TurnedAway(GROUP, "envoy-1", "taken back") in server.reports)
        assert server.hub.connected() == []


@pytest.mark.rule(61)
@BOTH
@pytest.mark.parametrize("claim", ["", "edge", "a/b/c", "a/ b", "/b"])
async def test_a_node_of_no_gateway_is_turned_away(server: Served, method: str, claim: str) -> None:
    call = server.call(method)
    await call.say(CDS, node=claim)
    assert await call.end() == (grpc.StatusCode.PERMISSION_DENIED, "node.cluster must be NAMESPACE/GATEWAY")
    assert server.reports == [TurnedAway(claim, "envoy-1", "node.cluster must be NAMESPACE/GATEWAY")]


@pytest.mark.rule(61)
async def test_whose_an_envoy_is_is_decided_by_the_peer_and_not_by_its_words() -> None:
    def group_of(node: Node, peer: Peer) -> str | Refusal:
        assert peer.address.startswith("ipv4:127.0.0.1:")
        return GROUP if node.cluster == "a lie" else Refusal("no")

    async with served(Terms(group_of=group_of, drain=0.0)) as server:
        server.publish(cds={"a": cluster("v1")})
        call = server.call(WHOLE)
        await call.say(CDS, node="a lie")
        assert await call.bodies() == [cluster("v1").body]


@pytest.mark.rule(67)
@BOTH
async def test_an_unknown_type_is_left_alone_and_the_stream_lives(server: Served, method: str) -> None:
    call = server.call(method)
    await call.say("type.googleapis.com/of.another.Planet", "x")
    await call.say("type.googleapis.com/envoy.service.runtime.v3.Runtime")
    await call.say(CDS)
    assert (await call.hear()).type_url == CDS


@pytest.mark.rule(69)
@BOTH
@pytest.mark.parametrize("first", [True, False])
async def test_garbage_ends_its_own_stream_only(server: Served, method: str, *, first: bool) -> None:
    good, bad = server.call(method), server.call(method)
    for call in [good] if first else [good, bad]:
        await call.say(CDS)
        await call.hear()
    await bad.stream.write(b"\xff\xff\xff")
    assert (await bad.end())[0] == grpc.StatusCode.INVALID_ARGUMENT
    await good.say(SDS, "s")
    assert await good.bodies() == [b"v1"]
    await eventually(lambda: len(server.hub.connected()) == 1)


@pytest.mark.rule(69)
@BOTH
async def test_a_stream_is_told_why_it_ends_though_it_has_not_read_what_came_first(
    server: Served, method: str
) -> None:
    big = b"0" * (8 << 20)
    server.publish(cds={"a": Resource(big)})
    call = server.call(method)
    await call.say(CDS)
    await eventually(lambda: any(isinstance(each, Sent) for each in server.reports))
    await call.stream.write(b"\xff\xff\xff")
    await eventually(lambda: any(isinstance(each, TurnedAway) for each in server.reports))
    assert await call.bodies() == [big]
    assert await call.end() == (grpc.StatusCode.INVALID_ARGUMENT, "not a discovery request")


@pytest.mark.rule(69)
@given(raw=st.binary(max_size=300), method=st.sampled_from([WHOLE, DELTA]), opened=st.booleans())
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_bytes_make_a_stream_end_without_a_reason(
    server: Served, raw: bytes, method: str, *, opened: bool
) -> None:
    call = server.call(method)
    if opened:
        await call.say(CDS)
        await call.hear()
    await call.stream.write(raw)
    await call.stream.done_writing()
    code, _ = await call.end()
    assert code in {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}


@pytest.mark.rule(70)
@BOTH
async def test_many_and_enormous_names_are_served_while_others_are(server: Served, method: str) -> None:
    many = {f"name-{number}": plain("x") for number in range(20_000)}
    odd = {"\u0000\u2028\U0001f980": plain("odd"), "n" * 65_536: plain("huge"), "": plain("empty")}
    server.publish(eds=many | odd, sds={"s": plain("v1")})
    big, small = server.call(method), server.call(method)
    await big.say(EDS, *many, *odd)
    await small.say(SDS, "s")
    assert await small.bodies() == [b"v1"]
    assert len(await big.bodies()) == 20_003


@pytest.mark.rule(46)
@pytest.mark.rule(70)
async def test_a_burst_of_changes_reaches_an_envoy_as_its_last(server: Served) -> None:
    call = server.call(DELTA)
    await call.say(CDS)
    first = await call.hear()
    for number in range(300):
        server.publish(cds={"a": cluster(f"burst {number}")})
    await call.say(CDS, nonce=first.nonce)
    assert await call.bodies() == [cluster("burst 299").body]


@pytest.mark.rule(46)
async def test_an_envoy_that_does_not_read_costs_one_message_and_then_gets_the_newest(server: Served) -> None:
    slow, quick = server.call(WHOLE), server.call(WHOLE)
    big = 8 << 20
    server.publish(cds={"a": Resource(b"0" * big)}, sds={"s": plain("v1")})
    await slow.say(CDS)
    await eventually(lambda: any(isinstance(each, Sent) for each in server.reports))
    for number in range(1, 5):
        server.publish(cds={"a": Resource(f"{number}".encode() * big)}, sds={"s": plain("v1")})
    await quick.say(SDS, "s")
    assert await quick.bodies() == [b"v1"]
    stuck = await slow.hear()
    await slow.say(CDS, nonce=stuck.nonce)
    assert [body[:1] for body in await slow.bodies()] == [b"4"]


@pytest.mark.rule(46)
async def test_what_a_thousand_streams_take_is_made_into_each_of_its_two_forms_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, packed = Counter[bytes](), wire.packed

    def counted(type_url: str, body: bytes) -> bytes:
        made[body] += 1
        return packed(type_url, body)

    monkeypatch.setattr(wire, "packed", counted)
    hub = Hub(lambda _: None)
    async with serving(hub, [Address("127.0.0.1:0")], TERMS) as [port], AsyncExitStack() as open_:
        hub.publish(GROUP, Snapshot.of({CDS: {"a": cluster("v1")}}))
        calls = list[Call]()
        for _ in range(CONNECTIONS):
            connection = grpc.aio.insecure_channel(f"127.0.0.1:{port}", OWN_CONNECTION)
            crowd = Served(hub, await open_.enter_async_context(connection), [])
            for method in (WHOLE, DELTA) * (STREAMS // 2):  # who says nothing for long is sent away
                calls.append(call := crowd.call(method))
                await call.say(CDS)
                await call.say(CDS, nonce=(await call.hear()).nonce)
        hub.publish(GROUP, Snapshot.of({CDS: {"a": cluster("v2")}}))
        assert [await call.bodies() for call in calls] == [[cluster("v2").body]] * CONNECTIONS * STREAMS
    assert made == {cluster("v1").body: 2, cluster("v2").body: 2}


@pytest.mark.rule(49)
async def test_a_request_beyond_the_size_limit_is_refused(server: Served) -> None:
    call = server.call(WHOLE)
    await call.say(CDS, "n" * (5 << 20))
    assert (await call.end())[0] == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.rule(71)
@BOTH
async def test_a_stream_may_not_ask_for_too_many_names(method: str) -> None:
    async with served(limits=Limits(names=10)) as server:
        call = server.call(method)
        await call.say(EDS, *map(str, range(11)))
        assert await call.end() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many names")
        assert server.reports == [TurnedAway(GROUP, "envoy-1", "too many names")]


@pytest.mark.rule(70)
@pytest.mark.rule(71)
@BOTH
async def test_the_names_of_a_stream_may_not_be_too_long_together(method: str) -> None:
    async with served(limits=Limits(letters=1_000)) as server:
        call = server.call(method)
        await call.say(EDS, "n" * 600)
        await call.say(SDS, "n" * 401)
        assert await call.end() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too long names")


@pytest.mark.rule(71)
@pytest.mark.parametrize("type_url", [CDS, SDS], ids=["all", "by name"])
async def test_a_stream_may_not_claim_to_have_too_many_names(type_url: str) -> None:
    async with served(limits=Limits(names=10)) as server:
        call = server.call(DELTA)
        request = discovery_pb2.DeltaDiscoveryRequest(type_url=type_url)
        request.initial_resource_versions.update({str(number): "" for number in range(11)})
        request.node.id, request.node.cluster = "envoy-1", GROUP
        await call.stream.write(request.SerializeToString())
        assert await call.end() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many names")


def unsubscribing(names: int) -> discovery_pb2.DeltaDiscoveryRequest:
    """Want nothing of names that were never wanted."""
    dropped = map(str, range(names))
    request = discovery_pb2.DeltaDiscoveryRequest(type_url=EDS, resource_names_unsubscribe=dropped)
    request.node.id, request.node.cluster = "envoy-1", GROUP
    return request


@pytest.mark.rule(71)
async def test_a_request_may_not_drop_too_many_names_which_costs_as_much() -> None:
    async with served(limits=Limits(names=10)) as server:
        call = server.call(DELTA)
        await call.stream.write(unsubscribing(11).SerializeToString())
        assert await call.end() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many names")


@pytest.mark.rule(71)
@BOTH
async def test_the_streams_of_a_group_may_not_ask_for_too_much_that_nobody_offers_them(method: str) -> None:
    async with served(limits=Limits(strange=3_000)) as server:
        there = {f"{number:0100}": plain("v1") for number in range(100)}
        server.publish(sds=there)
        first, second, third = (server.call(method) for _ in range(3))
        for each in (first, second):  # of what there is, as much as they like
            await each.say(SDS, *there)
            assert len(await each.bodies()) == len(there)
        await first.say(EDS, *(f"a{number:0100}" for number in range(8)))
        await eventually(lambda: [len(each.versions) for each in server.hub.connected()] == [2, 1])
        await third.say(EDS, *(f"b{number:0100}" for number in range(8)))
        turned_away = TurnedAway(GROUP, "envoy-1", "too many names that nobody offers")
        await eventually(lambda: turned_away in server.reports)
        server.publish(eds={"late": plain("v1")})
        await second.say(EDS, "late")
        assert await second.bodies() == [b"v1"]


@pytest.mark.rule(71)
async def test_what_nobody_offered_counts_no_more_when_who_asked_is_gone_or_it_is_offered() -> None:
    names = [f"{number:0100}" for number in range(8)]  # of which twice as many would be too much
    async with served(limits=Limits(strange=3_000)) as server:

        def strange() -> int:
            return server.hub._groups[GROUP].strange if GROUP in server.hub.groups() else 0

        def rises_from(before: int) -> Callable[[], bool]:
            return lambda: strange() > before

        early = server.call(WHOLE)
        await early.say(EDS, *names)
        await eventually(rises_from(0))
        server.publish(eds={name: plain("v1") for name in names})
        assert len(await early.bodies()) == len(names)
        for number in range(3):
            call, before = server.call(WHOLE), strange()
            await call.say(EDS, *(f"{number}{name}" for name in names))
            await eventually(rises_from(before))
            call.stream.cancel()
            await eventually(lambda: len(server.hub.connected()) == 1)
        assert not [each for each in server.reports if isinstance(each, TurnedAway)]


@pytest.mark.rule(71)
async def test_what_an_envoy_has_from_before_counts_until_it_was_taken_from_it() -> None:
    async with served(limits=Limits(strange=3_000)) as server:
        server.publish(cds={"a": cluster("v1")})
        for _ in range(3):  # of which two would be too much together
            call = server.call(DELTA)
            request = discovery_pb2.DeltaDiscoveryRequest(type_url=CDS)
            request.initial_resource_versions.update({f"old-{number}": "v0" for number in range(7)})
            request.node.id, request.node.cluster = "envoy-1", GROUP
            await call.stream.write(request.SerializeToString())
            heard = [await call.hear()]
            while len(heard[-1].removed_resources) < 7:
                await call.say(CDS, nonce=heard[-1].nonce)
                heard.append(await call.hear())
            await call.say(CDS, nonce=heard[-1].nonce)
            await eventually(lambda: [*server.hub.connected()[-1].versions[CDS]] == ["a"])


@pytest.mark.rule(71)
async def test_a_group_may_not_open_too_many_streams() -> None:
    async with served(limits=Limits(streams=1)) as server:
        server.publish(cds={"a": cluster("v1")})
        first, second = server.call(WHOLE), server.call(WHOLE)
        await first.say(CDS)
        await first.hear()
        await second.say(CDS)
        assert (await second.end())[0] == grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.rule(71)
async def test_a_group_may_not_ask_too_often() -> None:
    async with served(limits=Limits(requests_per_second=0.001, burst=2.0)) as server:
        call = server.call(WHOLE)
        for _ in range(3):
            await call.say(CDS)
        assert await call.end() == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too many requests")


@pytest.mark.rule(53)
@BOTH
async def test_nothing_of_a_stream_outlives_it(server: Served, method: str) -> None:
    calls = [server.call(method) for _ in range(4)]
    for call in calls:
        await call.say(CDS)
        await call.hear()
    seats = [weakref.ref(seat.stream) for seat in server.hub._groups[GROUP].seats.values()]
    await calls[0].stream.done_writing()
    assert (await calls[0].end())[0] == grpc.StatusCode.OK
    for call in calls[1:]:
        call.stream.cancel()
    gc.disable()  # what lives long is not looked at by the collector, so it has to go by itself
    try:
        await eventually(lambda: server.hub.connected() == [])
        await eventually(lambda: [seat() for seat in seats] == [None] * 4)
    finally:
        gc.enable()


@pytest.mark.rule(53)
@BOTH
async def test_a_stream_that_says_nothing_ends_in_peace(server: Served, method: str) -> None:
    call = server.call(method)
    await call.stream.done_writing()
    assert (await call.end())[0] == grpc.StatusCode.OK
    assert server.reports == []


@pytest.mark.rule(51)
@BOTH
async def test_a_server_that_stops_ends_its_streams_well_and_says_nothing_more(method: str) -> None:
    async with served(Terms(drain=0.05)) as server:
        server.publish(cds={"a": cluster("v1")})
        calls = [server.call(method) for _ in range(3)]
        for call in calls:
            await call.say(CDS)
            await call.hear()
    for call in calls:
        assert (await call.end())[0] in {grpc.StatusCode.OK, grpc.StatusCode.CANCELLED}


@pytest.mark.rule(57)
@BOTH
async def test_an_unknown_gateway_hears_nothing_until_it_is_known(server: Served, method: str) -> None:
    call = server.call(method)
    await call.say(LDS, node="shop/later")
    await eventually(lambda: len(server.hub.connected()) == 1)
    heard = asyncio.ensure_future(call.hear())
    server.publish(cds={"a": cluster("v2")})
    assert not heard.done()
    server.hub.publish("shop/later", Snapshot.of({LDS: {"l": plain("v1")}}))
    response = await heard
    assert len(response.resources) == 1


async def test_fetching_once_is_not_served(server: Served) -> None:
    fetch = server.channel.unary_unary("/envoy.service.discovery.v3.ClusterDiscoveryService/FetchClusters")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await fetch(b"")
    assert failed.value.code() == grpc.StatusCode.UNIMPLEMENTED


async def test_a_socket_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "xds.sock"
    hub = Hub(lambda _report: None)
    async with serving(hub, [Address(f"unix:{path}")], TERMS):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
            served_ = Served(hub, channel, [])
            served_.publish(cds={"a": cluster("v1")})
            call = served_.call(DELTA)
            await call.say(CDS)
            assert await call.bodies() == [cluster("v1").body]
    assert not path.exists()


async def test_many_envoys_with_much_to_do_leave_others_their_turn() -> None:
    """Whoever comes meanwhile is served after a few of them, and not after all."""
    async with served() as server:
        server.publish(cds={f"c{number}": cluster("v1") for number in range(2_000)})
        calls = [server.call(DELTA) for _ in range(50)]
        for call in calls:
            await call.say(CDS)
            await call.say(CDS, nonce=(await call.hear()).nonce)
        await eventually(lambda: sum(isinstance(each, Accepted) for each in server.reports) == 50)
        server.publish(cds={f"c{number}": cluster("v2") for number in range(2_000)})
        turns = list[int]()
        while (before := len(sent(server))) < 100:
            await asyncio.sleep(0)
            turns.append(len(sent(server)) - before)
        assert max(turns) < 10
        assert sum(turns) == 50


def sent(server: Served) -> list[Sent]:
    return [each for each in server.reports if isinstance(each, Sent)]


@pytest.mark.rule(51)
async def test_a_server_that_ends_leaves_no_socket_file(tmp_path: Path) -> None:
    path = tmp_path / "xds.sock"
    async with serving(Hub(lambda _report: None), [Address(f"unix:{path}")], TERMS):
        assert path.exists()
    assert not path.exists()


@pytest.mark.rule(48)
async def test_a_connection_may_be_given_an_age_so_that_envoys_spread_anew() -> None:
    async with served(Terms(drain=0.0, longest_connection=0.2)) as server:
        server.publish(cds={"a": cluster("v1")})
        call = server.call(DELTA)
        await call.say(CDS)
        await call.say(CDS, nonce=(await call.hear()).nonce)
        assert (await call.end())[0] == grpc.StatusCode.OK
        await eventually(lambda: server.hub.connected() == [])


@pytest.mark.rule(48)
@BOTH
async def test_a_stream_that_is_old_when_it_has_its_first_turn_is_answered_before_it_ends(
    method: str,
) -> None:
    asked = list[Node]()  # about whom it admits: when a stream comes, and at each of its turns

    def group_of(node: Node, _peer: Peer) -> str:
        asked.append(node)
        sleep(SLICE)  # so that each turn is over after one piece of work
        return node.cluster

    def clock() -> float:
        return AGE if len(asked) > 1 else 0.0

    terms = Terms(drain=0.0, group_of=group_of, longest_connection=AGE)
    async with served(terms, clock=clock) as server:
        server.publish(cds={"a": cluster("v1")})
        call = server.call(method)
        await call.say(CDS)
        response = await call.hear()
        assert len(response.resources) == 1
        await call.say(CDS, nonce=response.nonce)
        assert (await call.end())[0] == grpc.StatusCode.OK


@pytest.mark.rule(48)
async def test_who_is_idle_may_ping_each_second_and_who_pings_without_end_is_dismissed() -> None:
    async with (
        serving(Hub(lambda _report: None), [Address("127.0.0.1:0")], TERMS) as [port],
        pinger(port) as idle,
        pinger(port) as without_stream,
    ):
        idle.call(f"/{SERVICE}/{DELTA}")
        for _ in range(PINGS):
            await asyncio.gather(idle.ping(), without_stream.ping())
            await asyncio.sleep(PACE)  # from answer to question, so that none comes too soon
        for each in (idle, without_stream):
            with pytest.raises(DismissedError, match="too_many_pings"):
                await asyncio.wait_for(_ping_without_end(each), SOON)


async def _ping_without_end(idle: Pinger) -> None:
    while True:
        await idle.ping()


@pytest.mark.rule(61)
async def test_a_certificate_can_decide_whose_an_envoy_is() -> None:
    authority = Authority("the xDS channel")
    mine = "spiffe://legation/ns/shop/gateway/edge"
    server_side = authority.issue(dns=["legation"])
    client_side = authority.issue(uri=[mine], eku=[CLIENT])
    credentials = grpc.ssl_server_credentials(
        [(server_side.key_pem.encode(), server_side.chain_pem.encode())],
        root_certificates=authority.pem.encode(),
        require_client_auth=True,
    )

    def proved(_node: Node, peer: Peer) -> str | Refusal:
        names = peer.proofs["x509_subject_alternative_name"]
        return GROUP if mine.encode() in names else Refusal("not yours")

    hub = Hub(lambda _report: None)
    hub.publish(GROUP, Snapshot.of({CDS: {"a": cluster("v1")}}))
    roots = authority.pem.encode()
    own = grpc.ssl_channel_credentials(roots, client_side.key_pem.encode(), client_side.chain_pem.encode())
    stranger = grpc.ssl_channel_credentials(roots)
    called = (("grpc.ssl_target_name_override", "legation"),)
    terms = Terms(group_of=proved, drain=0.0)
    async with (
        serving(hub, [Address("127.0.0.1:0", credentials)], terms) as [port],
        grpc.aio.secure_channel(f"127.0.0.1:{port}", own, called) as channel,
        grpc.aio.secure_channel(f"127.0.0.1:{port}", stranger, called) as nobody,
    ):
        call = Served(hub, channel, []).call(DELTA)
        await call.say(CDS, node="a lie")
        assert await call.bodies() == [cluster("v1").body]
        code, _ = await Served(hub, nobody, []).call(DELTA).end()
        assert code == grpc.StatusCode.UNAVAILABLE
