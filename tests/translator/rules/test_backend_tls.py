"""Who wins a port, what a policy asks of the handshake, and what is said when it is refused.  GEP-1897."""

from datetime import UTC, datetime

import pytest

from tests.pki import Authority, self_signed
from tests.translator.rules.backend_tls_given import (
    ALWAYS,
    Wish,
    conditions,
    config_map,
    policy,
    put,
    secret,
    service,
    shop,
    summary,
    trust_bundle,
    world_of,
)
from translator.names import Name, ServicePort
from translator.objects.backend_tls_policy import BackendTLSPolicy, SubjectAltName
from translator.objects.config_map import ConfigMap
from translator.objects.kinds import Object
from translator.rules import backend_tls
from translator.rules.backend_tls import (
    SYSTEM_ROOTS,
    DnsName,
    SystemRoots,
    TrustBundle,
    UpstreamTls,
    UriName,
    judge,
    winner,
)
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES
from translator.rules.certificates import NOW
from translator.verdict import Refused
from translator.world import World

ROOTS = Authority("roots", **ALWAYS)
OTHERS = Authority("others", **ALWAYS)
BRIEF = Authority(
    "brief", not_before=datetime(2026, 1, 1, tzinfo=UTC), not_after=datetime(2026, 2, 1, tzinfo=UTC)
)
PAY = service("pay", "https:443", "admin:8443", "quic:443/UDP")
TLS = shop("tls")
ALL_IS_WELL = "Accepted=True Accepted, ResolvedRefs=True ResolvedRefs"


def port(number: int, transport: str = "TCP") -> ServicePort:
    return ServicePort(shop("pay"), number, transport)


def winner_of_https(*policies: BackendTLSPolicy) -> str | None:
    found = winner(world_of(PAY, *policies), port(443))
    return found.name if found else None


def asked(world: World) -> UpstreamTls:
    value = judge(world, TLS).value
    assert isinstance(value, UpstreamTls), value
    return value


def refusal(world: World) -> Refused:
    value = judge(world, TLS).value
    assert isinstance(value, Refused), value
    accepted = conditions(judge(world, TLS))["Accepted"]
    assert (accepted.status, accepted.reason, accepted.message) == (False, value.reason, value.message)
    return value


def unresolved(world: World) -> str:
    return conditions(judge(world, TLS))["ResolvedRefs"].message


# Who wins.


def test_a_port_that_no_policy_targets_has_no_winner() -> None:
    assert winner_of_https() is None
    assert winner_of_https(policy("tls", "other"), policy("more", "pay#admin")) is None


def test_a_policy_for_the_service_wins_each_of_its_tcp_ports() -> None:
    world = world_of(PAY, policy("tls", "pay"))
    assert winner(world, port(443)) == winner(world, port(8443)) == TLS
    assert winner(world, port(443, "UDP")) is None


def test_a_policy_for_a_port_goes_before_an_older_one_for_the_service() -> None:
    whole, one = policy("whole", "pay", created=1), policy("one", "pay#https", created=2)
    assert winner_of_https(whole, one) == "one"
    assert winner(world_of(PAY, whole, one), port(8443)) == shop("whole")


@pytest.mark.parametrize("target", ["pay", "pay#https"])
@pytest.mark.parametrize(
    ("first", "second", "wins"),
    [
        ((1, "z"), (2, "a"), "z"),
        ((1, "z"), (1, "a"), "a"),
        ((None, "a"), (31, "z"), "z"),
        ((None, "z"), (None, "a"), "a"),
    ],
    ids=["older", "first by name", "with a time", "first by name without times"],
)
def test_of_two_policies_one_wins(
    target: str, first: tuple[int | None, str], second: tuple[int | None, str], wins: str
) -> None:
    rivals = [policy(name, target, created=created) for created, name in (first, second)]
    assert winner_of_https(*rivals) == winner_of_https(*reversed(rivals)) == wins


def test_when_the_winner_goes_the_next_one_wins() -> None:
    world = world_of(PAY, policy("old", "pay", created=1), policy("tls", "pay", created=2))
    assert winner(world, port(443)) == shop("old")
    world.put(BackendTLSPolicy, shop("old"), None)
    assert winner(world, port(443)) == TLS


def test_a_policy_that_cannot_be_honoured_keeps_its_port() -> None:
    assert (
        winner_of_https(policy("old", "pay", created=1, hostname="10.0.0.1"), policy("new", "pay")) == "old"
    )


def test_a_policy_in_another_namespace_or_for_another_kind_wins_nothing() -> None:
    assert winner_of_https(policy("tls", "Gateway pay")) is None
    assert winner(world_of(PAY, policy("tls", "pay")), ServicePort(Name("infra", "pay"), 443)) is None


def test_a_policy_for_the_service_holds_even_before_the_service_is_there() -> None:
    assert winner(world_of(policy("tls", "pay")), port(443)) == TLS


