"""Tells people what happens to a pod, as Events and in the log."""

from contextlib import suppress
from datetime import UTC, datetime

import structlog

from e2e.cluster.kubelet.api import Api, ApiError
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.network import NODE_NAME


def now() -> str:
    """Give this moment, as Kubernetes writes it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


async def tell(api: Api, pod: Pod, reason: str, message: str, *, warning: bool = False) -> None:
    """Write an Event about a pod; nobody depends on it."""
    meta, moment = pod.metadata, now()
    structlog.get_logger().info(reason, pod=f"{meta.namespace}/{meta.name}", message=message)
    about = {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
    event = {
        "metadata": {"generateName": f"{meta.name[:50]}.", "namespace": meta.namespace},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **about},
        "reason": reason,
        "message": message[:1000],
        "type": "Warning" if warning else "Normal",
        "source": {"component": "kubelet", "host": NODE_NAME},
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
    with suppress(ApiError):  # its namespace may be on its way out
        await api.post(f"/api/v1/namespaces/{meta.namespace}/events", event)
