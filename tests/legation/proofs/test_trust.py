"""What is believed and shown, by whose word and in which Gateways, and until when."""

import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from legation.offline import translated
from legation.proofs.trust import Trusted, as_json, trusted
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, route, service, together
from tests.pki import Authority, Issued
from translator.rules.trust import Purpose

SINCE, UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2101, 1, 1, tzinfo=UTC)
ROOTS = Authority("pay roots", not_before=SINCE, not_after=UNTIL)
OLD = Authority("old roots", not_before=SINCE, not_after=datetime(2021, 1, 1, tzinfo=UTC))
EDGE = ROOTS.issue(dns=["shop.example"], common_name="edge", not_before=SINCE, not_after=UNTIL)
PIN = "ab" * 32


def config_map(name: str, *pems: str) -> str:
    text = "".join(pems).replace("\n", "\n    ")
    return f"""\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}, namespace: shop}}
data:
  ca.crt: |
    {text}
"""


def policy(name: str, target: str, roots: str) -> str:
    return f"""\
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {{name: {name}, namespace: shop}}
spec:
  targetRefs: [{{group: "", kind: Service, name: {target}}}]
  validation: {{hostname: pay.internal, {roots}}}
  options: {{legation.dev/pinned-certificate-sha256: "{PIN}"}}
"""


def tls_secret(issued: Issued, namespace: str = "infra") -> str:
    values = {"tls.crt": issued.chain_pem, "tls.key": issued.key_pem}
    return f"""\
apiVersion: v1
kind: Secret
type: kubernetes.io/tls
metadata: {{name: edge, namespace: {namespace}}}
stringData: {json.dumps(values)}
"""


REFERENCES = 'caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]'
LISTENER_SET = """\
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: shop}
spec:
  parentRef: {name: edge, namespace: infra}
  listeners:
  - {name: https, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: edge}]}}
"""
SECURE = gateway("edge", 443, protocol="HTTPS").replace(
    "port: 443", "tls: {certificateRefs: [{name: edge}]}, port: 443"
)
TILL = f"""\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata:
  name: till
  namespace: shop
  annotations: {{legation.dev/pinned-certificate-sha256: "{PIN}, {PIN[::-1]}"}}
spec:
  type: EndpointSelector
  port: {{number: 8443}}
  endpointSelector: {{matchLabels: {{app: till}}}}
  tls:
    mode: ServerOnly
    validation: {{hostname: till.internal, wellKnownCACertificates: legation.dev/pinned}}
"""
EVERYTHING = together(
    LEGATION_CLASS,
    SECURE.replace("listeners:", "allowedListeners: {namespaces: {from: All}}\n  listeners:", 1),
    LISTENER_SET,
    tls_secret(EDGE),
    tls_secret(EDGE, "shop"),
    service("pay", 8443),
    route("pay", "pay"),
    config_map("roots", ROOTS.pem, OLD.pem),
    policy("pay", "pay", REFERENCES),
    policy("unused", "nobody", "wellKnownCACertificates: System"),
    TILL,
)


def found(tmp_path: Path) -> dict[tuple[str, Purpose], Trusted]:
    (tmp_path / "shop.yaml").write_text(EVERYTHING)
    world = translated([tmp_path]).world
    told = msgspec.json.decode(as_json(trusted(world)), type=tuple[Trusted, ...])
    assert told == trusted(world)
    return {(each.name, each.purpose): each for each in told}


def test_all_trust_is_named_with_who_asks_for_it_and_who_uses_it(tmp_path: Path) -> None:
    told = found(tmp_path)
    assert {key: each.gateways for key, each in told.items()} == {
        ("shop/pay", Purpose.PROVES_BACKENDS): ("infra/edge",),
        ("shop/till", Purpose.PROVES_BACKENDS): (),
        ("shop/unused", Purpose.PROVES_BACKENDS): (),
        ("infra/edge", Purpose.SHOWN_TO_CLIENTS): ("infra/edge",),
        ("shop/more", Purpose.SHOWN_TO_CLIENTS): ("infra/edge",),
    }
    assert told["shop/unused", Purpose.PROVES_BACKENDS].system_roots


def test_certificates_have_their_subject_fingerprint_dates_and_place(tmp_path: Path) -> None:
    good, old = found(tmp_path)["shop/pay", Purpose.PROVES_BACKENDS].certificates
    assert (good.subject, good.fingerprint) == ("CN=pay roots", ROOTS.own.certificate_pin)
    assert (good.source, good.field, good.not_after, good.lapse) == (
        "ConfigMap shop/roots",
        "ca.crt",
        UNTIL,
        "",
    )
    assert old.lapse == "expired on 2021-01-01 00:00 UTC"


def test_pins_are_shortened_and_one_alone_has_no_backup(tmp_path: Path) -> None:
    pay = found(tmp_path)["shop/pay", Purpose.PROVES_BACKENDS]
    assert [(each.form, each.value) for each in pay.pins] == [("certificate", f"{PIN[:8]}...")]
    assert not pay.has_backup_pin


def test_pins_that_an_xbackend_names_by_annotations_are_told_as_those_of_a_policy(tmp_path: Path) -> None:
    till = found(tmp_path)["shop/till", Purpose.PROVES_BACKENDS]
    assert [each.value for each in till.pins] == [f"{PIN[:8]}...", f"{PIN[::-1][:8]}..."]
    assert till.has_backup_pin


def test_no_key_is_ever_told(tmp_path: Path) -> None:
    told = as_json(tuple(found(tmp_path).values())).decode()
    assert EDGE.certificate_pin in told
    assert "PRIVATE" not in told
    assert "-----" not in told
