"""Which Secrets and ConfigMaps are read: those that something refers to, and no others."""

from legation.manifests import read_manifests
from legation.wanted import CERTIFICATE, TRUST, Key, Shift, Wishes, references, trimmed
from translator.names import Name
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway
from translator.objects.kinds import Object
from translator.objects.provenance import TracedMeta
from translator.objects.reference_grant import ReferenceGrant
from translator.objects.secret import Secret
from translator.objects.x_backend import XBackend

EDGE = (Gateway, Name("infra", "edge"))
OTHER = (Gateway, Name("infra", "other"))


def read(text: str) -> Object:
    """Read the one object of a manifest."""
    [one], problems = read_manifests(text, "here")
    assert problems == ()
    return one.thing


def gateway(*refs: str) -> Object:
    """A Gateway whose listener shows these certificates."""
    return read(f"""
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: edge, namespace: infra}}
spec:
  gatewayClassName: legation
  listeners:
  - {{name: tls, port: 443, protocol: HTTPS, tls: {{certificateRefs: [{", ".join(refs)}]}}}}
""")


ASKING = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: infra}
spec:
  gatewayClassName: legation
  listeners: [{name: http, port: 80, protocol: HTTP}]
  tls:
    backend: {clientCertificateRef: {name: own}}
    frontend:
      default: {validation: {caCertificateRefs: [{group: "", kind: ConfigMap, name: staff}]}}
      perPort:
      - port: 8443
        tls: {validation: {caCertificateRefs: [{group: "", kind: Secret, name: others, namespace: certs}]}}
      - {port: 9443, tls: {}}
"""
POLICY = """
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: pay-tls, namespace: shop}
spec:
  targetRefs: [{group: "", kind: Service, name: pay}]
  validation:
    hostname: pay.internal
    caCertificateRefs:
    - {group: "", kind: ConfigMap, name: roots}
    - {group: "", kind: Secret, name: more}
    - {group: certificates.k8s.io, kind: ClusterTrustBundle, name: all}
"""

X_BACKEND = """
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: pay, namespace: shop}
spec:
  type: EndpointSelector
  port: {number: 443}
  endpointSelector: {matchLabels: {app: pay}}
  tls:
    mode: ClientAndServer
    clientCertificateRef: {name: b, namespace: certs}
    validation: {hostname: pay.internal, caCertificateRefs: [{group: "", kind: ConfigMap, name: roots}]}
"""

GRANT = """
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: certificates, namespace: certs}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra}]
  to: [{group: "", kind: Secret, name: b}]
