"""Who is measured: how it comes to serve a GatewayClass that is called as a namespace, and its process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.cluster.programs import IMAGE, PROGRAM, chart
from e2e.beside import control_plane
from e2e.cluster.own import Own
from e2e.cluster.place import here
from e2e.helm import helm
from e2e.kubectl import kubectl, read, wait_for

SYSTEM = "envoy-gateway-system"
CLASS = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $name}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
""")


class Side(NamedTuple):
    """A control plane; while it serves, one knows the id of its process."""

    name: str
    serving: Callable[[str], AbstractAsyncContextManager[int]]

    @property
    def namespace(self) -> str:
        """Where its Gateway and routes are."""
        return f"bench-{self.name.lower().replace(' ', '-')}"


@asynccontextmanager
async def _legation(namespace: str) -> AsyncIterator[int]:
    async with control_plane(namespace) as (running, _):
        yield running.process.pid


@asynccontextmanager
async def _envoy_gateway(namespace: str) -> AsyncIterator[int]:
    await asyncio.to_thread(_install)
    try:
        kubectl("apply", "--filename=-", given=CLASS.substitute(name=namespace))
        wait_for("default", "condition=Accepted", f"gatewayclass/{namespace}")
        yield await asyncio.to_thread(_process)
    finally:
        await asyncio.to_thread(kubectl, "delete", "gatewayclass", namespace, "--ignore-not-found")
        await asyncio.to_thread(helm, "uninstall", "eg", "--namespace", SYSTEM)
        await asyncio.to_thread(kubectl, "delete", "namespace", SYSTEM)


def _install() -> None:
    """Install its chart as it is, beside the newer kinds of Gateway API that are there already."""
    crds = chart() / "charts" / "crds" / "crds" / "generated"
    kubectl("apply", "--server-side", "--filename", str(crds))
    wait_for("default", "condition=Established", "crd/envoyproxies.gateway.envoyproxy.io")
    filled = {"GatewayImage": IMAGE, "GatewayImagePullPolicy": "IfNotPresent"}
    with TemporaryDirectory() as folder:
        values = Path(folder, "values.yaml")
        values.write_text(Template((chart() / "values.tmpl.yaml").read_text()).substitute(filled))
        known = ("--skip-crds", "--set", "crds.enabled=false", "--values", str(values))
        place = ("--namespace", SYSTEM, "--create-namespace", "--wait", "--timeout", "5m")
        helm("install", "eg", str(chart()), *place, *known)


def _process() -> int:
    """Find the process of the one pod."""
    [pod] = read("pods", "--namespace", SYSTEM, "--selector=control-plane=envoy-gateway")["items"]
    process = Own(here()).container(f"{SYSTEM}/{pod['metadata']['name']}")
    assert Path("/proc", str(process.pid), "comm").read_text().strip() == PROGRAM
    return process.pid


LEGATION = Side("Legation", _legation)
ENVOY_GATEWAY = Side("Envoy Gateway", _envoy_gateway)
SIDES = (LEGATION, ENVOY_GATEWAY)
