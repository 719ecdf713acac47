"""Replicas in a cluster, asked at their admin ports through the API server: no port has to be forwarded.

docs/decisions/0018 says why pods are asked, all of them, and not the Service.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from k8s_watch import api_server
from k8s_watch.answers import BROKEN, Failed
from k8s_watch.api_server import ApiServer, Call, Load, NoAccessError, RequestError
from k8s_watch.kind import Place
from legation.answers import FROM_NO_PAGE, Answers, Told, UnansweredError
from legation.checks.findings import Finding
from legation.checks.of_cluster import OURS, of_cluster
from legation.disk import stamp_of

PORT = "admin"
CONNECT, TOTAL = 5.0, 20.0  # seconds
IN_A_POD, KUBECTLS = "KUBERNETES_SERVICE_HOST", "~/.kube/config"
NAME_A_CLUSTER = "name a file with --kubeconfig, and --context if it has several"
REMEDIES = MappingProxyType({
    HTTPStatus.UNAUTHORIZED: "log in to the cluster again, or name another --context",
    HTTPStatus.FORBIDDEN: "be allowed to list pods and get pods/proxy there: docs/tools.md has the Role",
    HTTPStatus.NOT_FOUND: "use the version of `legation` that is installed there",
    HTTPStatus.SERVICE_UNAVAILABLE: "let the API server come to the admin port, in the chart by "
    "networkPolicy.adminFrom, or ask a replica from where it can be reached, with --admin",
})  # fmt: skip


class InCluster(Struct, frozen=True):
    """Legation in a namespace of some cluster."""

    namespace: str
    kubeconfig: str | None = None
    context: str | None = None


class _Metadata(Struct, frozen=True, rename="camel"):
    name: str
    deletion_timestamp: str = ""


class _Port(Struct, frozen=True, rename="camel"):
    container_port: int
    name: str = ""


class _Container(Struct, frozen=True):
    ports: tuple[_Port, ...] = ()


class _Spec(Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class _Condition(Struct, frozen=True):
    type: str
    status: str


class _Status(Struct, frozen=True):
    conditions: tuple[_Condition, ...] = ()


class _Pod(Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec
    status: _Status = field(default_factory=_Status)

    @property
    def is_ready(self) -> bool:
        ready = _Condition("Ready", "True") in self.status.conditions
        return ready and not self.metadata.deletion_timestamp


class _Pods(Struct, frozen=True):
    items: tuple[_Pod, ...]


class Replica(Struct, frozen=True, order=True):
    """A pod that answers, and its admin port."""

    pod: str
    port: int


class Replicas:
    """All ready replicas of one installation, found anew for each question."""

    def __init__(self, server: ApiServer, namespace: str) -> None:
        """Look for them there."""
        self._server = server
        self._namespace = namespace

    async def ask(self, question: str) -> Answers:
        """Ask each of them; it is enough that one answers."""
        replicas = await self._found()
        heard = await asyncio.gather(*(self._asked(replica, question) for replica in replicas))
        told = tuple(each for each in heard if isinstance(each, Told))
        failed = [each for each in heard if isinstance(each, RequestError)]
        if not told:
            what = f"no replica in namespace {self._namespace} answers"
            raise _unanswered(what, failed[0].failed)
        return Answers(told, tuple(str(each) for each in failed))

    async def look(self) -> tuple[Finding, ...]:
        """Say what the cluster lacks for this installation to serve."""
        return await of_cluster(self._server, self._namespace)

    async def _found(self) -> list[Replica]:
        try:
            body = await self._get(_pods(self._namespace), {"labelSelector": OURS})
        except RequestError as error:
            what = f"the pods of namespace {self._namespace} cannot be listed"
            raise _unanswered(what, error.failed) from error
        pods = self._read(body)
        if found := sorted(replica for pod in pods if pod.is_ready for replica in _replicas(pod)):
            return found
        what = f"no replica of Legation is ready in namespace {self._namespace}"
        look = f"look at them: kubectl get pods --namespace {self._namespace} --selector {OURS}"
        raise UnansweredError(
            what, look if pods else "name the namespace of the installation with --namespace"
        )

    def _read(self, body: bytes) -> tuple[_Pod, ...]:
        """Read which pods there are, unless somebody answers who stands before the API server."""
        try:
            return msgspec.json.decode(body, type=_Pods).items
        except BROKEN as error:
            what = f"the pods of namespace {self._namespace} cannot be listed: what answers is no API server"
            raise UnansweredError(what, REMEDIES[HTTPStatus.UNAUTHORIZED]) from error

    async def _asked(self, replica: Replica, question: str) -> Told | RequestError:
        name = quote(f"http:{replica.pod}:{replica.port}", safe=":")
        try:
            body = await self._get(f"{_pods(self._namespace)}/{name}/proxy/api/v1/{question}")
        except RequestError as error:
            return error
        return Told(replica.pod, body)

    async def _get(self, path: str, query: dict[str, str] | None = None) -> bytes:
        call = Call("GET", path, query or {}, headers=FROM_NO_PAGE, connect=CONNECT, total=TOTAL)
        async with self._server.send(call) as response:
            return await response.read()


@asynccontextmanager
async def replicas_of(place: InCluster) -> AsyncIterator[Replicas]:
    """Yield the replicas of an installation, for as many questions as there are."""
    try:
        async with ApiServer(_way(place)) as server:
            yield Replicas(server, place.namespace)
    except NoAccessError as error:
        what = f"there is no way to a cluster: {error}"
        raise UnansweredError(what, NAME_A_CLUSTER) from error


def _way(place: InCluster) -> Load:
    """Find the API server as asked; in a pod as pods do, and elsewhere as kubectl does."""
    if place.kubeconfig is None and place.context is None and IN_A_POD in os.environ:
        return api_server.in_cluster()
    named = place.kubeconfig or os.environ.get("KUBECONFIG") or KUBECTLS
    if all(stamp_of(Path(each).expanduser()) is None for each in named.split(os.pathsep)):
        what = f"there is no way to a cluster: {named} is not there"  # who reads it would log that in passing
        raise UnansweredError(what, NAME_A_CLUSTER)
    return api_server.kubeconfig(named, place.context)


def _pods(namespace: str) -> str:
    return Place("v1", "pods", namespace).path()


def _replicas(pod: _Pod) -> Iterator[Replica]:
    for container in pod.spec.containers:
        for port in container.ports:
            if port.name == PORT:
                yield Replica(pod.metadata.name, port.container_port)


def _unanswered(what: str, failed: Failed) -> UnansweredError:
    remedy = next((words for code, words in REMEDIES.items() if code == failed.code), "")
    return UnansweredError(
        f"{what}: {failed.reason}", remedy or "see whether kubectl reaches the same cluster"
    )
