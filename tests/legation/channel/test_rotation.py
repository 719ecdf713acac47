"""The channel's authority over time: who is believed, what is made anew, and when."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from legation.channel.authority import Credential, Lifetime, issue, make_root, proxy_of, read, server, vouches
from legation.channel.identity_secrets import (
    authority_secret,
    leaf_of,
    proxy_secret,
    roots_of,
)
from legation.channel.rotation import Terms, bundle, renewed_leaf, renewed_roots, signing
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.secret import Secret

START = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TERMS = Terms(root=60 * DAY, leaf=9 * DAY, spreading=DAY)
EDGE = proxy_of(Name("infra", "edge"))
GATEWAY = msgspec.convert(
    {
        "metadata": {"name": "edge", "namespace": "infra", "uid": "0b5f"},
        "spec": {
            "gatewayClassName": "legation",
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    },
    Gateway,
)


class State(Struct, frozen=True):
    """What the Secrets hold at one moment."""

    at: datetime
    roots: tuple[Credential, ...]
    leaves: tuple[Credential, ...]


SUBJECTS = (server(["legation-xds.legation-system.svc"]), EDGE)


def renewed(before: State | None, now: datetime) -> State:
    roots = renewed_roots(before.roots if before else (), now, TERMS)
    held = before.leaves if before else (None, None)
    pairs = zip(held, SUBJECTS, strict=True)
    return State(now, roots, tuple(renewed_leaf(leaf, who, roots, now, TERMS) for leaf, who in pairs))


@settings(max_examples=25)
@given(st.lists(st.integers(10, 23 * 60), min_size=60, max_size=160))
def test_whatever_is_valid_is_believed_by_everybody(minutes: list[int]) -> None:
    """Somebody looks at least once a day, and a bundle may be a day old where it is used."""
    now, states = START, list[State]()
    for wait in minutes:
        now += timedelta(minutes=wait)
        states.append(renewed(states[-1] if states else None, now))
        in_force = [state for state in states if now - state.at <= TERMS.spreading]
        ever = {leaf.certificate: leaf for state in states for leaf in state.leaves}.values()
        for leaf in (each for each in ever if now < each.lifetime.until):
            for state in in_force:
                assert any(vouches(root, leaf) for root in state.roots if now < root.lifetime.until)
        assert all(leaf.lifetime.until - now > TERMS.leaf / 5 for leaf in states[-1].leaves)
    lasted = (now - START) / DAY
    made = {leaf.certificate for state in states for leaf in state.leaves}
    roots = {root.certificate for state in states for root in state.roots}
    assert len(made) <= 2 * (1 + lasted / 6), "a certificate is renewed after two thirds of its life"
    assert len(roots) <= 1 + lasted / (60 - 9 - 2), "a root gets one successor, near its end"


@given(st.lists(st.integers(0, 100), min_size=2, max_size=12))
@settings(max_examples=40)
def test_after_any_absence_everything_fits_together_again(days: list[int]) -> None:
    now, state = START, None
    for absent in days:
        now += absent * DAY
        state = renewed(state, now)
        assert all(root.lifetime.until > now for root in state.roots)
        for leaf in state.leaves:
            assert now < leaf.lifetime.until
            assert any(vouches(root, leaf) for root in state.roots)
        assert renewed(state, now) == state, "asked again at once, nothing changes"


def test_a_new_root_is_shown_before_it_signs() -> None:
    [first] = renewed_roots((), START, TERMS)
    near_its_end = first.lifetime.until - TERMS.leaf - 2 * TERMS.spreading
    assert renewed_roots((first,), near_its_end - timedelta(seconds=1), TERMS) == (first,)
    both = renewed_roots((first,), near_its_end, TERMS)
    assert both[0] == first
    assert len(both) == 2
    assert signing(both, near_its_end, TERMS) == first
    assert signing(both, near_its_end + TERMS.spreading, TERMS) == both[1]


def test_an_old_root_is_believed_until_it_ends() -> None:
    first = make_root(Lifetime(START, START + 10 * DAY))
    second = make_root(Lifetime(START + 2 * DAY, START + 62 * DAY))
    assert renewed_roots((second, first), START + 9 * DAY, TERMS) == (first, second)
    assert renewed_roots((second, first), START + 10 * DAY, TERMS) == (second,)


def test_a_certificate_never_outlives_its_root() -> None:
    root = make_root(Lifetime(START, START + 4 * DAY))
    leaf = renewed_leaf(None, EDGE, (root,), START, TERMS)
    assert leaf.lifetime.until == root.lifetime.until
    almost = leaf.lifetime.until - timedelta(hours=1)
    assert renewed_leaf(leaf, EDGE, (root,), almost, TERMS) == leaf, "another would end at the same time"


@pytest.mark.parametrize(
    ("moment", "kept"),
    [(timedelta(), True), (timedelta(days=6, seconds=-1), True), (6 * DAY, False), (10 * DAY, False)],
)
def test_a_certificate_is_renewed_after_two_thirds_of_its_life(moment: timedelta, kept: bool) -> None:  # noqa: FBT001  # a table
    [root] = roots = renewed_roots((), START, TERMS)
    leaf = issue(root, EDGE, Lifetime(START, START + TERMS.leaf))
    assert (renewed_leaf(leaf, EDGE, roots, START + moment, TERMS) == leaf) is kept


def test_a_certificate_that_proves_another_is_replaced() -> None:
    roots = renewed_roots((), START, TERMS)
    other = renewed_leaf(None, proxy_of(Name("infra", "other")), roots, START, TERMS)
    assert renewed_leaf(other, EDGE, roots, START, TERMS).names == EDGE.names


@pytest.mark.parametrize("fraction", [0, 1])
def test_a_certificate_issued_too_early_is_replaced_by_one_that_counts(fraction: int) -> None:
    roots = renewed_roots((), START, TERMS)
    leaf = renewed_leaf(None, EDGE, roots, START, TERMS)
    since = START + timedelta(hours=1, microseconds=fraction)
    later = proxy_of(Name("infra", "edge"), since)
    replaced = renewed_leaf(leaf, later, roots, START + timedelta(hours=1), TERMS)
    assert since <= replaced.lifetime.since <= since + timedelta(seconds=1)
    assert renewed_leaf(replaced, later, roots, START + timedelta(hours=2), TERMS) == replaced


def test_when_a_root_is_taken_away_everything_it_signed_is_replaced() -> None:
    leaf = renewed_leaf(None, EDGE, renewed_roots((), START, TERMS), START, TERMS)
    roots = renewed_roots((), START, TERMS)
    replaced = renewed_leaf(leaf, EDGE, roots, START, TERMS)
    assert replaced != leaf
    assert vouches(roots[0], replaced)
    assert not vouches(roots[0], leaf)


def test_what_secrets_hold_is_read_back_as_it_was_written() -> None:
    state = renewed(None, START)
    name = Name("legation-system", "legation-authority")
    assert roots_of(_secret(authority_secret(name, state.roots))) == state.roots
    written = proxy_secret(GATEWAY, state.leaves[1], state.roots)
    assert leaf_of(_secret(written)) == state.leaves[1]
    assert written["metadata"]["name"] == "legation-edge"  # type: ignore[index]  # plain JSON
    assert bundle(state.roots).encode() == _secret(written).value("ca.crt")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"tls.crt": "eA==", "tls.key": "eA=="},
        {"root-0.crt": "eA==", "root-0.key": "eA=="},
        {"tls.crt": "!", "tls.key": "!"},
    ],
)
def test_a_secret_that_somebody_broke_holds_nothing(data: dict[str, str]) -> None:
    broken = msgspec.convert({"metadata": {"name": "a"}, "data": data}, Secret)
    assert roots_of(broken) == ()
    assert leaf_of(broken) is None


def test_a_certificate_beside_anothers_key_is_none() -> None:
    one, other = (make_root(Lifetime(START, START + DAY)) for _ in range(2))
    assert read(one.certificate.encode(), one.key.encode()) == one
    assert read(one.certificate.encode(), other.key.encode()) is None


def test_a_key_is_not_shown_where_credentials_are_printed() -> None:
    root = make_root(Lifetime(START, START + DAY))
    assert "PRIVATE" not in repr((root, [root]))


def _secret(manifest: dict[str, object]) -> Secret:
    return msgspec.convert(manifest, Secret)
