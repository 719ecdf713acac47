"""What is read back out of a cluster is what a policy asked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.translator.envoy.plans import backend
from translator.envoy import clusters
from translator.envoy.proofs import Grade, Proof, proof
from translator.rules.backend_tls import (
    Anybody,
    DnsName,
    PinsAlone,
    SystemRoots,
    TrustBundle,
    UpstreamTls,
    UriName,
)
from translator.rules.backends import Protocol
from translator.rules.insecure_verification import Weakness
from translator.rules.pins import Pins
from translator.verdict import Refused

LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)
DNS = st.lists(LABELS, min_size=1, max_size=4).map(".".join)
NAMES = st.one_of(
    DNS.map(DnsName),
    st.lists(LABELS, min_size=1, max_size=3).map(lambda each: DnsName(f"*.{'.'.join(each)}")),
    DNS.map(lambda name: UriName(f"spiffe://{name}/pay?x=(1|2)+.*")),
)
PINS = Pins(("A" * 43 + "=",), ("ab" * 32,))
PAY = DnsName("pay.test")


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_names_are_read_as_they_were_written(names: list[DnsName | UriName]) -> None:
    tls = UpstreamTls("pay.test", SystemRoots(), tuple(names))
    written = tuple(each.name if isinstance(each, DnsName) else each.uri for each in names)
    assert proof(clusters.build(backend("pay", policy="tls"), tls).body).names == written


@pytest.mark.parametrize(
    ("tls", "weakness", "expected"),
    [
        (
            UpstreamTls("pay.test", TrustBundle("trust/shop/tls"), (PAY,), pins=PINS),
            None,
            Proof(Grade.VERIFIED, names=("pay.test",), roots="trust/shop/tls", pins=2),
        ),
        (UpstreamTls("pay.test", PinsAlone(), (), pins=PINS), None, Proof(Grade.PINNED, pins=2)),
        (
            UpstreamTls("pay.test", SystemRoots(), ()),
            Weakness.ANY_NAME,
            Proof(Grade.ANY_NAME, roots="legation/system-roots"),
        ),
        (UpstreamTls("pay.test", Anybody(), ()), Weakness.UNVERIFIED, Proof(Grade.UNVERIFIED)),
        (
            UpstreamTls("pay.test", Anybody(), (), pins=PINS),
            Weakness.UNVERIFIED,
            Proof(Grade.UNVERIFIED, pins=2),
        ),
    ],
)
def test_what_is_proved_is_graded(tls: UpstreamTls, weakness: Weakness | None, expected: Proof) -> None:
    whom = backend("pay", policy="tls")._replace(weakness=weakness)
    found = proof(clusters.build(whom, tls).body)
    assert (found.backend, found.policy, found.server_name) == ("shop/pay:8080", "shop/tls", "pay.test")
    assert (found.grade, found.names, found.roots, found.pins) == (
        expected.grade,
        expected.names,
        expected.roots,
        expected.pins,
    )


def test_what_is_sent_without_a_policy_is_told_from_what_is_refused() -> None:
    grades = [proof(clusters.build(backend("pay", each), None).body).grade for each in Protocol]
    assert grades == [Grade.CLEARTEXT, Grade.CLEARTEXT, Grade.RELAYED, Grade.RELAYED]
    refused = clusters.build(backend("pay", policy="tls"), Refused("Invalid", "repair it"))
    assert proof(refused.body).grade is Grade.REFUSED


@pytest.mark.parametrize(
    ("tls", "weakness"),
    [
        (UpstreamTls("pay.test", PinsAlone(), ()), None),
        (UpstreamTls("pay.test", Anybody(), ()), None),
        (UpstreamTls("pay.test", SystemRoots(), ()), None),
        (UpstreamTls("pay.test", SystemRoots(), (PAY,)), Weakness.UNVERIFIED),
    ],
    ids=["no pins", "hidden", "hidden name", "nothing left out"],
)
def test_a_cluster_that_hides_what_it_leaves_out_is_our_own_mistake(
    tls: UpstreamTls, weakness: Weakness | None
) -> None:
    with pytest.raises(AssertionError):
        clusters.build(backend("pay", policy="tls")._replace(weakness=weakness), tls)
