"""Backends are real pods, which Kubernetes replaces and takes away, under traffic."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from string import Template
from typing import NamedTuple

from e2e.kubectl import apply, eventually, kubectl, rolled_out
from e2e.scenarios.backend import HOST
from e2e.scenarios.background import beside
from e2e.scenarios.pods import Pods
from e2e.scenarios.release import Release
from e2e.scenarios.shop import Shop
from e2e.scenarios.traffic import ENOUGH, Traffic, flowing
from tests.handshakes.manifests import elsewhere, tls_secret
from tests.pki import Authority

NAME = "pods"
FEW, MANY = 2, 3
ROLLOUTS = 2

PODS = Template("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: pods}
spec:
  replicas: 0
  strategy: {rollingUpdate: {maxUnavailable: 0}}
  selector: {matchLabels: {app: pods}}
  template:
    metadata: {labels: {app: pods}}
    spec:
      containers:
        - name: echo
          image: gateway-api/echo-basic:v1.0.0
          env:
            - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
            - {name: TLS_SERVER_CERT, value: /shown/tls.crt}
            - {name: TLS_SERVER_PRIVKEY, value: /shown/tls.key}
          readinessProbe: {httpGet: {path: /, port: 8443, scheme: HTTPS}, periodSeconds: 1}
          lifecycle: {preStop: {sleep: {seconds: 5}}}
          volumeMounts: [{name: shown, mountPath: /shown}]
      volumes: [{name: shown, secret: {secretName: pods}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: pods}
spec:
  targetRefs: [{group: "", kind: Service, name: pods}]
  validation:
    hostname: $host
    caCertificateRefs: [{group: "", kind: ConfigMap, name: pods}]
---
apiVersion: v1
kind: Service
metadata: {name: pods}
spec:
  selector: {app: pods}
  ports: [{name: https, port: 443, targetPort: 8443, appProtocol: https}]
""")


class Deployed(NamedTuple):
    """A Deployment of pods with TLS, behind a Service with a policy, all of one name."""

    shop: Shop
    name: str = NAME

    @property
    def pods(self) -> frozenset[str]:
        """The names of those that are there, also of those that are about to end."""
        return frozenset(pod.name for pod in Pods(self.shop.namespace, "app=pods").all())

    def scale(self, count: int) -> None:
        """Have so many pods, and wait for them."""
        kubectl("scale", "deployment", NAME, f"--replicas={count}", f"--namespace={self.shop.namespace}")
        rolled_out(self.shop.namespace, NAME)

    def replace(self) -> None:
        """Replace each pod by another, and wait until the last one is gone."""
        before = self.pods
        kubectl("rollout", "restart", f"deployment/{NAME}", f"--namespace={self.shop.namespace}")
        rolled_out(self.shop.namespace, NAME)
        eventually(lambda: not before & self.pods)


@contextmanager
def visited(shop: Shop) -> Iterator[tuple[Deployed, Traffic]]:
    """Have some pods, and constant traffic to them."""
    authority = Authority(NAME)
    shop.trusts(NAME, authority)
    secret = elsewhere(tls_secret(NAME, authority.issue(dns=[HOST])), shop.namespace)
    apply(shop.namespace, json.dumps(secret))
    apply(shop.namespace, PODS.substitute(host=HOST))
    deployed = Deployed(shop)
    deployed.scale(MANY)
    with beside(flowing(Traffic(shop.opens(deployed)))) as traffic:
        traffic.more()
        yield deployed, traffic
        traffic.more()


def test_pods_that_are_rolled_over_and_scaled_cost_no_request(
    release: Release,  # noqa: ARG001  it runs
    shop: Shop,
) -> None:
    with visited(shop) as (deployed, traffic):
        for _ in range(ROLLOUTS):
            before = deployed.pods
            deployed.replace()
            assert before.isdisjoint(answer.backend for answer in traffic.more())
        deployed.scale(FEW)
        traffic.more()
        deployed.scale(MANY)
        eventually(lambda: len({answer.backend for answer in traffic.more()}) == MANY)
    assert traffic.losses == []


def test_without_pods_requests_are_told_so_until_there_are_pods_again(
    release: Release,  # noqa: ARG001  it runs
    shop: Shop,
) -> None:
    with visited(shop) as (deployed, traffic):
        deployed.scale(0)
        eventually(lambda: len(traffic.losses) > ENOUGH)
        deployed.scale(MANY)
        eventually(lambda: len({answer.backend for answer in traffic.more()}) == MANY)
        lost = len(traffic.losses)
        traffic.more()
        assert len(traffic.losses) == lost
    assert {loss.status for loss in traffic.losses} == {HTTPStatus.SERVICE_UNAVAILABLE}
