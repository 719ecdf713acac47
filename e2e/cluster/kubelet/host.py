"""What all pods share: the API server, the images, the addresses, and where files go."""

from pathlib import Path
from typing import NamedTuple

import aiohttp
from msgspec import Struct

from e2e.cluster.kubelet.api import Access, Api
from e2e.cluster.kubelet.images import Image
from e2e.cluster.kubelet.pool import Pool


class Settings(Struct, frozen=True):
    """What the kubelet is told at its start."""

    access: Access
    namespace: str  # the network namespace of the node
    pods: str  # folder of what pods are made of
    logs: str  # folder of what they say
    certificate: str
    key: str
    images: tuple[Image, ...]
    longest_probe_period: float  # seconds


class Host(NamedTuple):
    """The machine as pods see it."""

    settings: Settings
    api: Api
    session: aiohttp.ClientSession  # to ask containers how they are
    addresses: Pool

    def home(self, uid: str) -> Path:
        """Where the files of one pod are."""
        return Path(self.settings.pods, uid)


def log_path(logs: Path, namespace: str, pod: str, container: str) -> Path:
    """Where what a container says is written."""
    return logs / f"{namespace}_{pod}_{container}.log"
