"""What a batch changes of what backends must prove is told once, with its cause, and costs what moved."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw, structs

from legation.change import Put, Stated
from legation.manifests import read_manifests
from legation.proofs import changes
from legation.proofs.audit_record import (
    Began,
    Changed,
    Edit,
    Policy,
    Strength,
    Weak,
    Word,
    beginning,
    line,
    read_line,
)
from legation.proofs.changes import Used
from legation.proofs.hops import audited
from legation.proofs.trust_news import words
from legation.pump import the_time
from legation.workbench import Change, Outcome, Workbench
from tests import worlds
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.legation.proofs.test_audit_record import objects
from tests.legation.proofs.test_hops import PERMIT, WEAK, led_to
from tests.legation.proofs.test_trust import EDGE, SECURE, config_map, tls_secret
from tests.pki import Authority
from tests.worlds import puts, working
from translator.envoy.proofs import Grade, Proof
from translator.memo import query
from translator.names import Name, Ref
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import as_manifest, name_of
from translator.objects.namespace import Namespace
from translator.rules.certificates import NOW
from translator.rules.creed import Creed
from translator.world import World

OLD, NEW = Authority("old"), Authority("new")
BRIEF = Authority(
    "brief", not_before=datetime(2025, 1, 1, tzinfo=UTC), not_after=datetime(2040, 1, 1, tzinfo=UTC)
)
LONG = Authority("long", not_after=datetime(2050, 1, 1, tzinfo=UTC))
ROOTS = Ref("ConfigMap", Name("shop", "roots"))
TLS = Ref("BackendTLSPolicy", Name("shop", "tls"))
REFERENCES = 'caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]'
EVERYTHING = together(
    LEGATION_CLASS, gateway("edge", 80), gateway("inner", 81), service("pay", 8443), route("pay", "pay")
)


def policy(hostname: str = "pay.internal", options: str = "") -> str:
    return f"""\
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {{name: tls, namespace: shop}}
spec:
  targetRefs: [{{group: "", kind: Service, name: pay}}]
  validation: {{hostname: {hostname}, caCertificateRefs: [{{group: "", kind: ConfigMap, name: roots}}]}}
  options: {{{options}}}
"""


def puts_of(text: str) -> list[Put]:
    loaded, problems = read_manifests(text, "test.yaml")
    assert not problems
    return [Put(type(each.thing), name_of(each.thing), each.thing) for each in loaded]


X_BACKEND = f"""\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {{name: own, namespace: shop}}
spec:
  type: EndpointSelector
  port: {{number: 443}}
  endpointSelector: {{matchLabels: {{app: pay}}}}
  tls: {{mode: ServerOnly, validation: {{hostname: pay.internal, {REFERENCES}}}}}
