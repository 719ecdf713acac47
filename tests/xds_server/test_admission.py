"""Who is shown to people, which claims are Gateways, and how many requests a group may make."""

import pytest

from xds_server.admission import LONGEST_CLAIM, Allowance, Limits, Node, Peer, Refusal, claimed_group

PEER = Peer("198.18.0.1:1")


@pytest.mark.parametrize(
    ("node", "is_readable"),
    [
        (Node("envoy-1", "infra/edge"), True),
        (Node("", ""), True),
        (Node("envoy\n1", "infra/edge"), False),
        (Node("envoy-1", "infra/\x1b[2Jedge"), False),
        (Node("e" * LONGEST_CLAIM, "g" * LONGEST_CLAIM), True),
        (Node("e" * (LONGEST_CLAIM + 1), "infra/edge"), False),
        (Node("envoy-1", "g" * (LONGEST_CLAIM + 1)), False),
    ],
)
def test_people_are_shown_an_envoy_only_if_both_of_its_claims_are_short_and_printable(
    node: Node, *, is_readable: bool
) -> None:
    assert node.is_readable == is_readable


@pytest.mark.parametrize(
    "cluster", ["", "edge", "infra/", "/edge", "infra/edge/more", "in fra/edge", "infra/edge\n"]
)
def test_a_claim_that_is_no_gateway_is_refused(cluster: str) -> None:
    assert isinstance(claimed_group(Node("envoy-1", cluster), PEER), Refusal)
    assert claimed_group(Node("envoy-1", "infra/edge"), PEER) == "infra/edge"


def test_a_group_makes_as_many_requests_as_its_burst_and_then_as_many_as_time_earns() -> None:
    allowance = Allowance(Limits(requests_per_second=2.0, burst=3.0), now=10.0)
    assert [allowance.take(10.0) for _ in range(4)] == [True, True, True, False]
    assert [allowance.take(10.5) for _ in range(2)] == [True, False]
    assert [allowance.take(11.5) for _ in range(3)] == [True, True, False]
    assert [allowance.take(100.0) for _ in range(4)] == [True, True, True, False]
