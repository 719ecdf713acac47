"""Where things are: the cache of programs, and what one running cluster has."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[2]
CACHE, NAME = "LEGATION_E2E_CACHE", "LEGATION_E2E_NAME"


class Place(NamedTuple):
    """One cluster on this machine; its name is that of its network namespace."""

    cache: Path
    name: str

    @property
    def programs(self) -> Path:
        """What is built once and kept."""
        return self.cache / "programs"

    @property
    def state(self) -> Path:
        """All that `up` makes, and makes anew each time."""
        return self.cache / "clusters" / self.name

    @property
    def keys(self) -> Path:
        """Certificates and keys."""
        return self.state / "keys"

    @property
    def kubeconfig(self) -> Path:
        """The access of an administrator."""
        return self.state / "kubeconfig"

    @property
    def resolv_conf(self) -> Path:
        """Where a program in the cluster's namespace asks for names."""
        return self.state / "resolv.conf"

    @property
    def logs(self) -> Path:
        """What the control plane says; below it, `pods`."""
        return self.state / "logs"

    @property
    def processes(self) -> Path:
        """A file for each process of the control plane."""
        return self.state / "processes"

    def of_process(self, pid: int) -> "Place":
        """Give a place that one process alone uses."""
        return self._replace(name=f"{self.name}.{pid}")

    def abandoned(self) -> Iterator["Place"]:
        """Give the places of processes that have ended, some of them without clearing up."""
        for path in self.state.parent.glob(f"{self.name}.*"):
            if not Path("/proc", path.name.rpartition(".")[2]).exists():
                yield self._replace(name=path.name)

    @property
    def pods(self) -> Path:
        """What pods are made of."""
        return self.state / "pods"


def here() -> Place:
    """Give the place that the environment names."""
    cache = os.environ.get(CACHE)
    return Place(
        Path(cache) if cache else Path.home() / ".cache" / "legation-e2e", os.environ.get(NAME, "legation")
    )
