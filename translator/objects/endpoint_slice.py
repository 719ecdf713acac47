"""EndpointSlice: the addresses behind a Service."""

from typing import Annotated, ClassVar

from translator.objects.constraints import Items, OneOf
from translator.objects.meta import ObjectMeta, Part
from translator.objects.scalars import PortNumber


class EndpointConditions(Part, frozen=True):
    """What is known of an endpoint; what nobody said is None."""

    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class Endpoint(Part, frozen=True):
    """One backend that can be connected to, at any of its addresses."""

    also: ClassVar[frozenset[str]] = frozenset(
        {"deprecatedTopology", "hints", "hostname", "nodeName", "targetRef", "zone"}
    )

    addresses: Annotated[tuple[str, ...], Items(1, 100, distinct=True)]
    conditions: EndpointConditions = EndpointConditions()


class EndpointPort(Part, frozen=True):
    """One port of every endpoint of a slice; without a number, every port."""

    name: str = ""
    protocol: Annotated[str, OneOf(("TCP", "UDP", "SCTP"))] = "TCP"
    port: PortNumber | None = None
    app_protocol: str | None = None


class EndpointSlice(Part, frozen=True):
    """Some of the endpoints of a Service, which its label `kubernetes.io/service-name` names."""

    metadata: ObjectMeta
    address_type: Annotated[str, OneOf(("IPv4", "IPv6", "FQDN"))]
    # The API server writes `null` where there are none.
    endpoints: Annotated[tuple[Endpoint, ...], Items(most=1000)] | None = ()
    ports: Annotated[tuple[EndpointPort, ...], Items(most=20_000)] | None = ()
    api_version: str = "discovery.k8s.io/v1"