def test_a_port_that_a_file_opens_twice_is_never_plaintext() -> None:
    assert winner(world_of(service("pay", "a:443", "b:443"), policy("tls", "pay#b")), port(443)) == TLS


# What is asked.


def test_a_policy_asks_for_its_hostname_and_its_roots() -> None:
    world = world_of(config_map(ROOTS.pem), policy("tls", "pay"))
    assert summary(judge(world, TLS)) == ALL_IS_WELL
    assert asked(world) == UpstreamTls(
        sni="pay.internal", trust=TrustBundle("trust/shop/tls"), names=(DnsName("pay.internal"),)
    )


def test_alternative_names_replace_the_hostname_as_proof() -> None:
    sans = [
        SubjectAltName("Hostname", hostname="*.shop.internal"),
        SubjectAltName("URI", uri="spiffe://shop/pay"),
    ]
    world = world_of(config_map(ROOTS.pem), policy("tls", "pay", sans=sans))
    assert asked(world).sni == "pay.internal"
    assert asked(world).names == (DnsName("*.shop.internal"), UriName("spiffe://shop/pay"))


def test_options_shape_the_handshake() -> None:
    options = {
        "legation.dev/min-tls-version": "1.3",
        "legation.dev/curves": "X25519",
        "legation.dev/alpn": "h2",
        "other.test/anything": "x",
    }
    tls = asked(world_of(policy("tls", "pay", system="System", options=options)))
    assert (tls.min_version, tls.max_version, tls.cipher_suites) == ("1.3", "1.3", ())
    assert (tls.curves, tls.alpn) == (("X25519",), ("h2",))


def test_system_trusts_the_roots_of_envoys_machine() -> None:
    world = world_of(policy("tls", "pay", system="System"))
    assert summary(judge(world, TLS)) == ALL_IS_WELL
    assert asked(world).trust == SystemRoots()
    assert backend_tls.trust_bundle(world, TLS) == ""


def test_system_is_invalid_where_envoys_machine_has_no_roots() -> None:
    world = world_of(policy("tls", "pay", system="System"))
    world.state(SYSTEM_ROOTS, value=False)
    assert refusal(world).reason == "Invalid"
    assert summary(judge(world, TLS)) == "Accepted=False Invalid, ResolvedRefs=True ResolvedRefs"


@pytest.mark.parametrize(
    "wish",
    [
        {"refs": ["ConfigMap roots"]},
        {"system": "legation.dev/pinned", "options": {"legation.dev/pinned-certificate-sha256": "0" * 64}},
        {"system": "legation.dev/insecure-skip-verification"},
    ],
)
def test_whoever_does_not_ask_for_them_does_without_the_roots_of_envoys_machine(wish: Wish) -> None:
    world = world_of(policy("tls", "pay", **wish), config_map(ROOTS.pem))
    world.state(SYSTEM_ROOTS, value=False)
    assert summary(judge(world, TLS)) == ALL_IS_WELL


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        ({"hostname": "10.0.0.1"}, "hostname 10.0.0.1 is an IP address"),
        ({"hostname": "::1"}, "hostname ::1 is an IP address"),
        ({"system": "legation.dev/pinned"}, "wellKnownCACertificates: legation.dev/pinned needs pins"),
        ({"system": "other.test/roots"}, "wellKnownCACertificates: other.test/roots is not known"),
        ({"system": "System", "refs": ["ConfigMap roots"]}, "exactly one of caCertificateRefs"),
        ({"refs": []}, "exactly one of caCertificateRefs"),
        ({"system": "", "refs": []}, "exactly one of caCertificateRefs"),
        ({"sans": [SubjectAltName("Hostname", hostname="10.0.0.1")]}, "Hostname 10.0.0.1 cannot be proved"),
        ({"sans": [SubjectAltName("Hostname", uri="a://b")]}, "Hostname a://b cannot be proved"),
        ({"sans": [SubjectAltName("URI")]}, "URI without a value cannot be proved"),
        ({"sans": [SubjectAltName("IP", hostname="pay")]}, "IP pay cannot be proved"),
        (
            {"options": {"legation.dev/verification-mode": "x"}},
            "legation.dev/verification-mode: 'x' is no mode",
        ),
        ({"options": {"legation.dev/curves": "P-1"}}, "legation.dev/curves: 'P-1' cannot be used"),
    ],
)
def test_a_policy_that_cannot_be_understood_is_invalid_and_says_why(wish: Wish, says: str) -> None:
    world = world_of(config_map(ROOTS.pem), policy("tls", "pay", **wish))
    assert refusal(world).reason == "Invalid"
    assert says in refusal(world).message


def test_every_mistake_is_named_at_once() -> None:
    wrong = policy("tls", "pay", hostname="10.0.0.1", system="legation.dev/x", options={"legation.dev/y": ""})
    message = refusal(world_of(wrong)).message
    assert all(part in message for part in ("10.0.0.1", "legation.dev/x", "legation.dev/y"))


