"""What the control plane may do with an API server, and no more: the table that roles are written from."""

from collections.abc import Iterable

from msgspec import Struct

from legation import crds
from legation.proxies.made import SORTS
from translator.objects.backend_tls_policy import BackendTLSPolicy
from translator.objects.gateway import Gateway
from translator.objects.gateway_class import GatewayClass
from translator.objects.grpc_route import GRPCRoute
from translator.objects.http_route import HTTPRoute
from translator.objects.kinds import KINDS, KindInfo
from translator.objects.listener_set import ListenerSet
from translator.objects.references import GATEWAY_GROUP
from translator.objects.tcp_route import TCPRoute
from translator.objects.tls_route import TLSRoute
from translator.objects.udp_route import UDPRoute
from translator.objects.x_backend import XBackend

LEASE, AUTHORITY = "legation", "legation-authority"  # what it keeps for itself, where it runs
READ = ("get", "list", "watch")
OWN = ("create", "delete", "get", "list", "patch", "watch")
JUDGED = (
    GatewayClass, Gateway, ListenerSet, HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, UDPRoute, BackendTLSPolicy,
    XBackend
)  # fmt: skip
MADE = tuple((sort.group, sort.plural) for sort in SORTS.values())  # for each Gateway, in its namespace

Manifest = dict[str, object]


class Permission(Struct, frozen=True, order=True):
    """Something that may be done with the objects of one group."""

    group: str
    verbs: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()  # of single objects; all if none is named

    def rule(self) -> Manifest:
        """Write it as a role has it."""
        single = {"resourceNames": list(self.names)} if self.names else {}
        resources = {"resources": list(self.resources), **single}
        return {"apiGroups": [self.group], **resources, "verbs": list(self.verbs)}


def of_namespaces(*, managed: bool) -> tuple[Permission, ...]:
    """Say what is needed wherever Gateways and backends may be."""
    known = _known(info for info in KINDS if info.namespaced)
    owning = Permission(GATEWAY_GROUP, ("update",), ("gateways/finalizers",))  # to block their deletion
    made = (*_by_group(MADE, OWN), owning) if managed else ()
    return tuple(sorted((*known, *of_default_namespace(), *made)))


def of_cluster() -> tuple[Permission, ...]:
    """Say what is needed of objects without a namespace."""
    versions = Permission(crds.GROUP, ("get",), (crds.PLURAL,), crds.NAMES)
    return tuple(sorted((*_known(info for info in KINDS if not info.namespaced), versions)))


def of_default_namespace() -> tuple[Permission, ...]:
    """Say what is needed where Events about objects without a namespace lie."""
    return (Permission("events.k8s.io", ("create", "get", "patch"), ("events",)),)  # patch: it happened again


def of_own_namespace(*, managed: bool) -> tuple[Permission, ...]:
    """Say what is needed where the control plane itself runs: its Lease; its authority, and its own replicas.

    Who may create a Secret there may have one made that opens the API server to any service account of it.
    """
    replicas = Permission("discovery.k8s.io", READ, ("endpointslices",))
    own = (*_of_single("", "secrets", AUTHORITY), replicas) if managed else ()
    return tuple(sorted((*_of_single("coordination.k8s.io", "leases", LEASE), *own)))


def role(kind: str, name: str, permissions: Iterable[Permission]) -> Manifest:
    """Write a Role or a ClusterRole."""
    heading = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    return {**heading, "rules": [permission.rule() for permission in permissions]}


def _of_single(group: str, resource: str, name: str) -> tuple[Permission, ...]:
    """Allow to keep one object; what is yet to be made has no name by which a role could know it."""
    return (
        Permission(group, ("create",), (resource,)),
        Permission(group, ("get", "update"), (resource,), (name,)),
    )


def _known(kinds: Iterable[KindInfo]) -> list[Permission]:
    """Allow to read kinds, and to say what became of those that have a status from us."""
    infos = list(kinds)
    read = [(info.group, info.plural) for info in infos]
    judged = [(info.group, f"{info.plural}/status") for info in infos if info.type in JUDGED]
    return [*_by_group(read, READ), *_by_group(judged, ("patch",))]


def _by_group(pairs: Iterable[tuple[str, str]], verbs: tuple[str, ...]) -> list[Permission]:
    groups: dict[str, list[str]] = {}
    for group, resource in pairs:
        groups.setdefault(group, []).append(resource)
    return [Permission(group, verbs, tuple(sorted(resources))) for group, resources in groups.items()]
