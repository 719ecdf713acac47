"""What the containers of one pod share."""

import asyncio
from pathlib import Path

from e2e.cluster.kubelet.host import Host, log_path
from e2e.cluster.kubelet.objects.pods import Pod
from e2e.cluster.kubelet.volumes import Volumes
from e2e.cluster.network import NODE_ADDRESS


class Surroundings:
    """A pod's network, volumes and files, and the news of it."""

    def __init__(self, host: Host, pod: Pod) -> None:
        self.host = host
        self.pod = pod  # as it was last heard of
        self.home = host.home(pod.metadata.uid)
        self.volumes = Volumes(host.api, pod, self.home / "volumes")
        self.namespace = host.settings.namespace if pod.spec.host_network else ""
        self.address = NODE_ADDRESS if pod.spec.host_network else ""
        self.changed = asyncio.Event()  # there is something to report

    def log(self, container: str) -> Path:
        """Where a container's words go."""
        meta = self.pod.metadata
        return log_path(Path(self.host.settings.logs), meta.namespace, meta.name, container)
