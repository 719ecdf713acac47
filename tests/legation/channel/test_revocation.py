"""Which identities count: those issued since their Gateway is there, and since they were taken back."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from cryptography import x509

from k8s_watch.change import Gone, Put
from k8s_watch.kind import ObjectName
from legation.channel.authority import SKEW, Lifetime, issue, make_root, proxy_of
from legation.channel.identity import PROVEN_NAMES, SHOWN
from legation.channel.revocation import AHEAD, Gate, oldest_valid
from legation.channel.rotation import renewed_leaf, renewed_roots
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.service import Service
from translator.rules.identities import REVOKED_BEFORE, revoked_before
from translator.verdict import Refused
from xds_server.admission import Node, Peer, Refusal

NOW = datetime.now(UTC).replace(microsecond=0)
HOUR = timedelta(hours=1)
A_MINUTE = timedelta(minutes=1)  # which clocks of two machines may differ by
EDGE = ObjectName("infra", "edge")
NODE = Node("a", "infra/edge")


def gateway(made: datetime | None = None, taken_back: str | None = None) -> Gateway:
    metadata: dict[str, object] = {"name": "edge", "namespace": "infra"}
    if made is not None:
        metadata["creationTimestamp"] = made
    if taken_back is not None:
        metadata["annotations"] = {REVOKED_BEFORE: taken_back}
    return msgspec.convert(
        {"metadata": metadata, "spec": {"gatewayClassName": "legation", "listeners": []}}, Gateway
    )


def peer(issued: datetime) -> Peer:
    subject = proxy_of(Name(*EDGE))
    leaf = issue(make_root(Lifetime(issued, issued + 9 * HOUR)), subject, Lifetime(issued, issued + 9 * HOUR))
    [name] = subject.names
    return Peer("a", {PROVEN_NAMES: [name.encode()], SHOWN: [leaf.certificate.encode()]})


class Reviews:
    """Whose streams were reviewed."""

    def __init__(self) -> None:
        self.groups: list[str] = []

    def __call__(self, group: str) -> None:
        self.groups.append(group)


def gate(*gateways: Gateway, reviews: Reviews | None = None) -> Gate:
    made = Gate(reviews or Reviews())
    for each in gateways:
        made.overhear(Gateway, [Put(EDGE, "1", each)])
    return made


@pytest.mark.parametrize(
    ("known", "issued", "counts"),
    [
        (gateway(made=NOW - 2 * HOUR), NOW - HOUR, True),
        (gateway(made=NOW - HOUR), NOW - HOUR, True),
        (gateway(made=NOW - HOUR), NOW - 2 * HOUR, False),
        (gateway(NOW - 9 * HOUR, (NOW - HOUR).isoformat()), NOW - 2 * HOUR, False),
        (gateway(NOW - 9 * HOUR, (NOW - HOUR).isoformat()), NOW, True),
        (gateway(NOW - HOUR, (NOW - 9 * HOUR).isoformat()), NOW - 2 * HOUR, False),
        (gateway(taken_back=(NOW + HOUR).isoformat()), NOW - HOUR, True),
        (gateway(taken_back=(NOW + A_MINUTE).isoformat()), NOW - HOUR, False),
        (gateway(taken_back="yesterday"), NOW - HOUR, True),
    ],
)
def test_what_was_issued_too_early_does_not_count(known: Gateway, issued: datetime, counts: bool) -> None:  # noqa: FBT001  # a table
    admitted = gate(known).group_of(NODE, peer(issued))
    assert (admitted == "infra/edge") is counts
    assert isinstance(admitted, Refusal) is not counts


@pytest.mark.parametrize(
    "known",
    [gateway(made=NOW + A_MINUTE), gateway(NOW - HOUR, (NOW + A_MINUTE).isoformat())],
    ids=["made", "taken back"],
)
def test_an_identity_counts_for_good_although_the_clock_of_who_asked_for_it_is_ahead(known: Gateway) -> None:
    subject = proxy_of(Name(*EDGE), oldest_valid(known, NOW + SKEW))
    leaf = renewed_leaf(None, subject, renewed_roots((), NOW - HOUR), NOW)
    for later in (NOW, NOW + 2 * A_MINUTE, NOW + HOUR):
        assert oldest_valid(known, later + AHEAD) <= leaf.lifetime.since
    assert x509.load_pem_x509_certificate(leaf.certificate.encode()).not_valid_before_utc <= NOW


def test_streams_end_at_once_although_the_clock_of_who_took_their_identity_back_is_ahead() -> None:
    reviews = Reviews()
    gate(gateway(NOW - HOUR), gateway(NOW - HOUR, (NOW + A_MINUTE).isoformat()), reviews=reviews)
    assert reviews.groups == ["infra/edge"]


def test_a_certificate_for_another_gateway_is_refused_as_ever() -> None:
    assert isinstance(gate().group_of(Node("a", "infra/other"), peer(NOW)), Refusal)


def test_streams_are_reviewed_when_identities_are_taken_back_and_not_otherwise() -> None:
    reviews = Reviews()
    made = gateway(NOW - 9 * HOUR)
    ours = gate(made, made, gateway(NOW - 9 * HOUR, (NOW - HOUR).isoformat()), reviews=reviews)
    assert reviews.groups == ["infra/edge"]
    ours.overhear(Gateway, [Gone(EDGE)])
    ours.overhear(Service, [Gone(EDGE)])
    assert ours.group_of(NODE, peer(NOW - 2 * HOUR)) == "infra/edge", "there is nothing left to be read"


@pytest.mark.parametrize("written", ["yesterday", "2026-01-31T12:00:00", ""])
def test_a_time_that_cannot_be_read_is_named(written: str) -> None:
    found = revoked_before(gateway(taken_back=written))
    assert isinstance(found, Refused)
    assert REVOKED_BEFORE in found.message
    assert repr(written) in found.message


def test_without_a_time_everything_counts() -> None:
    assert revoked_before(gateway()) is None
    assert oldest_valid(gateway(), NOW) < NOW - 10_000 * HOUR
