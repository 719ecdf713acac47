"""Which cluster it is: our own, somebody else's that KUBECONFIG names, or one that kind makes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from e2e.cluster.build import Programs
from e2e.cluster.own import INSIDE, Own
from e2e.cluster.place import Place, here
from e2e.cluster.preparation import prepare
from e2e.cluster.tools import UnreadyError

CLUSTER = "CLUSTER"


class Theirs(NamedTuple):
    """A cluster that is there; addresses of its Services are reachable as far as from this machine."""

    cache: Path
    kubeconfig: str

    def up(self) -> None:
        """Make it know Gateway API."""
        programs = Programs(self.cache)
        programs.path("kubectl")
        prepare(["kubectl"], self.variables(), programs.crds)

    def down(self) -> None:
        """Leave it as it is."""

    def alone(self) -> "Theirs":
        """Give it as it is; there is no other."""
        return self

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Give a command that reaches it."""
        return list(arguments)

    def variables(self) -> Mapping[str, str]:
        """Give the environment of such a command."""
        return {**os.environ, "KUBECONFIG": self.kubeconfig, "PATH": Programs(self.cache).on_path()}


class Kind(NamedTuple):
    """A cluster in a container, made by kind; Services get addresses if cloud-provider-kind runs."""

    place: Place

    def up(self) -> None:
        """Make it."""
        self._kind("create", "cluster", "--kubeconfig", str(self.place.kubeconfig), "--wait", "120s")
        self._theirs.up()

    def alone(self) -> "Kind":
        """Give one that no other process uses."""
        return Kind(self.place.of_process(os.getpid()))

    def down(self) -> None:
        """Remove it."""
        self._kind("delete", "cluster", "--kubeconfig", str(self.place.kubeconfig))

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Give a command that reaches it."""
        return self._theirs.command(arguments)

    def variables(self) -> Mapping[str, str]:
        """Give the environment of such a command."""
        return self._theirs.variables()

    @property
    def _theirs(self) -> Theirs:
        return Theirs(self.place.programs, str(self.place.kubeconfig))

    def _kind(self, *arguments: str) -> None:
        if not shutil.which("kind"):
            message = "CLUSTER=kind needs kind on the PATH"
            raise UnreadyError(message)
        self.place.state.mkdir(parents=True, exist_ok=True)
        subprocess.run(["kind", *arguments, "--name", self.place.name], check=True, stdout=sys.stderr)  # noqa: S603, S607  as written above, from the PATH


Cluster = Own | Theirs | Kind


def chosen() -> Cluster:
    """Give the cluster that the environment asks for."""
    place = here()
    wanted = os.environ.get(CLUSTER, "")
    if wanted not in {"", "kind"}:
        message = f"{CLUSTER}={wanted} is not known: it may be kind, or absent"
        raise UnreadyError(message)
    if wanted:
        return Kind(place)
    kubeconfig = os.environ.get("KUBECONFIG")
    return Theirs(place.programs, kubeconfig) if kubeconfig and INSIDE not in os.environ else Own(place)
