"""Which Secrets and ConfigMaps are read: those that something refers to, and no others."""

from legation.manifests import read_manifests
from legation.wanted import Wishes, trimmed, wanted_by
from translator.names import Name
from translator.objects.config_map import ConfigMap
from translator.objects.gateway import Gateway
from translator.objects.kinds import Object
from translator.objects.meta import ObjectMeta
from translator.objects.secret import Secret

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


def test_a_listener_wants_its_certificates_in_the_namespaces_it_names() -> None:
    asked = wanted_by(gateway("{name: a}", "{name: b, namespace: certs}", "{name: c, group: x.io, kind: Y}"))
    assert asked == {(Secret, Name("infra", "a")), (Secret, Name("certs", "b"))}


def test_a_gateway_wants_what_proves_its_clients_and_what_it_shows_to_backends() -> None:
    asked = wanted_by(read(ASKING))
    proving = {(ConfigMap, Name("infra", "staff")), (Secret, Name("certs", "others"))}
    assert asked == {*proving, (Secret, Name("infra", "own"))}


def test_a_policy_wants_its_authorities_in_its_own_namespace() -> None:
    assert wanted_by(read(POLICY)) == {(ConfigMap, Name("shop", "roots")), (Secret, Name("shop", "more"))}


def test_what_two_objects_want_is_wanted_until_neither_does() -> None:
    wishes = Wishes()
    a = (Secret, Name("infra", "a"))
    assert wishes.note(EDGE, gateway("{name: a}")) == {a}
    assert wishes.note(OTHER, gateway("{name: a}")) == frozenset()
    wishes.note(EDGE, None)
    assert wishes.of(Secret) == {Name("infra", "a")}
    assert wishes.note(OTHER, gateway("{name: b}")) == {(Secret, Name("infra", "b"))}
    assert wishes.of(Secret) == {Name("infra", "b")}
    assert wishes.of(ConfigMap) == frozenset()


def test_values_that_nobody_reads_are_not_kept() -> None:
    metadata = ObjectMeta("a", "infra")
    kept = {"tls.crt": "eA==", "tls.key": "eA==", "ca.crt": "eA=="}
    assert trimmed(Secret(metadata, data={**kept, "password": "eA=="})) == Secret(metadata, data=kept)
    told = ConfigMap(metadata, data={"ca.crt": "x", "settings": "y"}, binary_data={"picture": "eA=="})
    assert trimmed(told) == ConfigMap(metadata, data={"ca.crt": "x"})
