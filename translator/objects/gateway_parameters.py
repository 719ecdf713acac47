"""GatewayParameters: what the operator permits a Gateway, and how its proxies are run."""

import re
from typing import Annotated

from msgspec import Raw, field

from translator.objects.constraints import Between, Entries, Items, OneOf, Text
from translator.objects.meta import LabelSelector, Part
from translator.objects.provenance import TracedMeta
from translator.objects.scalars import Duration, Namespace, ObjectName, PortNumber, SectionName

_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_AMOUNT = re.compile(rf"\+?{_NUMBER}(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?")
Quantity = Annotated[int | str | None, Text(1, 40, _AMOUNT, "an amount, such as 2, 500m or 64Mi")]
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
    drain_seconds: Annotated[int, Between(1, 86_400)] | None = None


class ServiceParameters(Part, frozen=True):
    """How the proxies of a Gateway are reached."""

    type: Annotated[str, OneOf(("ClusterIP", "NodePort", "LoadBalancer"))] | None = None


class RequestRateParameters(Part, frozen=True):
    """How many requests are taken in a time, and how many at once after a quiet while."""

    requests: Annotated[int, Between(1, 10_000_000)]
    per: Duration = "1s"
    burst: Annotated[int, Between(1, 10_000_000)] | None = None


class RequestHeaderParameters(Part, frozen=True):
    """What the headers of a request may be."""

    max_kilobytes: Annotated[int, Between(1, 8192)] | None = None
    max_count: Annotated[int, Between(1, 10_000)] | None = None
    underscores: Annotated[str, OneOf(("Allow", "Reject"))] | None = None


class RequestBodyParameters(Part, frozen=True):
    """What the body of a request may be."""

    max_kilobytes: Annotated[int, Between(1, 4_194_303)] | None = None  # Envoy counts bytes in 32 bits


class TimeoutParameters(Part, frozen=True):
    """How long clients may be silent."""

    idle: Duration | None = None
    stream_idle: Duration | None = None
    request_headers: Duration | None = None


class ClientParameters(Part, frozen=True):
    """What is granted to clients, and what they are believed."""

    max_connections: Annotated[int, Between(1, 10_000_000)] | None = None
    request_rate: RequestRateParameters | None = None
    request_headers: RequestHeaderParameters = RequestHeaderParameters()
    request_body: RequestBodyParameters = RequestBodyParameters()
    timeouts: TimeoutParameters = TimeoutParameters()
    trusted_hops: Annotated[int, Between(0, 32)] | None = None
    proxy_protocol: Annotated[str, OneOf(("Off", "Optional", "Required"))] | None = None
    http3: Annotated[str, OneOf(("Off", "On"))] | None = None


class PortParameters(Part, frozen=True):
    """What holds for clients of one port, before what holds for those of all."""

    port: PortNumber
    clients: ClientParameters


class ListenerParameters(Part, frozen=True):
    """What holds for clients of one listener of the Gateway's own, before what holds for its port."""

    section_name: SectionName
    clients: ClientParameters


class CollectorParameters(Part, frozen=True):
    """A Service's port where OTLP is spoken over gRPC."""

    name: ObjectName
    port: PortNumber
    namespace: Namespace | None = None


class AccessLogParameters(Part, frozen=True):
    """Where each request, and each connection that is passed on, is written down."""

    stdout: Annotated[str, OneOf(("Off", "JSON", "Text"))] | None = None
    collector: CollectorParameters | None = None


class TracingParameters(Part, frozen=True):
    """Which requests are traced, and who is told."""

    collector: CollectorParameters | None = None
    sampling_percentage: Annotated[int, Between(0, 100)] | None = None
    service_name: Annotated[str, Text(1, 255)] | None = None


class GatewayParametersSpec(Part, frozen=True):
    """What holds for the Gateways that refer to these parameters."""

    backend_tls: BackendTLSParameters = field(default=BackendTLSParameters(), name="backendTLS")
    external_names: Annotated[str, OneOf(("Forbid", "Permit"))] | None = None
    proxies: Annotated[str, OneOf(("Managed", "External"))] | None = None
    envoy: EnvoyParameters = EnvoyParameters()
    service: ServiceParameters = ServiceParameters()
    clients: ClientParameters = ClientParameters()
    ports: Annotated[tuple[PortParameters, ...], Items(0, 64, key=("port",))] = ()
    listeners: Annotated[tuple[ListenerParameters, ...], Items(0, 64, key=("sectionName",))] = ()
    access_logs: AccessLogParameters = AccessLogParameters()
    tracing: TracingParameters = TracingParameters()


class GatewayParameters(Part, frozen=True):
    """The operator's word, which a class or a Gateway refers to."""

    metadata: TracedMeta
    spec: GatewayParametersSpec = GatewayParametersSpec()
    api_version: str = "legation.dev/v1alpha1"
    status: Raw = Raw()
