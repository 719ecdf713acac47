"""Replicas that follow each other over TLS: what one knows of Envoys connected to another, and until when."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from legation.channel.authority import make_root
from legation.deliveries import Heard, Refusal
from legation.peers import PATIENCE, Others
from tests.legation.replicas import EDGE, Relay, Replica, day, two_replicas
from tests.legation.running import free_port
from tests.looking import SOON
from tests.xds_server.honest_envoy import GROUP, listener

HELD, PENDING = Heard(EDGE, acknowledged=True), Heard(EDGE)
Both = tuple[Replica, Replica]


@pytest.fixture
async def both() -> AsyncIterator[Both]:
    async with two_replicas() as replicas:
        yield replicas


def knows_of_envoys(others: Others) -> bool:
    return len(others.about(GROUP)) == 1 and not others.incomplete


async def until_known(replica: Replica) -> None:
    await replica.until(lambda: knows_of_envoys(replica.peers.others()))


async def test_what_envoys_of_another_replica_hold_is_known(both: Both) -> None:
    here, there = both
    here.peers.find([there.address])
    there.envoy().settle()
    await here.until_heard(HELD)


async def test_a_replica_that_lags_behind_is_waited_for(both: Both) -> None:
    here, there = both
    here.peers.find([there.address])
    near, far = here.envoy(), there.envoy()
    near.settle()
    far.settle()
    await here.until_heard(HELD)
    await until_known(here)
    here.offer("v2")
    near.settle()
    await here.until_heard(PENDING)
    there.offer("v2")
    far.settle()
    await here.until_heard(HELD)
    assert here.heard.count(PENDING) == 1


async def test_a_refusal_is_heard_wherever_it_is_uttered(both: Both) -> None:
    here, there = both
    here.peers.find([there.address])
    for replica in both:
        replica.offer_listeners({"web": listener("bad")})
    there.envoy().settle()
    await here.until_heard(Heard(EDGE, refusals=(Refusal("web", "no"),)))


async def test_each_replica_knows_what_all_envoys_hold(both: Both) -> None:
    for replica, other in (both, both[::-1]):
        replica.peers.find([replica.address, other.address])
        replica.envoy().settle()
    for replica in both:
        await replica.until_heard(HELD)
        await until_known(replica)


async def test_a_replica_does_not_take_itself_for_another(both: Both) -> None:
    here, _ = both
    here.peers.find([here.address])
    await here.until(lambda: here.peers.others() == Others())


async def test_a_replica_that_was_not_heard_yet_is_waited_for_but_not_for_ever(both: Both) -> None:
    here, _ = both
    assert here.peers.others().incomplete
    here.peers.find([f"127.0.0.1:{free_port()}"])
    here.envoy().settle()
    assert here.peers.others().incomplete
    here.clock.ahead += PATIENCE + 1
    assert not here.peers.others().incomplete
    await here.until_heard(HELD)


async def test_where_there_is_no_other_replica_none_is_waited_for(both: Both) -> None:
    here, _ = both
    here.envoy().settle()
    here.peers.find([])
    await here.until_heard(HELD)


async def test_a_lost_replica_counts_as_it_was_heard_last_until_patience_ends(both: Both) -> None:
    here, there = both
    relay = Relay(there.address)
    async with AsyncExitStack() as way:
        await way.enter_async_context(relay.running())
        here.peers.find([relay.address])
        there.envoy().settle()
        await here.until_heard(HELD)
        await way.aclose()
        here.offer("v2")
        near = here.envoy()
        near.settle()
        await here.until_heard(PENDING)
        assert knows_of_envoys(here.peers.others())
        here.clock.ahead += PATIENCE + 1
        await here.until_heard(HELD)
    assert here.heard.count(PENDING) == 1


async def test_a_connection_that_breaks_moves_no_status(both: Both) -> None:
    here, there = both
    relay = Relay(there.address)
    async with relay.running():
        here.peers.find([relay.address])
        there.envoy().settle()
        await here.until_heard(HELD)
        [peer] = here.peers._peers.values()
        relay.cut()
        await here.until(lambda: peer.silent_since is not None)
        assert here.deliveries.news(here.hub) == ()
        await here.until(lambda: peer.silent_since is None)
        assert here.deliveries.news(here.hub) == ()
    assert here.heard.count(HELD) == 1


async def test_a_replica_that_says_goodbye_counts_no_more(both: Both) -> None:
    here, there = both
    async with AsyncExitStack() as going:
        await going.enter_async_context(there.serving())
        here.peers.find([there.address])
        there.envoy().settle()
        await here.until_heard(HELD)
        await going.aclose()
        await here.until(lambda: here.peers.others().about(GROUP) == [])
    assert not here.peers.others().incomplete


async def test_a_replica_that_is_no_endpoint_any_more_is_forgotten_at_once(both: Both) -> None:
    here, there = both
    here.peers.find([there.address])
    there.envoy().settle()
    await here.until_heard(HELD)
    here.peers.find([])
    assert here.peers.others() == Others()
    here.peers.find([there.address])
    assert here.peers.others().incomplete
    await until_known(here)


async def test_nobody_is_followed_before_there_is_something_to_show(both: Both) -> None:
    here, there = both
    roots, here.roots = here.roots, ()
    here.peers.find([there.address])
    there.envoy().settle()
    assert here.peers.others().incomplete
    here.roots = roots
    await until_known(here)


async def test_who_is_vouched_for_by_others_is_not_believed() -> None:
    here, stranger = Replica((make_root(day()),)), Replica((make_root(day()),))
    async with asyncio.timeout(SOON), here.running(), stranger.running():
        identity = here.peers._identity()
        assert identity is not None
        here.peers.find([stranger.address])
        [peer] = here.peers._peers.values()
        assert await here.peers._hear(peer, identity) != ""
        assert peer.tellings is None
