"""Who is measured: how it comes to serve a GatewayClass that is called as a namespace, and its processes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.cluster.manifests import gateway_name
from bench.cluster.programs import CONTOUR, ENVOY_GATEWAY, Source, chart, examples
from bench.cluster.wanted import GATEWAYS
from e2e.beside import control_plane
from e2e.cluster.own import Own
from e2e.cluster.place import here
from e2e.helm import helm
from e2e.kubectl import apply, kubectl, read, wait_for

SYSTEM = "envoy-gateway-system"
PROJECT, PROVISIONER = "projectcontour", "contour-gateway-provisioner"
OWNED = "projectcontour.io/owning-gateway-name"
OF_ENVOY_GATEWAY = Template("""
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace}
spec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}
""")
OF_CONTOUR = Template("""
apiVersion: projectcontour.io/v1alpha1
kind: ContourDeployment
metadata: {name: one-replica}
spec: {contour: {deployment: {replicas: 1}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: $namespace}
spec:
  controllerName: projectcontour.io/gateway-controller
  parametersRef: {group: projectcontour.io, kind: ContourDeployment, namespace: $namespace, name: one-replica}
""")
UNLIMITED = """
- {op: add, path: /spec/template/spec/containers/0/args/-, value: --kubernetes-client-qps=1000}
- {op: add, path: /spec/template/spec/containers/0/args/-, value: --kubernetes-client-burst=1000}
"""

Processes = Callable[[], Sequence[int]]


class Side(NamedTuple):
    """A control plane; while it serves, one can ask for the ids of its processes once there are Gateways."""

    name: str
    serving: Callable[[str], AbstractAsyncContextManager[Processes]]

    @property
    def namespace(self) -> str:
        """Where its Gateway and routes are."""
        return f"bench-{self.name.lower().replace(' ', '-')}"


@asynccontextmanager
async def _legation(namespace: str) -> AsyncIterator[Processes]:
    async with control_plane(namespace) as (running, _):
        yield lambda: (running.process.pid,)


@asynccontextmanager
async def _envoy_gateway(namespace: str) -> AsyncIterator[Processes]:
    await asyncio.to_thread(_install_envoy_gateway)
    try:
        with _gateway_class(namespace, OF_ENVOY_GATEWAY):
            yield lambda: (_process(SYSTEM, "control-plane=envoy-gateway", ENVOY_GATEWAY),)
    finally:
        await asyncio.to_thread(helm, "uninstall", "eg", "--namespace", SYSTEM)
        await asyncio.to_thread(kubectl, "delete", "namespace", SYSTEM)


@asynccontextmanager
async def _contour(namespace: str) -> AsyncIterator[Processes]:
    """Have its provisioner, which starts a Contour for each Gateway."""
    provisioner = str(examples() / "gateway-provisioner")
    await asyncio.to_thread(_install_contour, provisioner)
    try:
        with _gateway_class(namespace, OF_CONTOUR):
            yield lambda: _unlimited(namespace)
    finally:
        await asyncio.to_thread(kubectl, "delete", "--filename", provisioner)
        ruled = ("clusterrole,clusterrolebinding", f"--selector={OWNED}", "--ignore-not-found")
        await asyncio.to_thread(kubectl, "delete", *ruled)


@contextmanager
def _gateway_class(namespace: str, manifest: Template) -> Iterator[None]:
    """Have a GatewayClass that is accepted."""
    apply(namespace, manifest.substitute(namespace=namespace))
    try:
        wait_for("default", "condition=Accepted", f"gatewayclass/{namespace}")
        yield
    finally:
        kubectl("delete", "gatewayclass", namespace)


def _install_envoy_gateway() -> None:
    """Install its chart as it is, beside the newer kinds of Gateway API that are there already."""
    _define(chart() / "charts" / "crds" / "crds" / "generated", "envoyproxies.gateway.envoyproxy.io")
    filled = {"GatewayImage": ENVOY_GATEWAY.image, "GatewayImagePullPolicy": "IfNotPresent"}
    with TemporaryDirectory() as folder:
        values = Path(folder, "values.yaml")
        values.write_text(Template((chart() / "values.tmpl.yaml").read_text()).substitute(filled))
        known = ("--skip-crds", "--set", "crds.enabled=false", "--values", str(values))
        place = ("--namespace", SYSTEM, "--create-namespace", "--wait", "--timeout", "5m")
        helm("install", "eg", str(chart()), *place, *known)


def _install_contour(provisioner: str) -> None:
    """Install its provisioner as it is, beside the newer kinds of Gateway API that are there already."""
    _define(examples() / "contour" / "01-crds.yaml", "contourdeployments.projectcontour.io")
    kubectl("apply", "--filename", provisioner)


def _define(crds: Path, needed: str) -> None:
    """Have kinds, and wait for the one that is needed first."""
    kubectl("apply", "--server-side", "--filename", str(crds))
    wait_for("default", "condition=Established", f"crd/{needed}")


def _unlimited(namespace: str) -> list[int]:
    """Let Contours write as often as they want, which no provisioner can be told; find their processes."""
    _replace(PROJECT, f"control-plane={PROVISIONER}", "scale", f"deployment/{PROVISIONER}", "--replicas=0")
    names = [f"contour-{gateway_name(number)}" for number in range(GATEWAYS)]
    for name in names:
        _replace(namespace, f"app={name}", "patch", "deployment", name, "--type=json", "--patch", UNLIMITED)
    return [_process(namespace, f"app={name}", CONTOUR) for name in names]


def _replace(namespace: str, selector: str, *command: str) -> None:
    """Do what ends some pods, and wait until they are gone."""
    place = ("--namespace", namespace)
    pods = kubectl("get", "pods", "--output=name", "--selector", selector, *place)
    kubectl(*command, *place)
    wait_for(namespace, "delete", pods.strip())


def _process(namespace: str, selector: str, source: Source) -> int:
    """Find the process of the one pod."""
    [pod] = read("pods", "--namespace", namespace, f"--selector={selector}")["items"]
    process = Own(here()).container(f"{namespace}/{pod['metadata']['name']}")
    assert Path("/proc", str(process.pid), "comm").read_text().strip() == source.program
    return process.pid


SIDES = (Side("Legation", _legation), Side("Envoy Gateway", _envoy_gateway), Side("Contour", _contour))
