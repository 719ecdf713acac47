"""Where CA certificates may come from, what is wrong with the others, and what is read again when."""

from datetime import UTC, datetime

import pytest

from tests.pki import Authority, self_signed
from tests.translator.rules.backend_tls_given import (
    ALWAYS,
    config_map,
    put,
    secret,
    shop,
    trust_bundle,
    world_of,
)
from translator.objects.config_map import ConfigMap
from translator.objects.provenance import TracedMeta
from translator.rules.ca_references import (
    CLUSTER_TRUST_BUNDLES,
    Anchors,
    CaReference,
    anchors,
    ca_reference,
    worst,
)
from translator.rules.certificates import NOW
from translator.verdict import Refused
from translator.world import World

ROOTS = Authority("roots", **ALWAYS)
OTHERS = Authority("others", **ALWAYS)
BRIEF = Authority(
    "brief", not_before=datetime(2026, 1, 1, tzinfo=UTC), not_after=datetime(2026, 2, 1, tzinfo=UTC)
)
IN_CONFIG_MAP = ca_reference("", "ConfigMap", shop("roots"))
IN_SECRET = ca_reference("", "Secret", shop("roots"))
IN_TRUST_BUNDLE = ca_reference("certificates.k8s.io", "ClusterTrustBundle", shop("roots"))


def trusted(found: Anchors) -> list[str]:
    return [anchor.pem for anchor in found.usable]


def only_fault(world: World, reference: CaReference = IN_CONFIG_MAP) -> Refused:
    found = anchors(world, reference)
    assert found.usable == ()
    (fault,) = found.faults
    return fault


def at(world: World, day: int, month: int = 1) -> World:
    world.state(NOW, datetime(2026, month, day, tzinfo=UTC))
    return world


@pytest.mark.parametrize(
    ("world", "reference"),
    [
        (world_of(config_map(ROOTS.pem)), IN_CONFIG_MAP),
        (world_of(secret(ca_crt=ROOTS.pem)), IN_SECRET),
        (world_of(secret(ca_crt=ROOTS.pem, tls_key="never read", tls_crt="")), IN_SECRET),
        (world_of(secret(ca_crt=b"# \xe9\n" + ROOTS.pem.encode())), IN_SECRET),
        (world_of(trust_bundle(ROOTS.pem)), IN_TRUST_BUNDLE),
    ],
    ids=["ConfigMap", "Secret", "TLS Secret", "Secret with a strange comment", "ClusterTrustBundle"],
)
def test_certificates_come_from_three_kinds_of_objects(world: World, reference: CaReference) -> None:
    assert anchors(world, reference).faults == ()
    assert trusted(anchors(world, reference)) == [ROOTS.pem]


def test_a_config_map_may_hold_certificates_as_binary() -> None:
    binary = secret(ca_crt=ROOTS.pem).data
    world = world_of(ConfigMap(TracedMeta("roots", "shop"), binary_data=binary))
    assert trusted(anchors(world, IN_CONFIG_MAP)) == [ROOTS.pem]


def test_comments_that_are_no_utf_8_leave_the_certificates_beside_them_readable() -> None:
    foreign = secret(ca_crt=b"# Z\xfcrich\n" + ROOTS.pem.encode())
    world = world_of(foreign, ConfigMap(TracedMeta("roots", "shop"), binary_data=foreign.data))
    assert trusted(anchors(world, IN_CONFIG_MAP)) == [ROOTS.pem]
    assert trusted(anchors(world, IN_SECRET)) == [ROOTS.pem]


def test_a_cluster_trust_bundle_has_no_namespace() -> None:
    assert str(IN_TRUST_BUNDLE) == "ClusterTrustBundle roots"
    assert str(IN_CONFIG_MAP) == "ConfigMap shop/roots"


@pytest.mark.parametrize(
    ("world", "reference", "says"),
    [
        (world_of(), IN_CONFIG_MAP, "ConfigMap shop/roots does not exist: create it in namespace shop"),
        (world_of(), IN_SECRET, "Secret shop/roots does not exist"),
        (world_of(), IN_TRUST_BUNDLE, "ClusterTrustBundle roots does not exist: create it with"),
        (world_of(ConfigMap(TracedMeta("roots", "shop"))), IN_CONFIG_MAP, "has nothing in ca.crt"),
        (world_of(config_map(" \n")), IN_CONFIG_MAP, "has nothing in ca.crt"),
        (world_of(secret(tls_crt=ROOTS.pem)), IN_SECRET, "has nothing in ca.crt"),
        (
            world_of(trust_bundle("")),
            IN_TRUST_BUNDLE,
            "ClusterTrustBundle roots has nothing in spec.trustBundle",
        ),
        (world_of(config_map("Hello world")), IN_CONFIG_MAP, "holds no certificate in PEM"),
        (world_of(config_map(ROOTS.pem + ROOTS.own.key_pem)), IN_CONFIG_MAP, "holds a private key"),
        (world_of(config_map(ROOTS.pem[:100])), IN_CONFIG_MAP, "block 1 lacks its BEGIN or its END line"),
        (
            world_of(ConfigMap(TracedMeta("roots", "shop"), binary_data={"ca.crt": "no base64"})),
            IN_CONFIG_MAP,
            "has nothing in ca.crt",
        ),
    ],
)
def test_a_reference_without_a_certificate_says_why(world: World, reference: CaReference, says: str) -> None:
    fault = only_fault(world, reference)
    assert fault.reason == "InvalidCACertificateRef"
    assert says in fault.message


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("apps", "ConfigMap"),
        ("", "configmap"),
        ("", "ClusterTrustBundle"),
        ("certificates.k8s.io", "Secret"),
        ("", "Service"),
    ],
)
def test_group_and_kind_must_both_match(group: str, kind: str) -> None:
    world = world_of(config_map(ROOTS.pem), secret(ca_crt=ROOTS.pem), trust_bundle(ROOTS.pem))
    fault = only_fault(world, ca_reference(group, kind, shop("roots")))
    assert fault.reason == "InvalidKind"
    assert f"{kind} of group {group!r}" in fault.message


