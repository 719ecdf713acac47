"""BackendTLSPolicy: the TLS a Gateway must speak to a backend."""

from typing import Annotated

from msgspec import Raw, field

from translator.objects.constraints import Entries, Items, OneOf
from translator.objects.meta import Part
from translator.objects.provenance import TracedMeta
from translator.objects.references import LocalObjectReference, PolicyTargetReference
from translator.objects.scalars import (
    AbsoluteURI,
    AnnotationValue,
    Hostname,
    PreciseHostname,
    WellKnownCACertificates,
)


class SubjectAltName(Part, frozen=True):
    """A name the backend's certificate may prove instead of the hostname."""

    type: Annotated[str, OneOf(("Hostname", "URI"))]
    hostname: Hostname | None = None
    uri: AbsoluteURI | None = None


class BackendTLSPolicyValidation(Part, frozen=True):
    """What is sent as the server's name, who is trusted, and what must be proved."""

    hostname: PreciseHostname
    ca_certificate_refs: Annotated[tuple[LocalObjectReference, ...], Items(1, 8)] = ()
    well_known_ca_certificates: WellKnownCACertificates | None = field(
        default=None, name="wellKnownCACertificates"
    )
    subject_alt_names: Annotated[tuple[SubjectAltName, ...], Items(most=5)] = ()


class BackendTLSPolicySpec(Part, frozen=True):
    """The backends a policy is about, and what it asks of them."""

    target_refs: Annotated[tuple[PolicyTargetReference, ...], Items(1, 16)]
    validation: BackendTLSPolicyValidation
    options: Annotated[dict[str, AnnotationValue], Entries(16)] = field(default_factory=dict)


class BackendTLSPolicy(Part, frozen=True):
    """TLS from a Gateway to the backends of a Service."""

    metadata: TracedMeta
    spec: BackendTLSPolicySpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
