"""`legation run` as its own authority: proxies come, are kept, and go; identities can be taken back."""

import asyncio
import json
import subprocess
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from itertools import groupby
from pathlib import Path

import grpc
import pytest
from envoy.service.discovery.v3 import discovery_pb2
from msgspec import Struct

from e2e.beside import conditions, control_plane, gateway, told
from e2e.cluster.network import NODE_ADDRESS
from e2e.kubectl import WITHIN, apply, eventually, kubectl, read, wait_for
from e2e.test_managed import asked
from translator.rules.identities import REVOKED_BEFORE

METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
LISTENER = "type.googleapis.com/envoy.config.listener.v3.Listener"
SCALER = "horizontalpodautoscaler"
CPU = {"type": "Utilization", "averageUtilization": 60}
KINDS = ("deployment", "service", "serviceaccount", "configmap", "secret")


class Thief(Struct, frozen=True):
    """Whoever has read a Gateway's identity, and where the control plane is."""

    certificate: bytes
    key: bytes
    roots: bytes
    target: str
    server_name: str

    @asynccontextmanager
    async def stream(self, cluster: str) -> AsyncIterator[grpc.aio.StreamStreamCall]:
        """Open a stream, claiming to be an Envoy of this Gateway."""
        credentials = grpc.ssl_channel_credentials(self.roots, self.key, self.certificate)
        named = (("grpc.ssl_target_name_override", self.server_name),)
        async with grpc.aio.secure_channel(self.target, credentials, named) as channel:
            call = channel.stream_stream(METHOD)()
            request = discovery_pb2.DeltaDiscoveryRequest(type_url=LISTENER)
            request.node.id, request.node.cluster = "thief", cluster
            await call.write(request.SerializeToString())
            yield call


async def refused(thief: Thief, cluster: str) -> bool:
    """Say whether a stream is refused, and not answered."""
    async with thief.stream(cluster) as call:
        try:
            answer = await asyncio.wait_for(call.read(), WITHIN)
        except grpc.aio.AioRpcError as error:
            return bool(error.code() == grpc.StatusCode.PERMISSION_DENIED)
        return answer is grpc.aio.EOF and await call.code() == grpc.StatusCode.PERMISSION_DENIED


async def ends(call: grpc.aio.StreamStreamCall) -> grpc.StatusCode:
    """Wait until a stream ends, and say how."""
    with suppress(grpc.aio.AioRpcError):
        while await asyncio.wait_for(call.read(), WITHIN) is not grpc.aio.EOF:
            pass
    code: grpc.StatusCode = await call.code()
    return code


def thief(namespace: str, gateway: str, port: int) -> Thief:
    """Steal what a Gateway's proxies prove themselves with."""
    data = read("secret", f"legation-{gateway}", "--namespace", namespace)["data"]
    certificate, key, roots = (b64decode(data[name]) for name in ("tls.crt", "tls.key", "ca.crt"))
    return Thief(certificate, key, roots, f"{NODE_ADDRESS}:{port}", f"legation.{namespace}.svc")


def address(namespace: str, name: str) -> str:
    """Read where a Gateway says that it is reached, once its proxies took their configuration."""
    if conditions(namespace, "gateway", name).get("Programmed", ("", 0))[0] != "True":
        return ""
    [first] = read("gateway", name, "--namespace", namespace)["status"]["addresses"]
    return str(first["value"])


async def reached(namespace: str, name: str) -> str:
    """Wait until a Gateway answers at the address that it gives."""
    await told(lambda: address(namespace, name))
    found = address(namespace, name)
    await told(lambda: asked(found) == HTTPStatus.NOT_FOUND)
    return found


@pytest.mark.usefixtures("inside")
async def test_proxies_come_are_put_back_and_go_with_their_gateway(namespace: str) -> None:
    async with control_plane(namespace):
        gateway(namespace, "edge")
        await reached(namespace, "edge")
        for kind in KINDS:
            before = uid(namespace, kind)
            await asyncio.to_thread(kubectl, "delete", kind, "legation-edge", "--namespace", namespace)
            await told(partial(is_another, namespace, kind, before))
        scale = ("scale", "deployment/legation-edge", "--replicas=3", "--namespace", namespace)
        await asyncio.to_thread(kubectl, *scale)
        await told(lambda: replicas(namespace) == 1)
        await reached(namespace, "edge")
        kubectl("delete", "gateway", "edge", "--namespace", namespace)
        for kind in KINDS:
            await asyncio.to_thread(wait_for, namespace, "delete", f"{kind}/legation-edge")


def uid(namespace: str, kind: str) -> str:
    """Read which object has the name; nothing if there is none."""
    asked_for = ("get", kind, "legation-edge", "--namespace", namespace, "--ignore-not-found")
    return kubectl(*asked_for, "--output=jsonpath={.metadata.uid}")


def is_another(namespace: str, kind: str, before: str) -> bool:
    """Say whether there is one again, and not the one that was there before."""
    return uid(namespace, kind) not in {"", before}


