"""What a cluster lacks for Gateways to be served: kinds, permissions, and pods that are ready.

Whoever asks needs rights of their own. What they may not ask about is told as such, and fails nobody.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby

import msgspec
from msgspec import Struct

from k8s_watch.answers import BROKEN, Failed
from k8s_watch.api_server import ApiServer, Call, RequestError
from k8s_watch.kind import Place
from legation.checks.access_review import Account, Right, lacking, needed
from legation.checks.findings import Finding, of_check
from legation.checks.of_crds import CHECKS as OF_CRDS
from legation.checks.of_crds import of_crds
from legation.checks.of_policies import of_policies
from legation.checks.table import CLUSTER, WAITING
from legation.proxies.belonging import MANAGED_BY
from legation.unasked import NOT_ASKED, UnaskedError
from translator.advice.checks import Check

FORBIDDEN = Check(
    "permission-lacking",
    CLUSTER,
    "something that the control plane needs to do, and may not",
    "upgrade the chart, or apply the manifests of this release: they grant what it needs",
)
UNREADY = Check(
    "replicas-not-ready",
    WAITING,
    "a Deployment of the control plane, or of a Gateway's proxies, with fewer pods ready than wanted",
    "see what keeps its pods: kubectl describe deployment, and their Events",
)
CHECKS = (*OF_CRDS, FORBIDDEN, UNREADY, NOT_ASKED)

OURS = "app.kubernetes.io/name=legation"
MADE = f"{MANAGED_BY}=legation"
WATCH, CERTIFICATE = "LEGATION_WATCH", "LEGATION_XDS_CERT"
WITHIN = 20.0  # seconds


class _Metadata(Struct, frozen=True):
    name: str
    namespace: str = ""


class _Variable(Struct, frozen=True):
    name: str
    value: str = ""


class _Container(Struct, frozen=True):
    env: tuple[_Variable, ...] = ()


class _Pod(Struct, frozen=True, rename="camel"):
    containers: tuple[_Container, ...] = ()
    service_account_name: str = "default"


class _Template(Struct, frozen=True):
    spec: _Pod = _Pod()


class _Wanted(Struct, frozen=True):
    template: _Template = _Template()
    replicas: int = 1


class _Ready(Struct, frozen=True, rename="camel"):
    ready_replicas: int = 0


class Deployment(Struct, frozen=True):
    """What is read of a Deployment."""

    metadata: _Metadata
    spec: _Wanted
    status: _Ready = _Ready()

    @property
    def account(self) -> Account:
        """Whose name its pods ask by."""
        return Account(self.metadata.namespace, self.spec.template.spec.service_account_name)

    @property
    def watched(self) -> tuple[str, ...]:
        """The namespaces that it is told to serve; none means all."""
        return tuple(self._variables.get(WATCH, "").split())

    @property
    def manages(self) -> bool:
        """Whether it runs proxies: not if it proves itself by certificates of others."""
        return CERTIFICATE not in self._variables

    @property
    def _variables(self) -> dict[str, str]:
        return {each.name: each.value for one in self.spec.template.spec.containers for each in one.env}


class _Deployments(Struct, frozen=True):
    items: tuple[Deployment, ...] = ()


async def of_cluster(server: ApiServer, namespace: str) -> tuple[Finding, ...]:
    """Look at everything of a cluster that Legation in this namespace needs."""
    definitions = [each async for each in of_crds(server)]
    idle = [each async for each in of_policies(server)]
    return (*definitions, *[each async for each in of_installation(server, namespace)], *idle)


async def of_installation(server: ApiServer, namespace: str) -> AsyncIterator[Finding]:
    """Tell of pods that are not ready, and of what the control plane may not do."""
    try:
        ours = await _deployments(server, namespace, OURS)
        for each in (*ours, *await _deployments(server, "", MADE)):
            if each.status.ready_replicas < each.spec.replicas:
                about = f"Deployment {each.metadata.namespace}/{each.metadata.name}"
                message = f"{each.status.ready_replicas} of {each.spec.replicas} pods are ready"
                yield of_check(UNREADY, about, "spec.replicas", message)
        for each in ours:
            for finding in _forbidden(each.account, await _lacking(server, namespace, each)):
                yield finding
    except UnaskedError as error:
        yield of_check(NOT_ASKED, "", "", str(error))


async def _lacking(server: ApiServer, namespace: str, deployment: Deployment) -> tuple[Right, ...]:
    try:
        rights = needed(namespace, deployment.watched, managed=deployment.manages)
        return await lacking(server, deployment.account, rights)
    except RequestError as error:
        raise UnaskedError(error.failed, f"what {deployment.account} may do") from error


def _forbidden(account: Account, rights: Sequence[Right]) -> Iterator[Finding]:
    """Tell of what is lacking, once for each kind of object and place."""
    by_kind = groupby(sorted(rights), key=lambda right: right[:3])
    for (namespace, group, resource), lacked in by_kind:
        where = f"in namespace {namespace}" if namespace else "in any namespace"
        what = f"{resource}.{group}" if group else resource
        verbs = ", ".join(dict.fromkeys(right.verb for right in lacked))
        yield of_check(FORBIDDEN, str(account), what, f"may not {verbs} {what} {where}")


async def _deployments(server: ApiServer, namespace: str, selector: str) -> tuple[Deployment, ...]:
    path = Place("apps/v1", "deployments", namespace).path()
    try:
        async with server.send(Call("GET", path, {"labelSelector": selector}, total=WITHIN)) as response:
            return msgspec.json.decode(await response.read(), type=_Deployments).items
    except RequestError as error:
        raise UnaskedError(error.failed, "Deployments") from error
    except BROKEN as error:
        raise UnaskedError(Failed(0, str(error)), "Deployments") from error
