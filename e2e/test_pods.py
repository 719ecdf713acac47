"""Pods of our own cluster are what their specification says, though they are processes of this machine."""

from string import Template
from typing import Any

import pytest

from e2e.kubectl import apply, eventually, kubectl, read, wait_for

pytestmark = pytest.mark.usefixtures("inside")
MACHINE = "legation.dev/e2e/machine:1"


def said(namespace: str, pod: str) -> str:
    """Read what a pod has said."""
    return kubectl("logs", "--namespace", namespace, pod)


def state(namespace: str, pod: str) -> dict[str, Any]:
    """Read the status of a pod's one container."""
    [container] = read("pod", pod, "--namespace", namespace)["status"]["containerStatuses"]
    return dict(container)


SEEN = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data: {{colour: green}}
---
apiVersion: v1
kind: Secret
metadata: {{name: hidden}}
stringData: {{word: xyzzy}}
---
apiVersion: v1
kind: Pod
metadata: {{name: reader, labels: {{tier: front}}}}
spec:
  restartPolicy: Never
  securityContext: {{runAsUser: 65532, runAsGroup: 65532}}
  initContainers:
    - {{name: first, image: {MACHINE}, command: [sh, -c, "echo before > /shared/word"],
       volumeMounts: [{{name: shared, mountPath: /shared}}]}}
  containers:
    - name: reader
      image: {MACHINE}
      command: [sh, -c]
      args:
        - |
          cat /settings/colour /hidden/word /shared/word /about/tier; echo; echo $(COLOUR)-$(SELF); id -u
          test -s /var/run/secrets/kubernetes.io/serviceaccount/token || exit 4
          echo last words > /dev/termination-log
          exit 3
      env:
        - {{name: COLOUR, valueFrom: {{configMapKeyRef: {{name: settings, key: colour}}}}}}
        - {{name: SELF, valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}}}
      volumeMounts:
        - {{name: settings, mountPath: /settings}}
        - {{name: hidden, mountPath: /hidden}}
        - {{name: shared, mountPath: /shared}}
        - {{name: about, mountPath: /about}}
  volumes:
    - {{name: settings, configMap: {{name: settings}}}}
    - {{name: hidden, secret: {{secretName: hidden}}}}
    - {{name: shared, emptyDir: {{}}}}
    - name: about
      downwardAPI: {{items: [{{path: tier, fieldRef: {{fieldPath: "metadata.labels['tier']"}}}}]}}
"""


def test_a_container_sees_its_volumes_and_variables_and_tells_how_it_ended(namespace: str) -> None:
    apply(namespace, SEEN)
    wait_for(namespace, "jsonpath={.status.phase}=Failed", "pod/reader")
    assert said(namespace, "reader").split("\n") == ["greenxyzzybefore", "front", "green-reader", "65532", ""]
    ended = state(namespace, "reader")["state"]["terminated"]
    assert (ended["exitCode"], ended["message"]) == (3, "last words\n")


ONCE = Template("""
apiVersion: v1
kind: Pod
metadata: {name: once}
spec:
  restartPolicy: Never
  securityContext: {runAsNonRoot: true}
  containers: [{name: once, image: "$image", args: [$argument]}]
""")


@pytest.mark.parametrize(
    ("image", "argument", "words"),
    [
        ("envoyproxy/envoy:v1.40.0", "--version", "envoy  version: "),
        ("legation.dev/legation:test", "--help", "legation [OPTIONS] COMMAND"),
    ],
)
def test_images_of_the_product_are_programs(namespace: str, image: str, argument: str, words: str) -> None:
    apply(namespace, ONCE.substitute(image=image, argument=argument))
    wait_for(namespace, "jsonpath={.status.phase}=Succeeded", "pod/once")
    assert words in said(namespace, "once")


STUBBORN = f"""
apiVersion: v1
kind: Pod
metadata: {{name: stubborn}}
spec:
  terminationGracePeriodSeconds: 2
  containers:
    - name: stubborn
      image: {MACHINE}
      command: [sh, -c, "trap '' TERM; sleep 600 & wait; sleep 600"]
      livenessProbe: {{exec: {{command: ["false"]}}, periodSeconds: 1, failureThreshold: 1}}
