"""Policies, roots, endpoints and routes that change under constant traffic."""

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from http import HTTPStatus

import pytest
from msgspec import Struct

from tests.handshakes.backends import Backend, grpc_backend, http_backend, speaks
from tests.handshakes.cases import HOSTNAME, OTHER, RIGHT, ROOT, trusting
from tests.handshakes.manifests import Json, config_map, endpoints, policy
from tests.handshakes.rig import Channel, Rig, rigged
from tests.handshakes.shop import HTTPS, Visitor, encrypted, gateway, routed
from tests.handshakes.traffic import Answers, Traffic, flowing
from tests.pki import Issued
from xds_server.order import Patience
from xds_server.report import Accepted, Overdue
from xds_server.snapshot import CDS, SDS

pytestmark = pytest.mark.envoy

CHANGES = 100
SHIFTS, REST = 200, 25  # no route leads to one of the Services for so many of the changes
BRIEF = Patience(hold=10.0, grace=0.2)  # so that its cluster goes meanwhile
SERVICES = ("first", "second", "third")
OPEN: Answers = frozenset({HTTPStatus.OK})
SHUT: dict[str, Answers] = {
    "HTTPRoute": frozenset({HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.SERVICE_UNAVAILABLE}),
    "GRPCRoute": frozenset({HTTPStatus.SERVICE_UNAVAILABLE}),
    "TLSRoute": frozenset({None}),
}


class Choice(Struct, frozen=True):
    """One state of a part of the configuration, and whether a connection may be used in it."""

    put: tuple[Json, ...] = ()
    gone: tuple[Json, ...] = ()
    opens: bool = True

    def into(self, rig: Rig) -> None:
        """Make it so."""
        rig.apply(*self.put)
        rig.delete(*self.gone)


Choices = Mapping[str, tuple[Choice, ...]]


@asynccontextmanager
async def together(*starting: AbstractAsyncContextManager[Backend]) -> AsyncIterator[list[Backend]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(each) for each in starting]


def backends(*shown: Issued, lasting: bool = False) -> AbstractAsyncContextManager[list[Backend]]:
    return together(*(http_backend(speaks(each, lasting=lasting)) for each in shown))


def chance() -> random.Random:
    """Return chances that are the same in every run."""
    return random.Random(20)  # noqa: S311  # they hide nothing


def choices(one: int, two: int) -> Choices:
    """Return what may become of a policy, of its roots and of the endpoints behind its Service."""
    trust = trusting("changing")
    asks, roots = policy("pay", trust), config_map("changing", ROOT.pem)
    return {
        "policy": (
            Choice((asks,)),
            Choice((policy("pay", trust, {"min-tls-version": "1.3"}),)),
            Choice((policy("pay", trusting("changing", hostname="other.test")),), opens=False),
            Choice((policy("pay", trust, {"verify": "no"}),), opens=False),
            Choice(gone=(asks,), opens=False),
        ),
        "roots": (
            Choice((roots,)),
            Choice((config_map("changing", OTHER.pem + ROOT.pem),)),
            Choice((config_map("changing", OTHER.pem),), opens=False),
            Choice((config_map("changing", "nothing"),), opens=False),
            Choice(gone=(roots,), opens=False),
        ),
        "endpoints": (
            Choice(tuple(endpoints("pay", HTTPS, one, None))),
            Choice(tuple(endpoints("pay", HTTPS, None, two))),
            Choice(tuple(endpoints("pay", HTTPS, one, two))),
            Choice(gone=tuple(endpoints("pay", HTTPS, one, two)), opens=False),
        ),
    }


def different(offered: Choices, state: Mapping[str, Choice], by: random.Random) -> tuple[str, Choice]:
    """Return a change: often a repair, or else everything would be shut most of the time."""
    broken = [what for what, each in state.items() if not each.opens]
    if broken and by.random() < 0.7:
        what = by.choice(broken)
        return what, by.choice([each for each in offered[what] if each.opens])
    what = by.choice(list(offered))
    return what, by.choice([each for each in offered[what] if each is not state[what]])