"""
OWN = "group: gateway.networking.x-k8s.io, kind: XBackend, name: own"


def begun(*texts: str) -> Callable[..., Outcome]:
    """Begin with these manifests; what it returns puts more."""
    bench = Workbench(asks_envoys=False)
    first = bench.work([the_time(), *puts_of(together(EVERYTHING, *texts))])
    assert first.records == ()
    assert first.roots == ()
    return lambda *more: bench.work([each for what in more for each in _changes(what)])


def test_what_many_hops_prove_by_the_same_roots_is_kept_once() -> None:
    work = begun(policy(), config_map("roots", OLD.pem + NEW.pem))
    two = policy().replace(
        "kind: Service, name: pay", 'kind: Service, name: pay}, {group: "", kind: Service, name: cart'
    )
    records = work(two, service("cart", 8443), route("cart", "cart", host="cart.example")).records
    records += work(config_map("roots", OLD.pem)).records
    said = [each.after.fingerprints for each in records if each.after and each.after.fingerprints]
    assert len(said) == 3
    assert said[-1] is said[-2]


def _changes(what: str | Change) -> list[Change]:
    return [*puts_of(what)] if isinstance(what, str) else [what]


def only(outcome: Outcome) -> Changed:
    [found] = outcome.records
    assert read_line(line(found)) == found
    return found


GONE = Put(BackendTLSPolicy, Name("shop", "tls"), None)


def test_a_policy_that_is_applied_takes_the_place_of_cleartext_in_one_record() -> None:
    put = begun(config_map("roots", OLD.pem))
    found = only(put(policy()))
    assert (found.gateway, found.cluster, found.backend) == ("infra/edge", "shop/pay:80+tls", "shop/pay:80")
    assert (found.why, objects(found)) == ("PolicyApplied", ("BackendTLSPolicy shop/tls",))
    assert found.before is not None
    assert found.after is not None
    assert (found.before.grade, found.after.grade) == (Grade.CLEARTEXT, Grade.VERIFIED)
    assert found.after.fingerprints == (OLD.own.certificate_pin,)
    assert found.after.names == ("pay.internal",)
    assert found.policy is not None
    assert found.policy.name == "shop/tls"


def test_a_policy_that_goes_leaves_a_record() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    found = only(put(GONE))
    assert found.why == "PolicyGone"
    assert found.policy == Policy("shop/tls")
    assert found.because == (Edit("BackendTLSPolicy shop/tls", gone=True),)
    assert found.after is not None
    assert found.after.grade is Grade.CLEARTEXT


def test_a_policy_that_turns_to_another_service_leaves_a_record_of_who_turned_it() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    found = only(put(noted(policy().replace("name: pay}", "name: other}"), "mallory", 7, SPEC)))
    assert found.why == "PolicyGone"
    assert found.policy == Policy("shop/tls", "BackendTLSPolicy", 7, "4711", "mallory", "Apply", NOTED)


NOTED = datetime(2026, 1, 1, 3, tzinfo=UTC)


def noted(manifest: str, manager: str, generation: int, fields: Mapping[str, object]) -> Put:
    """Return the only object of a manifest as an API server sends it, which noted who wrote these fields."""
    [loaded], _ = read_manifests(manifest, "test.yaml")
    writer = {"manager": manager, "operation": "Apply", "time": NOTED, "fieldsV1": fields}
    sent: Any = as_manifest(loaded.thing)
    sent["metadata"] |= {"resourceVersion": "4711", "generation": generation, "managedFields": [writer]}
    thing = msgspec.json.decode(msgspec.json.encode(sent), type=type(loaded.thing))
    return Put(type(thing), name_of(thing), thing, "4711")


SPEC: Mapping[str, object] = {"f:spec": {}}


def cause(outcome: Outcome) -> tuple[str, Edit]:
    found = only(outcome)
    [edit] = found.because
    return found.why, edit


def test_who_swapped_a_ca_is_named() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    changed = noted(config_map("roots", NEW.pem), "mallory", 0, {"f:data": {}})
    assert cause(put(changed)) == ("CaChanged", edited(str(ROOTS), 0, "mallory"))


def edited(what: str, generation: int, manager: str) -> Edit:
    return Edit(what, False, generation, "4711", manager, "Apply", NOTED)  # noqa: FBT003  # it is not gone


SHOP = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {env: dev}}\n"
SELECTED = PERMIT.replace("Permit", "Permit, namespaceSelector: {matchLabels: {env: dev}}")
STRICT = PERMIT.replace("name: dev", "name: strict").replace("Permit", "Forbid")
PARAMETERS = "parametersRef: {group: legation.dev, kind: GatewayParameters, name: strict, namespace: infra}}"


BYSTANDERS = puts_of(
    together(
        SHOP.replace("name: shop", "name: aside"),
        PERMIT.replace("infra", "aside"),
        LEGATION_CLASS.replace("name: legation", "name: aside"),
        gateway("edge", 80).replace("infra", "aside"),
        route("aside", "aside"),
    )
)  # of the kinds that permit or lead; nothing that is told here came of them


@pytest.mark.parametrize(
    ("taken", "fields"),
    [
        (PERMIT.replace("Permit", "Forbid"), SPEC),
        (LEGATION_CLASS.replace("controller}", f"controller, {PARAMETERS}"), SPEC),
        (gateway("edge", 80), SPEC),
        (SHOP.replace("env: dev", "env: prod"), {"f:metadata": {"f:labels": {"f:env": {}}}}),
    ],
    ids=["GatewayParameters", "GatewayClass", "Gateway", "Namespace"],
)
def test_who_took_a_permission_back_is_named(taken: str, fields: Mapping[str, object]) -> None:
    bench = Workbench(asks_envoys=False)
    given = led_to("weak").replace(PERMIT, SELECTED)
    bench.work([the_time(), *puts_of(together(given, SHOP, STRICT, WEAK))])
    change = noted(taken, "officer", 3, fields)
    said = edited(str(Ref(change.kind.__name__, change.name)), 3, "officer")
    assert cause(bench.work([*BYSTANDERS, change, Put(Namespace, Name("", "left"), None)])) == (
        "PermissionChanged",
        said,
    )


def test_what_an_x_backend_says_itself_is_its_word_and_names_who_wrote_it() -> None:
    led = route("own", "pay").replace("name: pay, port: 80", OWN)
    put = begun(config_map("roots", OLD.pem), X_BACKEND, led)
    written = noted(X_BACKEND.partition("  tls:")[0], "mallory", 2, SPEC)
    found = only(put(written))
    word = Policy("shop/own", "XBackend", 2, "4711", "mallory", "Apply", NOTED)
    assert (found.why, found.policy) == ("BackendChanged", word)
    assert found.because == (edited("XBackend shop/own", 2, "mallory"),)
    assert found.after is not None
    assert found.after.grade is Grade.CLEARTEXT


@pytest.mark.parametrize(
    ("options", "hostname"),
    [("", "other.internal"), (f"legation.dev/pinned-certificate-sha256: {'ab' * 32}", "pay.internal")],
)
def test_another_name_or_a_pin_is_a_change_of_the_policy(options: str, hostname: str) -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    found = only(put(policy(hostname, options)))
    assert found.why == "PolicyChanged"
    assert found.before != found.after


def test_a_rotation_of_roots_is_told_by_fingerprint_at_each_step() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    both, new = put(config_map("roots", OLD.pem, NEW.pem)), put(config_map("roots", NEW.pem))
    assert (only(both).why, objects(only(both))) == ("CaChanged", (str(ROOTS),))
    [first], [second] = both.roots, new.roots
    assert first.owner == Ref("BackendTLSPolicy", Name("shop", "tls"))
    assert [(each.subject, each.fingerprint) for each in first.added] == [("CN=new", NEW.own.certificate_pin)]
    assert first.removed == second.added == ()
    assert [each.subject for each in second.removed] == ["CN=old"]


def test_order_repetition_and_whitespace_are_no_change() -> None:
    put = begun(config_map("roots", OLD.pem, NEW.pem), policy())
    for pems in ((NEW.pem, OLD.pem), (NEW.pem, "\n\n", OLD.pem, NEW.pem), ("# words\n", OLD.pem, NEW.pem)):
        outcome = put(config_map("roots", *pems))
        assert (outcome.records, outcome.roots) == ((), ())


def test_roots_that_are_lost_for_a_while_are_compared_with_those_that_come() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    refused = put(Put(ConfigMap, ROOTS.name, None))
    assert only(refused).why == "CaChanged"
    assert only(refused).after is not None
    assert told_of(refused) == ["trusts from now on nobody", "no longer trusts CN=old"]
    assert told_of(put(config_map("roots", NEW.pem))) == ["trusts from now on CN=new"]


def told_of(outcome: Outcome) -> list[str]:
    """Return what is said of the only change of trust, without fingerprints."""
    [change] = outcome.roots
    return re.sub(r" \(SHA-256 \w+\)", "", words(change)).split("; ")


@pytest.mark.parametrize(
    ("other", "now", "formerly"),
    [
        ("wellKnownCACertificates: System", "the roots of Envoy's machine", "the roots of Envoy's machine"),
        ("wellKnownCACertificates: legation.dev/pinned", "pins alone", "pins alone"),
        (
            "wellKnownCACertificates: legation.dev/insecure-skip-verification",
            "whoever answers, where that is permitted",
            "whoever answers, where that is permitted",
        ),
        ("wellKnownCACertificates: example.com/roots", "nobody", ""),
    ],
)
def test_roots_that_give_way_to_another_kind_of_trust_or_take_its_place_are_told(
    other: str, now: str, formerly: str
) -> None:
    pins = f"legation.dev/pinned-certificate-sha256: {'ab' * 32}"
    put = begun(config_map("roots", OLD.pem), policy(options=pins))
    changed = policy(options=pins).replace(REFERENCES, other)
    assert told_of(put(changed)) == [f"trusts from now on {now}", "no longer trusts CN=old"]
    back = [f"no longer trusts {formerly}"] if formerly else []
    assert told_of(put(policy(options=pins))) == ["trusts from now on CN=old", *back]


def test_what_somebody_trusts_who_was_not_known_before_is_no_change() -> None:
    put = begun()
    assert put(config_map("roots", OLD.pem), policy()).roots == ()
    assert put(GONE).roots == ()


def test_roots_that_prove_clients_are_told_by_port() -> None:
    roots = [config_map("roots", each.pem).replace("shop", "infra") for each in (OLD, NEW)]
    asked = f"{{port: 443, tls: {{validation: {{{REFERENCES}}}}}}}"
    asks = f"{SECURE}  tls: {{frontend: {{default: {{}}, perPort: [{asked}]}}}}\n"
    put = begun(tls_secret(EDGE), roots[0])
    assert put(SECURE).roots == ()
    assert told_of(put(asks)) == ["for clients of port 443, trusts from now on CN=old"]
    outcome = put(roots[1])
    assert told_of(outcome) == [
        "for clients of port 443, trusts from now on CN=new",
        "no longer trusts CN=old",
    ]
    edge = Name("infra", "edge")
    assert outcome.ends.keys() == {Used("infra/edge", Ref(kind, edge)) for kind in ("Gateway", "Secret")}
    assert told_of(put(SECURE))[-1] == "no longer trusts CN=new"


def test_a_policy_made_anew_owes_nothing_to_the_one_of_its_name() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    put(Put(ConfigMap, ROOTS.name, None))
    put(GONE)
    assert put(config_map("roots", NEW.pem), policy()).roots == ()


def test_roots_that_end_leave_a_record_that_blames_the_clock() -> None:
    put = begun(config_map("roots", BRIEF.pem, LONG.pem), policy())
    found = only(put(Stated(NOW, datetime(2041, 1, 1, tzinfo=UTC))))
    assert (found.why, found.because) == ("TimePassed", ())
    assert found.before is not None
    assert found.after is not None
    assert len(found.before.fingerprints) == 2
    assert len(found.after.fingerprints) == 1


def test_a_permission_that_is_withdrawn_leaves_a_record() -> None:
    bench = Workbench(asks_envoys=False)
    bench.work([the_time(), *puts_of(together(led_to("weak"), WEAK))])
    found = only(bench.work(puts_of(PERMIT.replace("Permit", "Forbid"))))
    assert (found.why, objects(found)) == ("PermissionChanged", ("GatewayParameters infra/dev",))
    assert found.before is not None
    assert found.after is not None
    assert (found.before.grade, found.after.grade) == (Grade.UNVERIFIED, Grade.REFUSED)


def test_a_status_that_was_written_at_the_same_time_is_no_cause() -> None:
    bench, there = Workbench(asks_envoys=False), puts_of(together(led_to("weak"), WEAK))
    bench.work([the_time(), *there])
    [edge] = [each.thing for each in there if isinstance(each.thing, Gateway)]
    judged = structs.replace(edge, status=Raw(b'{"conditions": []}'))
    found = only(
        bench.work([Put(Gateway, name_of(edge), judged), *puts_of(PERMIT.replace("Permit", "Forbid"))])
    )
    assert (found.why, objects(found)) == ("PermissionChanged", ("GatewayParameters infra/dev",))


def test_a_gateway_or_a_route_that_leads_there_is_why_a_way_is_new() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    found = only(put(route("more", "pay", parent="inner"), *BYSTANDERS))
    assert (found.gateway, found.before, found.why) == ("infra/inner", None, "Reached")
    assert objects(found) == ("HTTPRoute shop/more",)


def test_why_a_way_is_gone_names_a_route_that_still_is_there_or_all_that_may_have_led() -> None:
    put = begun(config_map("roots", OLD.pem), policy(), route("more", "pay", parent="inner"))
    found = only(put(route("more", "pay", parent="gone"), *BYSTANDERS))
    assert (found.after, found.why, objects(found)) == (None, "NoLongerReached", ("HTTPRoute shop/more",))
    put = begun(config_map("roots", OLD.pem), policy(), route("more", "pay", parent="inner"))
    found = only(put(Put(HTTPRoute, Name("shop", "more"), None)))
    assert (found.after, found.why, objects(found)) == (None, "NoLongerReached", ("HTTPRoute shop/more",))


def test_a_change_of_an_endpoint_changes_no_proof_and_reads_none() -> None:
    put = begun(config_map("roots", OLD.pem), policy())
    outcome = put(service("pay", 9443))
    assert (outcome.records, outcome.roots) == ((), ())


def test_the_soonest_end_of_what_is_served_is_known() -> None:
    put = begun(config_map("roots", BRIEF.pem, OLD.pem), policy())
    end = {Used("infra/edge", TLS): datetime(2040, 1, 1, tzinfo=UTC)}
    assert put(config_map("roots", BRIEF.pem)).ends == end
    assert put(route("more", "pay", parent="inner")).ends == end | {
        Used("infra/inner", TLS): datetime(2040, 1, 1, tzinfo=UTC)
    }
    assert put(Put(HTTPRoute, Name("shop", "more"), None)).ends == end
    assert put(GONE).ends == {}


@pytest.mark.parametrize("beside", [(), (LONG.pem,)])
def test_an_end_that_has_passed_is_known_until_nothing_refers_to_that_root(beside: tuple[str, ...]) -> None:
    put = begun(config_map("roots", BRIEF.pem, *beside), policy())
    ended = put(Stated(NOW, datetime(2041, 1, 1, tzinfo=UTC)))
    assert ended.ends == {Used("infra/edge", TLS): datetime(2040, 1, 1, tzinfo=UTC)}
    assert put(config_map("roots", LONG.pem)).ends == {
        Used("infra/edge", TLS): datetime(2050, 1, 1, tzinfo=UTC)
    }


def test_an_end_that_passed_before_we_began_is_known() -> None:
    bench = Workbench(asks_envoys=False)
    now = Stated(NOW, datetime(2041, 1, 1, tzinfo=UTC))
    outcome = bench.work(
        [
            now,
            *puts_of(together(EVERYTHING, config_map("roots", BRIEF.pem), policy())),
        ]
    )
    assert outcome.ends == {Used("infra/edge", TLS): datetime(2040, 1, 1, tzinfo=UTC)}


def test_a_mistake_of_ours_costs_lines_of_the_record_and_nothing_that_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put = begun(config_map("roots", OLD.pem), policy())

    def mistaken(_: bytes) -> Proof:
        raise KeyError("sni")  # noqa: EM101  # as a mistake of ours would

    with monkeypatch.context() as poisoned:
        poisoned.setattr(changes, "proof", mistaken)
        outcome = put(policy("other.internal"))
    assert list(outcome.broken) == ["the audit record"]
    assert [each.proof.server_name for each in audited(outcome.snapshots)] == ["other.internal"]
    after = put(policy("third.internal"))
    assert not after.broken
    assert only(after).after is not None


def test_a_mistake_of_ours_about_somebodys_trust_is_named_and_costs_nothing_that_is_served(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @query
    def mistaken(_world: World, _owner: Ref) -> Creed:
        raise KeyError("roots")  # noqa: EM101  # as a mistake of ours would

    monkeypatch.setattr(changes, "creed", mistaken)
    bench = Workbench(asks_envoys=False)
    texts = together(EVERYTHING, config_map("roots", OLD.pem), policy())
    outcome = bench.work([the_time(), *puts_of(texts)])
    assert f"trust of {TLS}" in outcome.broken
    assert {each.proof.grade for each in audited(outcome.snapshots)} == {Grade.VERIFIED}


def test_a_record_begins_with_counts_and_names_what_is_weak() -> None:
    bench = Workbench(asks_envoys=False)
    skipping = "wellKnownCACertificates: legation.dev/insecure-skip-verification"
    own = together(
        X_BACKEND.replace(REFERENCES, skipping), route("own", "pay").replace("name: pay, port: 80", OWN)
    )
    outcome = bench.work([the_time(), *puts_of(together(led_to("weak", "plain"), WEAK, own))])
    at = datetime(2026, 1, 1, tzinfo=UTC)
    first, *others = beginning(audited(outcome.snapshots), at)
    assert isinstance(first, Began)
    assert first.grades == {"cleartext": 1, "unverified": 2}
    weak = [each for each in others if isinstance(each, Weak)]
    assert [each.policy for each in weak] == [Word("shop/own", "XBackend"), Word("shop/weak")]
    assert {each.after.grade for each in weak} == {Grade.UNVERIFIED}
    assert [read_line(line(each)) for each in (first, *others)] == [first, *weak]


def proved(outcome: Outcome) -> Counter[tuple[object, ...]]:
    """Count what is proved where, as the audit reads it."""
    return Counter(
        (each.gateway, each.proof.backend, each.proof.grade, each.proof.names, each.proof.pinned)
        for each in audited(outcome.snapshots)
    )


def told(gateway: str, backend: str, strength: Strength | None) -> list[tuple[object, ...]]:
    return [(gateway, backend, strength.grade, strength.names, strength.pins)] if strength else []


@settings(max_examples=40)
@given(st.lists(st.lists(puts(), min_size=1, max_size=4), min_size=1, max_size=5))
def test_after_any_changes_the_records_lead_from_what_was_proved_to_what_is(
    batches: list[list[worlds.Put]],
) -> None:
    bench = Workbench(asks_envoys=False)
    expected = proved(bench.work(in_kinds(working())))
    for batch in batches:
        outcome = bench.work(in_kinds(batch))
        assert not outcome.broken
        for each in outcome.records:
            assert each.before != each.after or each.why == "OtherPolicy"
            expected.subtract(told(each.gateway, each.backend, each.before))
            expected.update(told(each.gateway, each.backend, each.after))
        assert +expected == proved(outcome)


def in_kinds(batch: Iterable[worlds.Put]) -> list[Put]:
    return [Put(worlds.TYPES[each.kind], each.name, each.thing) for each in batch]
