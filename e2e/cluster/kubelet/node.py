"""The node: there, ready, and renewed so that nobody takes it for dead."""

import asyncio
import os
from datetime import UTC, datetime
from http import HTTPStatus
from types import MappingProxyType

from e2e.cluster.kubelet.api import MERGE, Api, ApiError, unless_gone
from e2e.cluster.kubelet.events import now
from e2e.cluster.network import NODE_ADDRESS, NODE_NAME, PODS

PORT = 10250
RENEW = 10.0  # seconds
CAPACITY = MappingProxyType(
    {
        "cpu": "64",
        "memory": "64Gi",
        "pods": "1000",
        "ephemeral-storage": "100Gi",
    }
)  # more than anybody asks for
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LABELS = MappingProxyType(
    {
        "kubernetes.io/hostname": NODE_NAME,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": "zone",
        "topology.kubernetes.io/region": "region",
    }
)


async def run(api: Api) -> None:
    """Register the node and renew it for ever."""
    node = {
        "metadata": {"name": NODE_NAME, "labels": dict(LABELS)},
        "spec": {"podCIDR": PODS, "podCIDRs": [PODS]},
    }
    with unless_gone():  # it may be there from before
        await api.post("/api/v1/nodes", node)
    begun = now()
    while True:
        await api.patch(f"/api/v1/nodes/{NODE_NAME}/status", {"status": _status(begun)}, MERGE)
        await _renew(api)
        await asyncio.sleep(RENEW)


async def _renew(api: Api) -> None:
    moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    spec = {"holderIdentity": NODE_NAME, "leaseDurationSeconds": int(4 * RENEW), "renewTime": moment}
    lease = {"metadata": {"name": NODE_NAME}, "spec": spec}
    try:
        await api.patch(f"{LEASES}/{NODE_NAME}", lease, MERGE)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        await api.post(LEASES, lease)


def _status(begun: str) -> dict[str, object]:
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    machine = dict.fromkeys(("machineID", "systemUUID", "bootID", "kubeProxyVersion"), "")
    return {
        "capacity": dict(CAPACITY),
        "allocatable": dict(CAPACITY),
        "addresses": [
            {"type": "InternalIP", "address": NODE_ADDRESS},
            {"type": "Hostname", "address": NODE_NAME},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}},
        "conditions": [{**ready, "lastHeartbeatTime": now(), "lastTransitionTime": begun}],
        "nodeInfo": {
            **machine,
            "architecture": "amd64",
            "operatingSystem": "linux",
            "osImage": "this machine",
            "kernelVersion": os.uname().release,
            "kubeletVersion": "v1.36.3-processes",
            "containerRuntimeVersion": "process://1",
        },
    }
