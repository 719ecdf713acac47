"""GatewayParameters: what the operator permits a Gateway, and how its proxies are run."""

import re
from typing import Annotated

from msgspec import Raw, field

from translator.objects.constraints import Between, Entries, OneOf, Text
from translator.objects.meta import LabelSelector, ObjectMeta, Part

Quantity = int | str | None  # as Kubernetes writes amounts: 2, 500m, 64Mi
Percentage = Annotated[int, Between(1, 100)]
Replicas = Annotated[int, Between(1, 1000)]
Image = Annotated[
    str, Text(1, 512, re.compile(r"[^\s]+"), "an image, such as example.com/envoy:v1, without blanks")
]


class BackendTLSParameters(Part, frozen=True):
    """Whether policies may weaken the check of a backend, and in which namespaces: all, unless selected."""

    insecure_verification: Annotated[str, OneOf(("Forbid", "Permit"))] = "Forbid"
    namespace_selector: LabelSelector | None = None


class ResourceParameters(Part, frozen=True):
    """What each proxy is given, and what it may take at the most."""

    requests: Annotated[dict[str, Quantity], Entries(8)] = field(default_factory=dict)
    limits: Annotated[dict[str, Quantity], Entries(8)] = field(default_factory=dict)


class AutoscalingParameters(Part, frozen=True):
    """Between how many proxies to choose by the CPU time that they use."""

    max_replicas: Replicas
    min_replicas: Replicas = 1
    cpu_utilization: Percentage = 70


class EnvoyParameters(Part, frozen=True):
    """How Envoy is run for a Gateway."""

    image: Image | None = None
    replicas: Replicas | None = None
    autoscaling: AutoscalingParameters | None = None
    resources: ResourceParameters | None = None
    concurrency: Annotated[int, Between(1, 256)] | None = None
    log_level: (
        Annotated[str, OneOf(("trace", "debug", "info", "warning", "error", "critical", "off"))] | None
    ) = None


class ServiceParameters(Part, frozen=True):
    """How the proxies of a Gateway are reached."""

    type: Annotated[str, OneOf(("ClusterIP", "NodePort", "LoadBalancer"))] | None = None


class GatewayParametersSpec(Part, frozen=True):
    """What holds for the Gateways that refer to these parameters."""

    backend_tls: BackendTLSParameters = field(default=BackendTLSParameters(), name="backendTLS")
    proxies: Annotated[str, OneOf(("Managed", "External"))] | None = None
    envoy: EnvoyParameters = EnvoyParameters()
    service: ServiceParameters = ServiceParameters()


class GatewayParameters(Part, frozen=True):
    """The operator's word, which a class or a Gateway refers to."""

    metadata: ObjectMeta
    spec: GatewayParametersSpec = GatewayParametersSpec()
    api_version: str = "legation.dev/v1alpha1"
    status: Raw = Raw()
