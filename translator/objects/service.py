"""Service: a name for endpoints, and the ports they are reached at."""

from typing import Annotated, ClassVar

from msgspec import Raw, field

from translator.objects.constraints import Between, OneOf
from translator.objects.meta import ObjectMeta, Part
from translator.objects.scalars import PortNumber

_FAMILY = OneOf(("IPv4", "IPv6"))


class ServicePort(Part, frozen=True):
    """One port of a Service, and the one of its endpoints that it leads to: a number or a name."""

    port: PortNumber
    name: str = ""
    protocol: Annotated[str, OneOf(("TCP", "UDP", "SCTP"))] = "TCP"
    app_protocol: str | None = None
    target_port: int | str | None = None
    node_port: Annotated[int, Between(0, 65535)] = 0


class ServiceSpec(Part, frozen=True):
    """What a gateway needs to know of a Service."""

    also: ClassVar[frozenset[str]] = frozenset({
        "allocateLoadBalancerNodePorts",
        "externalTrafficPolicy",
        "healthCheckNodePort",
        "internalTrafficPolicy",
        "ipFamilyPolicy",
        "loadBalancerClass",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
        "sessionAffinity",
        "sessionAffinityConfig",
        "trafficDistribution",
    })  # fmt: skip

    type: Annotated[str, OneOf(("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"))] = "ClusterIP"
    ports: tuple[ServicePort, ...] = ()
    selector: dict[str, str] = field(default_factory=dict)
    cluster_ip: str = field(default="", name="clusterIP")
    cluster_ips: tuple[str, ...] = field(default=(), name="clusterIPs")
    external_ips: tuple[str, ...] = field(default=(), name="externalIPs")
    ip_families: tuple[Annotated[str, _FAMILY], ...] = ()
    external_name: str = ""
    publish_not_ready_addresses: bool = False


class Service(Part, frozen=True):
    """A backend with a name."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()
    api_version: str = "v1"
    status: Raw = Raw()
