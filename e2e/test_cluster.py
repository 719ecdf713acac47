"""The cluster that all other tests here stand on is a cluster."""

import errno
import json
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from string import Template
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from e2e.cluster.build import Programs
from e2e.cluster.place import PROJECT, Place, here
from e2e.cluster.processes import Recorded
from e2e.kubectl import WITHIN, apply, eventually, kubectl, read, rolled_out, wait_for

ECHO = Template("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo}
spec:
  replicas: 2
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec:
      containers:
        - name: echo
          image: gateway-api/echo-basic:v1.0.0
          env:
            - {name: SERVICE_NAME, value: "$version"}
            - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
            - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
          readinessProbe: {httpGet: {path: /, port: 3000}, periodSeconds: 1}
          lifecycle: {preStop: {sleep: {seconds: 10}}}
---
apiVersion: v1
kind: Service
metadata: {name: echo}
spec:
  type: $type
  selector: {app: echo}
  ports: [{port: 80, targetPort: 3000}]
""")

UNUSED = "198.19.128.9"  # by any Service that does not ask for it
LATE = f"""
apiVersion: v1
kind: Service
metadata: {{name: late}}
spec:
  type: LoadBalancer
  loadBalancerIP: {UNUSED}
  selector: {{app: echo}}
  ports: [{{port: 80, targetPort: 3000}}]
"""


def echo(namespace: str, version: str = "1", type_: str = "ClusterIP") -> None:
    """Run two pods that tell who they are, behind a Service."""
    apply(namespace, ECHO.substitute(version=version, type=type_))
    rolled_out(namespace, "echo")


def ask(address: str, port: int = 80) -> dict[str, Any]:
    """Ask an echo server who it is."""
    with urlopen(f"http://{address}:{port}/", timeout=5) as answer:
        told: dict[str, Any] = json.load(answer)
    return told


def pods(namespace: str) -> dict[str, dict[str, Any]]:
    """Give the echo pods that are not on their way out, by name."""
    found = read("pods", "--namespace", namespace, "--selector=app=echo")["items"]
    return {pod["metadata"]["name"]: pod for pod in found if "deletionTimestamp" not in pod["metadata"]}


@pytest.mark.usefixtures("cluster")
def test_the_api_server_answers() -> None:
    assert kubectl("get", "--raw=/readyz") == "ok"


@pytest.mark.usefixtures("inside")
def test_the_api_server_knows_bundles_of_trust() -> None:
    served = json.loads(kubectl("get", "--raw=/apis/certificates.k8s.io/v1beta1"))
    assert "clustertrustbundles" in {resource["name"] for resource in served["resources"]}


@pytest.mark.usefixtures("cluster")
def test_every_kind_of_the_experimental_channel_is_established() -> None:
    files = Programs(here().programs).crds.glob("*.yaml")
    published = [document for file in files for document in yaml.safe_load_all(file.read_text())]
    names = {crd["metadata"]["name"] for crd in published if crd["kind"] == "CustomResourceDefinition"}
    assert "backendtlspolicies.gateway.networking.k8s.io" in names
    for name in names:
        crd = read("crd", name)
        assert crd["metadata"]["annotations"]["gateway.networking.k8s.io/channel"] == "experimental"
        conditions = {each["type"]: each["status"] for each in crd["status"]["conditions"]}
        assert conditions["Established"] == "True", name


@pytest.mark.usefixtures("inside")
def test_a_pod_answers_through_the_address_and_the_name_of_its_service(namespace: str) -> None:
    echo(namespace)
    address = read("service", "echo", "--namespace", namespace)["spec"]["clusterIP"]
    assert eventually(lambda: ask(address))["namespace"] == namespace
    name = f"echo.{namespace}.svc.cluster.local"
    assert eventually(lambda: socket.gethostbyname(name)) == address
    both = pods(namespace).keys()
    # Nodes hear of a ready pod a little later than the Deployment does.
    assert eventually(lambda: {ask(name)["pod"] for _ in range(40)} == both)


def test_a_load_balancer_has_an_address_that_leads_to_its_pods(namespace: str) -> None:
    echo(namespace, type_="LoadBalancer")

    def address() -> str:
        ingress = read("service", "echo", "--namespace", namespace)["status"]["loadBalancer"].get("ingress")
        return str(ingress[0]["ip"]) if ingress else ""

    assert eventually(lambda: ask(eventually(address)))["pod"] in pods(namespace)


@pytest.mark.usefixtures("inside")
def test_a_connection_to_a_service_that_no_rule_takes_is_made_as_soon_as_one_does(namespace: str) -> None:
    echo(namespace)
    with socket.socket() as client:
        client.settimeout(0.0)
        assert client.connect_ex((UNUSED, 80)) == errno.EINPROGRESS
        apply(namespace, LATE)
        assert select.select([], [client], [], WITHIN)[1]
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0


@pytest.mark.usefixtures("inside")
def test_a_rollout_replaces_every_pod(namespace: str) -> None:
    echo(namespace, "1")
    before = pods(namespace)
    echo(namespace, "2")
    after = pods(namespace)
    assert len(after) == 2
    assert not before.keys() & after.keys()
    addresses = [pod["status"]["podIP"] for pod in after.values()]
    assert [ask(address, 3000)["service"] for address in addresses] == ["2", "2"]


@pytest.mark.usefixtures("inside")
def test_a_deleted_pod_answers_until_its_time_is_over(namespace: str) -> None:
    echo(namespace)
    name, pod = next(iter(pods(namespace).items()))
    kubectl("delete", "pod", "--namespace", namespace, name, "--wait=false")
    assert "deletionTimestamp" in read("pod", name, "--namespace", namespace)["metadata"]
    assert ask(pod["status"]["podIP"], 3000)["pod"] == name
    wait_for(namespace, "delete", f"pod/{name}")
    with pytest.raises(OSError, match=r"refused|timed out|unreachable|No route"):
        ask(pod["status"]["podIP"], 3000)


@pytest.mark.usefixtures("inside")
def test_pods_outlive_a_restart_of_the_api_server(namespace: str) -> None:
    echo(namespace)
    before = pods(namespace)
    command = (sys.executable, "-m", "e2e.cluster", "restart", "kube-apiserver")
    subprocess.run(command, cwd=PROJECT, check=True)  # noqa: S603  as written above
    assert pods(namespace).keys() == before.keys()
    kubectl("scale", "--namespace", namespace, "deployment/echo", "--replicas=3")
    [new] = eventually(lambda: pods(namespace).keys() - before.keys())
    wait_for(namespace, "condition=Ready", f"pod/{new}")
    assert all(pod["status"]["containerStatuses"][0]["restartCount"] == 0 for pod in pods(namespace).values())


@pytest.mark.usefixtures("inside")
def test_no_packet_leaves_the_cluster() -> None:
    with pytest.raises(OSError, match="unreachable") as failure:
        socket.create_connection(("192.0.2.1", 443), timeout=5)
    assert failure.value.errno == errno.ENETUNREACH


UNTIL_STOPPED = ("sh", "-c", 'touch "$0" && exec sleep 600')


@pytest.mark.usefixtures("inside")
def test_nothing_is_left_of_a_cluster_whose_command_is_stopped(tmp_path: Path) -> None:
    """Two clusters at once, by the way: this one stands beside the one that the test runs in."""
    up = tmp_path / "up"
    command = (sys.executable, "-m", "e2e.cluster", "with", *UNTIL_STOPPED, str(up))
    with subprocess.Popen(command, cwd=PROJECT) as running:  # noqa: S603  as written above
        place = here().of_process(running.pid)
        eventually(up.exists, within=2 * WITHIN)
        processes = [*processes_in(place), *recorded(place)]
        assert len(processes) > 6
        assert all(process.runs for process in processes)
        running.terminate()
    assert running.returncode == 128 + signal.SIGTERM
    assert not [process for process in processes if process.runs]
    assert not list(Path("/run/netns").glob(f"{place.name}*"))


def recorded(place: Place) -> list[Recorded]:
    """Give what was written down when it was started."""
    return [process for path in place.processes.iterdir() if (process := Recorded.load(path))]


def processes_in(place: Place) -> list[Recorded]:
    """Give every process inside the network namespaces of a cluster."""
    namespaces = {path.stat().st_ino for path in Path("/run/netns").glob(f"{place.name}*")}
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns" / "net").stat().st_ino in namespaces:
                found.append(Recorded.of(int(process.name)))
        except OSError:  # it has ended meanwhile
            continue
    return found