"""


def test_a_container_that_fails_its_liveness_probe_is_killed_and_started_again(namespace: str) -> None:
    apply(namespace, STUBBORN)

    wait_for(namespace, "condition=PodReadyToStartContainers", "pod/stubborn")
    ended = eventually(lambda: state(namespace, "stubborn")["lastState"].get("terminated"))
    assert ended["exitCode"] == 137


ORDER = f"""
apiVersion: v1
kind: Pod
metadata: {{name: order}}
spec:
  restartPolicy: Never
  initContainers:
    - name: first
      image: {MACHINE}
      command: [sh, -c, "echo first >> /shared/order"]
      volumeMounts: [{{name: shared, mountPath: /shared}}]
    - name: beside
      image: {MACHINE}
      restartPolicy: Always
      command: [sh, -c]
      args: ["trap 'cat /shared/order; exit 0' TERM; echo beside >> /shared/order; sleep 600 & wait"]
      startupProbe: {{exec: {{command: [grep, beside, /shared/order]}}, failureThreshold: 60}}
      volumeMounts: [{{name: shared, mountPath: /shared}}]
  containers:
    - name: main
      image: {MACHINE}
      command: [sh, -c, "echo main >> /shared/order"]
      volumeMounts: [{{name: shared, mountPath: /shared}}]
  volumes: [{{name: shared, emptyDir: {{}}}}]
"""


BESIDE = ".status.initContainerStatuses[1]"


def test_containers_start_one_after_the_other_and_a_sidecar_ends_last(namespace: str) -> None:
    apply(namespace, ORDER)
    wait_for(namespace, "jsonpath={.status.phase}=Succeeded", "pod/order")
    wait_for(namespace, f"jsonpath={{{BESIDE}.state.terminated.exitCode}}=0", "pod/order")
    assert kubectl("logs", "--namespace", namespace, "order", "beside").split() == ["first", "beside", "main"]


WATCHER = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data: {{colour: green}}
---
apiVersion: v1
kind: Pod
metadata: {{name: watcher}}
spec:
  containers:
    - name: watcher
      image: {MACHINE}
      command: [sh, -c, "until grep -q blue /settings/colour; do sleep 0.2; done; echo blue; sleep 600"]
      readinessProbe: {{exec: {{command: [grep, green, /settings/colour]}}, periodSeconds: 1}}
      volumeMounts: [{{name: settings, mountPath: /settings}}]
  volumes: [{{name: settings, configMap: {{name: settings}}}}]
"""


def test_a_running_pod_sees_how_a_config_map_changes_and_may_lose_its_readiness(namespace: str) -> None:
    apply(namespace, WATCHER)
    wait_for(namespace, "condition=Ready", "pod/watcher")
    kubectl("patch", "configmap", "settings", "--namespace", namespace, "--patch", "data: {colour: blue}")
    assert eventually(lambda: said(namespace, "watcher")) == "blue\n"
    wait_for(namespace, "condition=Ready=False", "pod/watcher")


MISSING = f"""
apiVersion: v1
kind: Pod
metadata: {{name: early}}
spec:
  restartPolicy: Never
  containers:
    - name: early
      image: {MACHINE}
      command: [echo, $(WORD)]
      env: [{{name: WORD, valueFrom: {{secretKeyRef: {{name: late, key: word}}}}}}]
"""


def test_a_pod_waits_for_what_it_refers_to(namespace: str) -> None:
    apply(namespace, MISSING)

    def waiting() -> dict[str, str]:
        statuses = read("pod", "early", "--namespace", namespace)["status"].get("containerStatuses", [{}])
        return dict(statuses[0].get("state", {}).get("waiting", {}))

    eventually(lambda: waiting().get("message") == 'secret "late" not found')
    kubectl("create", "secret", "generic", "late", "--namespace", namespace, "--from-literal=word=xyzzy")
    wait_for(namespace, "jsonpath={.status.phase}=Succeeded", "pod/early")
    assert said(namespace, "early") == "xyzzy\n"


IDLE = f"""
apiVersion: v1
kind: Pod
metadata: {{name: idle}}
spec: {{containers: [{{name: idle, image: {MACHINE}, command: [sleep, infinity]}}]}}
"""


def test_who_calls_a_ready_pod_unready_is_contradicted(namespace: str) -> None:
    apply(namespace, IDLE)
    wait_for(namespace, "condition=Ready", "pod/idle")
    unready = '{"status": {"conditions": [{"type": "Ready", "status": "False"}]}}'
    kubectl("patch", "--namespace", namespace, "pod/idle", "--subresource=status", "--patch", unready)
    wait_for(namespace, "condition=Ready", "pod/idle")
