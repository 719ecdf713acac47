"""Legation as Helm installs it, and its pods."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deploy.permissions import CHART
from e2e.helm import helm
from e2e.kubectl import WITHIN, kubectl, read
from e2e.scenarios.pods import Pods

NAME = "legation"
REPLICAS = 2  # of the control plane, and of the proxies of each Gateway, where scenarios share a release
OURS = "gatewayparameters.legation.dev"


class Release(NamedTuple):
    """A release of the chart, in a namespace of its own."""

    namespace: str

    @property
    def pods(self) -> Pods:
        """The control plane."""
        return Pods(self.namespace, f"app.kubernetes.io/instance={NAME}")

    @property
    def leader(self) -> str:
        """Who holds the Lease."""
        return str(read("lease", NAME, "--namespace", self.namespace)["spec"].get("holderIdentity", ""))

    def upgrade(self, *values: str) -> None:
        """Have what the chart of today installs, with some values changed, and wait until it runs."""
        self._helm("upgrade", CHART, "--reset-then-reuse-values", *_set(values))

    def restart(self) -> None:
        """Replace every pod of the control plane."""
        deployment = ("deployment", NAME, "--namespace", self.namespace)
        kubectl("rollout", "restart", *deployment)
        kubectl("rollout", "status", *deployment, f"--timeout={WITHIN:.0f}s")

    def install(self, chart: Path, *values: str) -> None:
        """Install with these values, and wait until the control plane is ready."""
        self._helm("install", chart, "--create-namespace", *_set(values))

    def uninstall(self) -> None:
        """Take it away as docs/install.md says, once its Gateways are gone."""
        helm("uninstall", NAME, "--namespace", self.namespace, "--wait", "--ignore-not-found")
        kubectl("delete", "namespace", self.namespace, "--wait=false", "--ignore-not-found")
        kubectl("delete", "crd", OURS, "--ignore-not-found")

    def _helm(self, verb: str, chart: Path, *flags: str) -> None:
        helm(verb, NAME, str(chart), "--namespace", self.namespace, "--wait", *flags)


@contextmanager
def installed(*values: str, chart: Path = CHART) -> Iterator[Release]:
    """Have a release until the block ends, of today's chart unless another one is named."""
    release = Release(f"legation-{uuid.uuid4().hex[:8]}")
    try:
        release.install(chart, *values)
        yield release
    finally:
        release.uninstall()


def _set(values: tuple[str, ...]) -> list[str]:
    return [f"--set={each}" for each in values]
