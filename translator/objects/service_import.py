"""ServiceImport: a Service of several clusters, as this one sees it."""

from typing import Annotated, ClassVar

from msgspec import Raw

from translator.objects.constraints import Items, OneOf
from translator.objects.meta import ObjectMeta, Part
from translator.objects.scalars import PortNumber

MULTICLUSTER_GROUP = "multicluster.x-k8s.io"


class ServiceImportPort(Part, frozen=True):
    """One port of an imported Service, the same in all clusters."""

    port: PortNumber
    name: str = ""
    protocol: Annotated[str, OneOf(("TCP", "UDP", "SCTP"))] = "TCP"
    app_protocol: str | None = None


class ServiceImportSpec(Part, frozen=True):
    """What a gateway needs to know of an imported Service."""

    also: ClassVar[frozenset[str]] = frozenset({
        "internalTrafficPolicy",
        "ipFamilies",
        "ips",
        "sessionAffinity",
        "sessionAffinityConfig",
        "trafficDistribution",
    })  # fmt: skip

    type: Annotated[str, OneOf(("ClusterSetIP", "Headless"))]
    ports: Annotated[tuple[ServiceImportPort, ...], Items()]


class ServiceImport(Part, frozen=True):
    """A backend with endpoints in several clusters."""

    metadata: ObjectMeta
    spec: ServiceImportSpec
    api_version: str = "multicluster.x-k8s.io/v1beta1"
    status: Raw = Raw()