def replicas(namespace: str) -> int:
    """Read how many proxies are wanted."""
    found = read("deployment", "legation-edge", "--namespace", namespace)
    return int(found["spec"]["replicas"])


@pytest.mark.usefixtures("inside")
async def test_an_autoscaler_takes_over_as_many_proxies_as_there_are(namespace: str, tmp_path: Path) -> None:
    async with control_plane(namespace):
        run(namespace, replicas=2)
        gateway(namespace, "edge")
        await reached(namespace, "edge")
        with numbers(namespace, tmp_path / "numbers") as seen:
            run(namespace, autoscaling={"minReplicas": 1, "maxReplicas": 4, "cpuUtilization": 60})
            await told(lambda: uid(namespace, SCALER))
            scaler = read(SCALER, "legation-edge", "--namespace", namespace)["spec"]
            assert (scaler["minReplicas"], scaler["maxReplicas"]) == (1, 4)
            assert scaler["metrics"][0]["resource"] == {"name": "cpu", "target": CPU}
            assert scaler["scaleTargetRef"]["name"] == "legation-edge"
            run(namespace, autoscaling={"minReplicas": 3, "maxReplicas": 4})
            await told(lambda: seen()[-1] == 3)  # by the autoscaler, which needs no figures for that
            run(namespace, replicas=2)
            await told(lambda: seen()[-1] == 2 and not uid(namespace, SCALER))
            run(namespace, autoscaling={"maxReplicas": 4})
            await told(lambda: uid(namespace, SCALER))
            assert replicas(namespace) == 2
            assert seen() == [2, 3, 2]


def run(namespace: str, **envoy: object) -> None:
    """Change how the class has proxies run."""
    spec = {"service": {"type": "ClusterIP"}, "envoy": envoy}
    parameters = {"apiVersion": "legation.dev/v1alpha1", "kind": "GatewayParameters"}
    apply(namespace, json.dumps(parameters | {"metadata": {"name": "inside"}, "spec": spec}))


@contextmanager
def numbers(namespace: str, file: Path) -> Iterator[Callable[[], list[int]]]:
    """Watch how many proxies are wanted; give what returns the numbers that there were, in their order."""
    shown = '--output=jsonpath={.spec.replicas}{"\\n"}'
    watch = ("kubectl", "get", "deployment/legation-edge", "--namespace", namespace, "--watch", shown)
    with file.open("w") as out, subprocess.Popen(watch, stdout=out) as process:  # noqa: S603  no shell
        try:
            yield lambda: [number for number, _ in groupby(map(int, file.read_text().split()))]
        finally:
            process.kill()


@pytest.mark.usefixtures("inside")
async def test_what_others_own_is_left_alone_and_told_of(namespace: str) -> None:
    kubectl("create", "configmap", "legation-edge", "--from-literal=precious=data", "--namespace", namespace)
    async with control_plane(namespace):
        gateway(namespace, "edge")
        await told(
            lambda: "NoResources" in kubectl("get", "gateway", "edge", "--namespace", namespace, "-o", "yaml")
        )
        status = read("gateway", "edge", "--namespace", namespace)["status"]
        [programmed] = [each for each in status["conditions"] if each["type"] == "Programmed"]
        assert f"ConfigMap {namespace}/legation-edge is somebody else's" in programmed["message"]
        found = read("configmap", "legation-edge", "--namespace", namespace)
        assert found["data"] == {"precious": "data"}
        kubectl("delete", "configmap", "legation-edge", "--namespace", namespace)
        await reached(namespace, "edge")


@pytest.mark.usefixtures("inside")
async def test_a_stolen_identity_reads_nothing_of_others_and_can_be_taken_back(namespace: str) -> None:
    async with control_plane(namespace) as (_, port):
        gateway(namespace, "edge")
        gateway(namespace, "other")
        found = await reached(namespace, "edge")
        stolen = thief(namespace, "edge", port)
        assert await refused(stolen, f"{namespace}/other")
        async with stolen.stream(f"{namespace}/edge") as call:
            answer = discovery_pb2.DeltaDiscoveryResponse.FromString(await call.read())
            assert [each.name for each in answer.resources] == [f"{namespace}/edge:80"]
            now = f"{REVOKED_BEFORE}={datetime.now(UTC).isoformat()}"
            await asyncio.to_thread(kubectl, "annotate", "gateway", "edge", now, "--namespace", namespace)
            assert await ends(call) == grpc.StatusCode.PERMISSION_DENIED
        assert await refused(stolen, f"{namespace}/edge")
        await told(lambda: thief(namespace, "edge", port).certificate != stolen.certificate)
        assert not await refused(thief(namespace, "edge", port), f"{namespace}/edge")
        assert asked(found) == HTTPStatus.NOT_FOUND
        await asyncio.to_thread(eventually, lambda: address(namespace, "edge"))
