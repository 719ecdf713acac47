"""What a replica shows to another opens the stream between replicas and nothing else, and only it does."""

from datetime import UTC, datetime, timedelta

import pytest

from legation.channel.authority import Lifetime, Subject, make_root, proxy_of, vouches
from legation.channel.authority import read as read_credential
from legation.channel.badge import REPLICA, Badge, refusal
from legation.channel.identity import PROVEN_NAMES, proven_group
from tests.legation.replicas import day
from translator.names import Name
from xds_server.admission import Node, Peer, Refusal

EDGE = Name("infra", "edge")


def showing(subject: Subject) -> Peer:
    return Peer("ipv4:198.51.100.1:40000", {PROVEN_NAMES: tuple(name.encode() for name in subject.names)})


def test_a_replica_is_let_in() -> None:
    assert refusal(showing(REPLICA)) is None


@pytest.mark.parametrize(
    "subject",
    [
        proxy_of(EDGE),
        Subject(REPLICA.names | proxy_of(EDGE).names, "client"),
        Subject(frozenset({"spiffe://legation/replica/2"}), "client"),
        Subject(frozenset(), "client"),
    ],
    ids=["envoy", "both", "similar", "nameless"],
)
def test_nobody_else_is_let_in(subject: Subject) -> None:
    assert isinstance(refusal(showing(subject)), Refusal)


def test_a_replica_is_no_envoy() -> None:
    assert isinstance(proven_group(Node("envoy-1", str(EDGE)), showing(REPLICA)), Refusal)


def test_what_is_shown_is_vouched_for_by_a_root_and_lasts_for_an_hour_at_most() -> None:
    root = make_root(day())
    shown = Badge(lambda: (root,), "legation.test").show()
    assert shown is not None
    held = read_credential(shown.chain, shown.key)
    assert held is not None
    assert vouches(root, held)
    assert held.names == REPLICA.names
    assert held.lifetime.until <= datetime.now(UTC) + timedelta(hours=1)
    assert (shown.server_roots.decode(), shown.server_name) == (root.certificate, "legation.test")


def test_what_is_shown_is_shown_again_until_other_roots_are_believed() -> None:
    roots = [make_root(day())]
    badge = Badge(lambda: tuple(roots), "legation.test")
    first = badge.show()
    assert badge.show() == first
    roots[:] = [make_root(day())]
    second = badge.show()
    assert second is not None
    assert first is not None
    assert second.chain != first.chain


def test_what_is_shown_does_not_outlive_its_root() -> None:
    since = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
    root = make_root(Lifetime(since, since + timedelta(days=2, minutes=10)))
    shown = Badge(lambda: (root,), "legation.test").show()
    held = read_credential(shown.chain, shown.key) if shown else None
    assert held is not None
    assert held.lifetime.until == root.lifetime.until


def test_without_roots_there_is_nothing_to_show() -> None:
    assert Badge(tuple, "legation.test").show() is None
