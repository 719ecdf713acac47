"""XBackend: a destination with all that a Gateway needs to know to reach it.  GEP-4894."""

from types import MappingProxyType
from typing import Annotated

from msgspec import Raw, field

from translator.objects.backend_tls_policy import BackendTLSPolicyValidation
from translator.objects.constraints import Entries, OneOf
from translator.objects.meta import Part
from translator.objects.provenance import AnnotatedMeta
from translator.objects.references import SecretObjectReference
from translator.objects.routes import SessionPersistence
from translator.objects.scalars import LabelValue, PortNumber, PreciseHostname

X_GROUP = "gateway.networking.x-k8s.io"
TLS_MODES = ("None", "ServerOnly", "ClientAndServer")
X_UNHONOURED = MappingProxyType({  # policies of the group for what Gateways do, and that nobody reads
    "XBackendTrafficPolicy": "xbackendtrafficpolicies",
    "XTelemetryPolicy": "xtelemetrypolicies",
})  # fmt: skip


class BackendPort(Part, frozen=True):
    """The port to connect to."""

    number: PortNumber | None = None


class ExternalHostnameBackend(Part, frozen=True):
    """A destination that is found by its DNS name."""

    hostname: PreciseHostname


class EndpointSelectorBackend(Part, frozen=True):
    """A destination that consists of pods, by all of these labels."""

    match_labels: Annotated[dict[str, LabelValue], Entries(64)]


class BackendTLS(Part, frozen=True):
    """Whether TLS is opened to the destination, what it must prove, and what it is shown."""

    mode: Annotated[str, OneOf(TLS_MODES)]
    client_certificate_ref: SecretObjectReference | None = None
    validation: BackendTLSPolicyValidation | None = None


class BackendSpec(Part, frozen=True):
    """Where a destination is, and how it is spoken to."""

    type: Annotated[str, OneOf(("ExternalHostname", "EndpointSelector"))]
    port: BackendPort
    external_hostname: ExternalHostnameBackend | None = None
    endpoint_selector: EndpointSelectorBackend | None = None
    session_persistence: SessionPersistence | None = None
    protocol: (
        Annotated[str, OneOf(("TCP", "HTTP", "HTTP2", "HTTP11", "H2C", "MCP", "GRPC", "WSS"))] | None
    ) = None
    tls: BackendTLS = field(default=BackendTLS("None"))


class XBackend(Part, frozen=True):
    """A backend that is no Service."""

    metadata: AnnotatedMeta
    spec: BackendSpec
    api_version: str = "gateway.networking.x-k8s.io/v1alpha1"
    status: Raw = Raw()
