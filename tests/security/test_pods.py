"""Every pod of ours may run where Kubernetes' `restricted` profile is enforced, and asks for less."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from legation.addresses import HostPort
from legation.permissions import of_cluster, of_default_namespace, of_namespaces, of_own_namespace
from legation.proxies.managed import Environment, manifests
from legation.proxies.wanted import Wanted
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.gateway_parameters import GatewayParametersSpec
from translator.rules.managed import settle
from translator.rules.ports import Bound

Manifest = Mapping[str, Any]

ROOT = Path(__file__).parents[2]
ENVIRONMENT = Environment(HostPort("xds", 18000), "xds", "envoyproxy/envoy:v1.40.0")
VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}
SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_syncookies",
}
HOSTS_OWN = ("hostNetwork", "hostPID", "hostIPC")
UNCONFINED = "container.apparmor.security.beta.kubernetes.io/envoy"
BECOMES_MORE = {"bind", "escalate", "impersonate", "*"}
OPENS_MORE = {"pods/exec", "pods/attach", "pods/portforward", "nodes", "nodes/proxy", "serviceaccounts/token"}

# Whatever the owner of a Gateway may wish of its proxies.
WISHES: Sequence[Manifest] = (
    {},
    {
        "envoy": {
            "image": "mallory.test/envoy:latest",
            "autoscaling": {"minReplicas": 1, "maxReplicas": 9},
            "resources": {"limits": {"memory": "1Gi"}},
            "concurrency": 4,
            "logLevel": "trace",
        },
        "service": {"type": "LoadBalancer"},
        "clients": {"http3": "On"},
    },
)


def violations(pod: Manifest) -> Iterator[str]:
    """Say what of a pod's spec the profile `restricted` refuses, and what we promise beyond it."""
    yield from (
        f"{field} of the host"
        for field in HOSTS_OWN
        if pod.get(field, field == "hostUsers") != (field == "hostUsers")
    )
    for volume in pod.get("volumes", ()):
        yield from (f"volume of {kind}" for kind in volume.keys() - {"name"} - VOLUMES)
    own = pod.get("securityContext", {})
    yield from (
        f"sysctl {each['name']}" for each in own.get("sysctls", ()) if each["name"] not in SAFE_SYSCTLS
    )
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        yield from _violations(container, {**own, **container.get("securityContext", {})})


def _violations(container: Manifest, context: Manifest) -> Iterator[str]:
    asked = context.get("capabilities", {})
    refused = {
        "privileged": context.get("privileged", False),
        "may become more": context.get("allowPrivilegeEscalation", True),
        "keeps capabilities": asked.get("drop") != ["ALL"] or bool(asked.get("add")),
        "may be root": not context.get("runAsNonRoot") or not context.get("runAsUser"),
        "any system call": context.get("seccompProfile", {}).get("type") != "RuntimeDefault",
        "a /proc of its own": "procMount" in context,
        "ports of the host": any("hostPort" in port for port in container.get("ports", ())),
        "writes where its program is": not context.get("readOnlyRootFilesystem"),
    }
    yield from (f"{container['name']}: {what}" for what, is_so in refused.items() if is_so)


def proxies(wishes: Manifest, infrastructure: Manifest) -> list[Manifest]:
    """Return everything that is made for a Gateway."""
    written = {
        "metadata": {"name": "edge", "namespace": "mallory", "uid": "0b5f"},
        "spec": {
            "gatewayClassName": "legation",
            "infrastructure": infrastructure,
            "listeners": [{"name": "a", "port": 80, "protocol": "HTTP"}],
        },
    }
    settled = settle(msgspec.convert(wishes, GatewayParametersSpec))
    wanted = Wanted(msgspec.convert(written, Gateway), (Bound(Name("mallory", "edge"), 80),), settled)
    return [*manifests(wanted, ENVIRONMENT)]


@pytest.mark.tree
def test_the_control_planes_pod_is_as_restricted_as_can_be() -> None:
    every = yaml.safe_load_all((ROOT / "deploy/legation.yaml").read_text())
    [pod] = [each["spec"]["template"]["spec"] for each in every if each["kind"] == "Deployment"]
    assert [*violations(pod)] == []


@pytest.mark.parametrize("wishes", WISHES, ids=["no wish", "every wish"])
def test_the_pods_of_proxies_are_as_restricted_as_can_be_whatever_is_wished(wishes: Manifest) -> None:
    strange = {"app.kubernetes.io/name": "kube-apiserver", "pod-security.kubernetes.io/enforce": "privileged"}
    asked = {
        "labels": strange,
        "annotations": {"container.apparmor.security.beta.kubernetes.io/envoy": "unconfined"},
    }
    made = proxies(wishes, asked)
    [pod] = [each["spec"]["template"]["spec"] for each in made if each["kind"] == "Deployment"]
    assert [*violations(pod)] == []
    assert pod["automountServiceAccountToken"] is False
    assert {each["metadata"]["namespace"] for each in made} == {"mallory"}


def test_what_the_profile_refuses_would_be_found() -> None:
    worst = {
        "hostNetwork": True,
        "volumes": [{"name": "a", "hostPath": {"path": "/"}}],
        "securityContext": {"sysctls": [{"name": "kernel.msgmax"}]},
        "containers": [{"name": "a", "ports": [{"hostPort": 80}], "securityContext": {"privileged": True}}],
    }
    assert len([*violations(worst)]) == 3 + 7


def test_the_control_plane_can_neither_become_more_nor_enter_a_pod() -> None:
    every = (
        *of_cluster(),
        *of_default_namespace(),
        *of_own_namespace(managed=True),
        *of_namespaces(managed=True),
    )
    assert not BECOMES_MORE & {verb for each in every for verb in each.verbs}
    assert not OPENS_MORE & {resource for each in every for resource in each.resources}
    assert not {each.group for each in every} & {"rbac.authorization.k8s.io", "admissionregistration.k8s.io"}