# Whom it trusts.


@pytest.mark.parametrize(
    ("given", "refs", "reason"),
    [
        ([], ["ConfigMap roots"], "InvalidCACertificateRef"),
        ([config_map("")], ["ConfigMap roots"], "InvalidCACertificateRef"),
        ([service("roots", "a:1")], ["Service roots"], "InvalidKind"),
        ([secret(tls_crt=ROOTS.pem)], ["Secret roots"], "InvalidCACertificateRef"),
        ([config_map(BRIEF.pem)], ["ConfigMap roots"], "ExpiredCertificate"),
        ([], ["Service roots", "ConfigMap roots"], "InvalidCACertificateRef"),
        ([], ["Service roots", "Gateway roots"], "InvalidKind"),
    ],
)
def test_without_one_good_certificate_connections_fail(
    given: list[Object], refs: list[str], reason: str
) -> None:
    world = world_of(policy("tls", "pay", refs=refs), *given)
    world.state(NOW, datetime(2026, 3, 1, tzinfo=UTC))
    assert summary(judge(world, TLS)) == f"Accepted=False NoValidCACertificate, ResolvedRefs=False {reason}"
    assert refusal(world).reason == "NoValidCACertificate"
    assert backend_tls.trust_bundle(world, TLS) == ""
    assert all(ref.split()[1] in unresolved(world) for ref in refs)


def test_one_good_reference_is_enough_and_each_bad_one_is_named() -> None:
    refs = ["Service roots", "ConfigMap gone", "ConfigMap roots", "ClusterTrustBundle roots", "Secret late"]
    world = world_of(
        policy("tls", "pay", refs=refs),
        config_map(ROOTS.pem),
        trust_bundle(OTHERS.pem + ROOTS.pem),
        secret("late", ca_crt=BRIEF.pem),
    )
    world.state(NOW, datetime(2026, 3, 1, tzinfo=UTC))
    assert summary(judge(world, TLS)) == "Accepted=True Accepted, ResolvedRefs=False InvalidCACertificateRef"
    assert backend_tls.trust_bundle(world, TLS) == ROOTS.pem + OTHERS.pem
    bad = ("Service shop/roots", "ConfigMap shop/gone", "Secret shop/late")
    assert all(name in unresolved(world) for name in bad)
    assert "TrustBundle roots" not in unresolved(world)


def test_without_the_api_of_trust_bundles_other_references_still_count() -> None:
    refs = ["ClusterTrustBundle roots", "ConfigMap roots"]
    world = world_of(policy("tls", "pay", refs=refs), config_map(ROOTS.pem), trust_bundle(OTHERS.pem))
    world.state(CLUSTER_TRUST_BUNDLES, value=False)
    assert summary(judge(world, TLS)) == "Accepted=True Accepted, ResolvedRefs=False InvalidKind"
    assert backend_tls.trust_bundle(world, TLS) == ROOTS.pem


def test_a_self_signed_server_certificate_is_accepted_with_a_warning() -> None:
    world = world_of(policy("tls", "pay"), config_map(self_signed(**ALWAYS).pem))
    assert summary(judge(world, TLS)) == ALL_IS_WELL
    assert "is no certificate authority" in conditions(judge(world, TLS))["Accepted"].message


def test_a_rotation_of_roots_changes_the_bundle_and_nothing_else() -> None:
    world = world_of(policy("tls", "pay"), config_map(ROOTS.pem))
    before = judge(world, TLS), backend_tls.trust_bundle(world, TLS)
    put(world, config_map(OTHERS.pem))
    assert before == (judge(world, TLS), ROOTS.pem)
    assert backend_tls.trust_bundle(world, TLS) == OTHERS.pem


def test_roots_that_go_are_trusted_no_more() -> None:
    world = world_of(policy("tls", "pay"), config_map(ROOTS.pem))
    assert asked(world)
    world.put(ConfigMap, shop("roots"), None)
    assert refusal(world).reason == "NoValidCACertificate"
    put(world, config_map(ROOTS.pem))
    assert summary(judge(world, TLS)) == ALL_IS_WELL


def test_roots_of_another_namespace_are_not_reached() -> None:
    elsewhere = config_map(ROOTS.pem)
    world = world_of(policy("tls", "pay"))
    world.put(ConfigMap, Name("infra", "roots"), elsewhere)
    assert "ConfigMap shop/roots does not exist: create it in namespace shop" in unresolved(world)


def test_a_bundle_is_read_once_for_all_policies_and_all_ticks() -> None:
    names = [f"tls-{number}" for number in range(5)]
    world = world_of(config_map(ROOTS.pem), *(policy(name, name) for name in names))
    for day in range(1, 4):
        world.state(NOW, datetime(2026, 1, day, tzinfo=UTC))
        assert all(judge(world, shop(name)).conditions[0].status for name in names)
    assert world.memory.runs["_bundle"] == 1
    assert world.memory.runs["judge"] == len(names)
