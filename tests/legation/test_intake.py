"""What is handed on for translation, and when: never a half."""

from k8s_watch.change import Absent, Gone, Put, Synced, Unreadable
from k8s_watch.kind import ObjectName
from legation import change
from legation.intake import Intake
from tests.legation.test_wanted import POLICY, read
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.cluster_trust_bundle import ClusterTrustBundle
from translator.objects.config_map import ConfigMap
from translator.objects.kinds import Object
from translator.objects.meta import ObjectMeta
from translator.objects.provenance import TracedMeta
from translator.objects.secret import Secret
from translator.objects.service import Service
from translator.rules.ca_references import CLUSTER_TRUST_BUNDLES

KINDS = (BackendTLSPolicy, ClusterTrustBundle, ConfigMap, Secret)
PAY_TLS, ROOTS, MORE = ObjectName("shop", "pay-tls"), ObjectName("shop", "roots"), ObjectName("shop", "more")


def put(name: ObjectName, thing: Object) -> Put[Object]:
    return Put(name, "7", thing)


def synced(*without: type) -> Intake:
    """Everything was told, and there was nothing."""
    intake = Intake(KINDS)
    for kind in KINDS:
        if kind not in without:
            intake.take(kind, [Synced()])
    intake.hand_on()
    return intake


def test_nothing_is_safe_before_every_kind_was_told_whole_or_is_absent() -> None:
    intake = Intake(KINDS)
    for kind in (BackendTLSPolicy, ConfigMap, Secret):
        assert not intake.is_safe
        intake.take(kind, [Synced()])
    assert list(intake.unknown) == [ClusterTrustBundle]
    intake.take(ClusterTrustBundle, [Absent()])
    assert intake.is_safe
    assert list(intake.unknown) == []
    assert change.Stated(CLUSTER_TRUST_BUNDLES, value=False) in intake.hand_on()


def test_a_policy_waits_for_what_it_refers_to() -> None:
    intake = synced()
    intake.take(BackendTLSPolicy, [put(PAY_TLS, read(POLICY))])
    assert not intake.is_answered
    roots = ConfigMap(TracedMeta("roots", "shop"), data={"ca.crt": "x"})
    intake.take(ConfigMap, [put(ROOTS, roots)])
    assert not intake.is_answered
    intake.take(Secret, [Gone(MORE)])
    assert intake.is_answered
    assert [each.thing for each in intake.hand_on() if isinstance(each, change.Put)] == [
        read(POLICY),
        roots,
        None,
    ]


def test_what_was_waited_for_in_vain_is_not_waited_for_again() -> None:
    intake = synced()
    intake.take(BackendTLSPolicy, [put(PAY_TLS, read(POLICY))])
    assert len(intake.hand_on()) == 1
    assert intake.is_answered
    intake.take(BackendTLSPolicy, [put(PAY_TLS, read(POLICY.replace("pay.internal", "pay.example")))])
    assert intake.is_answered


def test_a_policy_that_nobody_can_read_holds_everything_back_until_it_can_be_read_or_is_gone() -> None:
    intake = synced()
    intake.take(BackendTLSPolicy, [Unreadable(PAY_TLS, "8", "spec is missing")])
    assert intake.in_the_way == {Ref("BackendTLSPolicy", Name("shop", "pay-tls")): "spec is missing"}
    assert not intake.is_safe
    intake.take(BackendTLSPolicy, [Gone(PAY_TLS)])
    assert intake.is_safe


def test_another_object_that_nobody_can_read_holds_nothing_back() -> None:
    intake = synced()
    intake.take(BackendTLSPolicy, [put(PAY_TLS, read(POLICY))])
    intake.take(ConfigMap, [Unreadable(ROOTS, "8", "data is odd")])
    intake.take(Secret, [Gone(MORE)])
    assert intake.is_safe
    assert intake.is_answered
    assert intake.unreadable == {Ref("ConfigMap", Name("shop", "roots")): "data is odd"}


def test_a_kind_that_appears_later_is_said_to_be_there_with_its_first_object() -> None:
    intake = synced(ClusterTrustBundle)
    intake.take(ClusterTrustBundle, [Absent()])
    intake.hand_on()
    bundle = ClusterTrustBundle(TracedMeta("all"), read_bundle().spec)
    intake.take(ClusterTrustBundle, [put(ObjectName("", "all"), bundle)])
    assert intake.hand_on() == [
        change.Stated(CLUSTER_TRUST_BUNDLES, value=True),
        change.Put(ClusterTrustBundle, Name("", "all"), bundle, "7"),
    ]


def read_bundle() -> ClusterTrustBundle:
    text = "apiVersion: certificates.k8s.io/v1beta1\nkind: ClusterTrustBundle\nmetadata: {name: all}\n"
    thing = read(text + "spec: {trustBundle: x}\n")
    assert isinstance(thing, ClusterTrustBundle)
    return thing


def test_what_is_made_anew_does_not_come_before_it_was_gone() -> None:
    intake = Intake((*KINDS, Service))
    for kind in (*KINDS, Service):
        intake.take(kind, [Synced()])
    policy = put(PAY_TLS, read(POLICY))
    intake.take(BackendTLSPolicy, [policy])
    intake.hand_on()
    intake.take(Service, [put(ObjectName("shop", "pay"), Service(ObjectMeta("pay", "shop")))])
    intake.take(BackendTLSPolicy, [Gone(PAY_TLS)])
    assert [each for each in intake.hand_on() if isinstance(each, change.Put)] == []
    intake.take(BackendTLSPolicy, [policy])
    told = [each for each in intake.hand_on() if isinstance(each, change.Put)]
    assert [each.thing for each in told if each.kind is BackendTLSPolicy] == [None, policy.thing]