def test_a_cluster_trust_bundle_is_an_invalid_kind_where_the_api_server_has_none() -> None:
    world = world_of(trust_bundle(ROOTS.pem))
    world.state(CLUSTER_TRUST_BUNDLES, value=False)
    assert only_fault(world, IN_TRUST_BUNDLE).reason == "InvalidKind"
    world.state(CLUSTER_TRUST_BUNDLES, value=True)
    assert trusted(anchors(world, IN_TRUST_BUNDLE)) == [ROOTS.pem]


def test_the_good_certificates_of_an_object_are_used_beside_the_bad_ones() -> None:
    world = at(world_of(config_map(ROOTS.pem + BRIEF.pem + BRIEF.pem[:200] + OTHERS.pem)), 2, month=2)
    found = anchors(world, IN_CONFIG_MAP)
    assert trusted(found) == [ROOTS.pem, OTHERS.pem]
    assert found.faults == (
        Refused(
            "InvalidCACertificateRef",
            "ConfigMap shop/roots: block 3 lacks its BEGIN or its END line: repair or remove it",
        ),
        Refused(
            "ExpiredCertificate",
            "ConfigMap shop/roots: certificate 2 (CN=brief) expired on 2026-02-01 00:00 UTC:"
            " renew or remove it",
        ),
    )


def test_a_certificate_counts_exactly_while_it_is_valid() -> None:
    world = world_of(config_map(BRIEF.pem))
    assert trusted(anchors(world, IN_CONFIG_MAP)) == [BRIEF.pem], "nobody knows the time"
    world.state(NOW, datetime(2025, 12, 31, tzinfo=UTC))
    assert only_fault(world).reason == "ExpiredCertificate"
    assert "(CN=brief) is not valid before 2026-01-01 00:00 UTC" in only_fault(world).message
    assert trusted(anchors(at(world, 1), IN_CONFIG_MAP)) == [BRIEF.pem]
    assert trusted(anchors(at(world, 31), IN_CONFIG_MAP)) == [BRIEF.pem]
    assert only_fault(at(world, 2, month=2)).reason == "ExpiredCertificate"


def test_a_self_signed_server_certificate_is_trusted_with_a_warning() -> None:
    found = anchors(world_of(config_map(self_signed(common_name="pay").pem)), IN_CONFIG_MAP)
    assert len(found.usable) == 1
    [warning] = found.warnings
    assert warning == (
        "ConfigMap shop/roots: certificate 1 (CN=pay) is no certificate authority:"
        " only itself is proved by it"
    )


def test_a_long_list_of_faults_is_cut() -> None:
    fault = only_fault(world_of(config_map("-----BEGIN CERTIFICATE-----\n" * 9)))
    assert fault.message.count("block") == 5
    assert "and 4 more" in fault.message


@pytest.mark.parametrize(
    ("reasons", "worst_one"),
    [
        (["InvalidKind", "InvalidKind"], "InvalidKind"),
        (["ExpiredCertificate"], "ExpiredCertificate"),
        (["InvalidKind", "ExpiredCertificate"], "InvalidCACertificateRef"),
        (["InvalidCACertificateRef", "ExpiredCertificate"], "InvalidCACertificateRef"),
    ],
)
def test_faults_of_several_sorts_share_the_general_reason(reasons: list[str], worst_one: str) -> None:
    assert worst([Refused(reason, "") for reason in reasons]) == worst_one


def test_a_deleted_bundle_is_not_remembered() -> None:
    world = world_of(config_map(ROOTS.pem))
    assert trusted(anchors(world, IN_CONFIG_MAP)) == [ROOTS.pem]
    world.put(ConfigMap, shop("roots"), None)
    assert only_fault(world).reason == "InvalidCACertificateRef"
    put(world, config_map(OTHERS.pem))
    assert trusted(anchors(world, IN_CONFIG_MAP)) == [OTHERS.pem]


def test_a_tick_that_crosses_no_boundary_runs_nothing() -> None:
    world = at(world_of(config_map(BRIEF.pem)), 2)
    anchors(world, IN_CONFIG_MAP)
    before = world.memory.runs.copy()
    anchors(at(world, 3), IN_CONFIG_MAP)
    assert world.memory.runs == before
    anchors(at(world, 2, month=2), IN_CONFIG_MAP)
    assert world.memory.runs["anchors"] == 2
    assert world.memory.runs["_bundle"] == 1


def test_a_label_on_an_object_does_not_have_its_certificates_read_again() -> None:
    world = world_of(config_map(ROOTS.pem))
    anchors(world, IN_CONFIG_MAP)
    put(world, ConfigMap(TracedMeta("roots", "shop", labels={"a": "b"}), data={"ca.crt": ROOTS.pem}))
    anchors(world, IN_CONFIG_MAP)
    assert world.memory.runs["_bundle"] == 1