"""
A, B = (Secret, Name("infra", "a")), (Secret, Name("certs", "b"))


def asked(thing: Object) -> dict[Key, frozenset[str]]:
    """Return what an object refers to, and for which values."""
    return {each.key: each.values for each in references(thing)}


def test_a_listener_refers_to_its_certificates_in_the_namespaces_it_names() -> None:
    found = asked(gateway("{name: a}", "{name: b, namespace: certs}", "{name: c, group: x.io, kind: Y}"))
    assert found == {A: CERTIFICATE, B: CERTIFICATE}


def test_a_gateway_refers_to_what_proves_its_clients_and_what_it_shows_to_backends() -> None:
    assert asked(read(ASKING)) == {
        (ConfigMap, Name("infra", "staff")): TRUST,
        (Secret, Name("certs", "others")): TRUST,
        (Secret, Name("infra", "own")): CERTIFICATE,
    }


def test_a_policy_refers_to_its_authorities_in_its_own_namespace() -> None:
    roots, more = (ConfigMap, Name("shop", "roots")), (Secret, Name("shop", "more"))
    assert asked(read(POLICY)) == {roots: TRUST, more: TRUST}


def test_an_xbackend_refers_to_its_authorities_and_to_what_it_is_shown() -> None:
    roots = (ConfigMap, Name("shop", "roots"))
    assert asked(read(X_BACKEND)) == {roots: TRUST, B: CERTIFICATE}
    assert not asked(read(X_BACKEND.partition("  tls:")[0]))


def test_a_grant_for_gateways_is_none_for_xbackends() -> None:
    wishes, x_backend = Wishes(), (XBackend, Name("shop", "pay"))
    grant = (ReferenceGrant, Name("certs", "certificates"))
    wishes.note(x_backend, read(X_BACKEND))
    wishes.note(grant, read(GRANT.replace("namespace: infra", "namespace: shop")))
    assert wishes.of(Secret) == frozenset()
    theirs = "group: gateway.networking.x-k8s.io, kind: XBackend, namespace: shop"
    ours = "group: gateway.networking.k8s.io, kind: Gateway, namespace: infra"
    wishes.note(grant, read(GRANT.replace(ours, theirs)))
    assert wishes.of(Secret) == {B[1]}


def test_what_two_objects_want_is_wanted_until_neither_does() -> None:
    wishes = Wishes()
    b = (Secret, Name("infra", "b"))
    assert wishes.note(EDGE, gateway("{name: a}")) == Shift(frozenset({A}), frozenset())
    assert wishes.note(OTHER, gateway("{name: a}")) == Shift(frozenset(), frozenset())
    wishes.note(EDGE, None)
    assert wishes.of(Secret) == {A[1]}
    assert wishes.note(OTHER, gateway("{name: b}")) == Shift(frozenset({b}), frozenset({A}))
    assert wishes.of(Secret) == {b[1]}
    assert wishes.of(ConfigMap) == frozenset()


def test_what_lies_in_another_namespace_is_wanted_for_as_long_as_a_grant_permits_it() -> None:
    wishes, grant = Wishes(), (ReferenceGrant, Name("certs", "certificates"))
    refs = gateway("{name: b, namespace: certs}", "{name: c, namespace: certs}")
    assert wishes.note(EDGE, refs) == Shift(frozenset(), frozenset())
    assert wishes.of(Secret) == frozenset()
    assert wishes.note(grant, read(GRANT)) == Shift(frozenset({B}), frozenset())
    assert wishes.of(Secret) == {B[1]}
    assert wishes.note(grant, None) == Shift(frozenset(), frozenset({B}))
    assert wishes.of(Secret) == frozenset()


def test_who_asks_says_which_values_are_wanted_and_each_difference_is_noted_once() -> None:
    wishes, policy = Wishes(), (BackendTLSPolicy, Name("shop", "pay-tls"))
    text = POLICY.replace("namespace: shop", "namespace: infra").replace("name: more", "name: a")
    assert wishes.note(policy, read(text)).more >= {A}
    assert wishes.values(A) == TRUST
    assert wishes.altered(Secret) == {A[1]}
    assert wishes.note(EDGE, gateway("{name: a}")) == Shift(frozenset({A}), frozenset())
    assert wishes.values(A) == TRUST | CERTIFICATE
    assert wishes.note(EDGE, None) == Shift(frozenset(), frozenset())
    assert wishes.values(A) == TRUST
    assert wishes.altered(Secret) == {A[1]}
    assert wishes.altered(Secret) == frozenset()


def test_a_secret_that_only_proves_certificates_is_kept_without_its_key_and_every_copy_of_it() -> None:
    annotated = TracedMeta(
        "a", "infra", annotations={"kubectl.kubernetes.io/last-applied-configuration": "key"}
    )
    values = {"tls.crt": "eA==", "tls.key": "eA==", "ca.crt": "eA==", "password": "eA=="}
    found = trimmed(Secret(annotated, data=values), TRUST)
    assert found == Secret(TracedMeta("a", "infra"), data={"ca.crt": "eA=="})
    both = trimmed(Secret(annotated, data=values), TRUST | CERTIFICATE)
    assert isinstance(both, Secret)
    assert both.data.keys() == {"tls.crt", "tls.key", "ca.crt"}
    assert trimmed(Secret(annotated, data=values), frozenset()) is None


def test_values_of_a_config_map_that_nobody_reads_are_not_kept() -> None:
    metadata = TracedMeta("a", "infra")
    told = ConfigMap(metadata, data={"ca.crt": "x", "settings": "y"}, binary_data={"picture": "eA=="})
    assert trimmed(told, TRUST) == ConfigMap(metadata, data={"ca.crt": "x"})