@pytest.mark.parametrize("kind", SHUT)
async def test_nothing_is_sent_in_cleartext_while_policies_roots_and_endpoints_come_and_go(kind: str) -> None:
    start = grpc_backend if kind == "GRPCRoute" else served_once
    async with together(start(RIGHT), start(RIGHT)) as behind, rigged() as rig:
        offered = choices(*(each.port for each in behind))
        state = {what: each[0] for what, each in offered.items()}
        puts = (put for each in state.values() for put in each.put)
        rig.apply(*gateway(), *encrypted("pay"), *puts, routed("pay", "pay", kind=kind))
        await rig.settled()
        right = {True: OPEN, False: SHUT[kind]}
        traffic, by, open_ = Traffic(OPEN), chance(), True
        async with flowing(traffic, Visitor(rig, kind).come):
            await traffic.more()
            for _ in range(CHANGES):
                what, choice = different(offered, state, by)
                state[what] = choice
                before, open_ = open_, all(each.opens for each in state.values())
                traffic.enter(right[before] | right[open_])
                choice.into(rig)
                await rig.settled()
                if not (before and open_):
                    await _part(behind, traffic)
                await traffic.quiet()
                traffic.enter(right[open_])
                await traffic.more()
        assert traffic.surprises == []
        assert traffic.answers.keys() == OPEN | SHUT[kind]
        assert [bytes(each.tap.cleartext) for each in behind] == [b"", b""]


def served_once(shown: Issued) -> AbstractAsyncContextManager[Backend]:
    """Serve one request on each connection, so that each request needs a proof."""
    return http_backend(speaks(shown))


async def _part(behind: list[Backend], traffic: Traffic) -> None:
    """End connections whose handshake saw what was before, and let Envoy notice."""
    for each in behind:
        each.tap.hang_up()
    await traffic.more()


async def test_a_rotation_of_roots_is_one_push_of_one_secret_and_ends_no_connection() -> None:
    renewed = OTHER.issue(dns=[HOSTNAME])
    async with backends(RIGHT, renewed, lasting=True) as (old, new), rigged() as rig:
        rig.apply(*gateway(), *encrypted("pay", old.port), routed("pay", "pay"))
        rig.apply(config_map("changing", ROOT.pem), policy("pay", trusting("changing")))
        await rig.settled()
        traffic = Traffic(OPEN)
        async with flowing(traffic, Visitor(rig, "HTTPRoute").come):
            await traffic.more()
            assert await _pushed(rig, ROOT.pem + OTHER.pem) == [(SDS, {"trust/shop/pay"})]
            await traffic.more()
            assert old.tap.closed == 0
            rig.apply(*endpoints("pay", HTTPS, new.port))
            await rig.settled()
            await traffic.more()
            assert new.told
            assert await _pushed(rig, OTHER.pem) == [(SDS, {"trust/shop/pay"})]
            await traffic.more()
            assert new.tap.closed == 0
        assert traffic.surprises == []


async def _pushed(rig: Rig, roots: str) -> list[tuple[str, set[str]]]:
    """Change the roots, and return what Envoy was given: the type and the names of each push."""
    earlier = len(rig.reports)
    rig.apply(config_map("changing", roots))
    await rig.settled()
    return [
        (each.type_url, set(each.versions)) for each in rig.reports[earlier:] if isinstance(each, Accepted)
    ]


@pytest.mark.parametrize("whole", [False, True], ids=["delta", "state of the world"])
async def test_no_request_fails_while_routes_clusters_and_endpoints_change(*, whole: bool) -> None:
    channel = Channel(whole=whole, patience=BRIEF)
    async with backends(RIGHT, RIGHT, RIGHT) as behind, rigged(channel) as rig:
        ports, by, traffic = [each.port for each in behind], chance(), Traffic(OPEN)
        rig.apply(*gateway(), routed("pay", "first"))
        rig.apply(*(each for name in SERVICES for each in encrypted(name, *ports)))
        await rig.settled()
        async with flowing(traffic, Visitor(rig, "HTTPRoute").come):
            for number in range(SHIFTS):
                resting = SERVICES[number // REST % len(SERVICES)]
                rig.apply(*shift([each for each in SERVICES if each != resting], ports, by))
                if by.random() < 0.7:  # else the next change meets this one on its way
                    await rig.settled()
                await traffic.more()
            await rig.settled()
            await traffic.more()
        assert traffic.surprises == []
        assert all(each.told for each in behind)
        assert [each for each in rig.reports if isinstance(each, Overdue)] == []
        taken = [each for each in rig.reports if isinstance(each, Accepted) and each.type_url == CDS]
        assert len([name for each in taken for name in each.removed]) > 2


def shift(services: list[str], ports: list[int], by: random.Random) -> list[Json]:
    """Return a change after which requests are answered as before."""
    name = by.choice(services)
    match by.choice(["route", "route", "cluster", "endpoints"]):
        case "route":
            return [routed("pay", *by.sample(services, by.randint(1, 2)))]
        case "cluster":
            return [policy(name, trusting("root"), {"min-tls-version": by.choice(["1.2", "1.3"])})]
        case _:
            chosen = by.sample(ports, by.randint(1, len(ports)))
            return list(endpoints(name, HTTPS, *(port if port in chosen else None for port in ports)))
