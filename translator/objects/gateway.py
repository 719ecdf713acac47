"""Gateway: addresses and listeners where traffic comes in, and the TLS that holds for all of them."""

from typing import Annotated

from msgspec import Raw, field

from translator.objects.constraints import Entries, Items, OneOf, Text
from translator.objects.listeners import Listeners
from translator.objects.meta import LabelSelector, Part
from translator.objects.provenance import TracedMeta
from translator.objects.references import LocalObjectReference, ObjectReference, SecretObjectReference
from translator.objects.routes import DefaultScope
from translator.objects.scalars import AddressType, AnnotationValue, LabelValue, ObjectName, PortNumber


class GatewaySpecAddress(Part, frozen=True):
    """An address the user asks for."""

    type: AddressType = "IPAddress"
    value: Annotated[str, Text(0, 253)] | None = None
    routability: Annotated[str, Text(0, 253)] | None = None


class GatewayInfrastructure(Part, frozen=True):
    """What the proxies of a Gateway are labelled with, and the object that says how they are run."""

    labels: Annotated[dict[str, LabelValue], Entries(8)] = field(default_factory=dict)
    annotations: Annotated[dict[str, AnnotationValue], Entries(16)] = field(default_factory=dict)
    parameters_ref: LocalObjectReference | None = None


class GatewayBackendTLS(Part, frozen=True):
    """The certificate a Gateway shows to the backends that ask for one."""

    client_certificate_ref: SecretObjectReference | None = None


class FrontendTLSValidation(Part, frozen=True):
    """How the certificates of clients are checked."""

    ca_certificate_refs: Annotated[tuple[ObjectReference, ...], Items(1, 16)]
    mode: Annotated[str, OneOf(("AllowValidOnly", "AllowInsecureFallback"))] = "AllowValidOnly"


class TLSConfig(Part, frozen=True):
    """What is asked of clients that speak TLS."""

    validation: FrontendTLSValidation | None = None


class TLSPortConfig(Part, frozen=True):
    """What is asked of clients on one port."""

    port: PortNumber
    tls: TLSConfig


class FrontendTLSConfig(Part, frozen=True):
    """What is asked of clients on every port, and on single ones."""

    default: TLSConfig
    per_port: Annotated[tuple[TLSPortConfig, ...], Items(most=64, key=("port",))] = ()


class GatewayTLSConfig(Part, frozen=True):
    """TLS towards backends and towards clients."""

    backend: GatewayBackendTLS | None = None
    frontend: FrontendTLSConfig | None = None


class ListenerNamespaces(Part, frozen=True):
    """The namespaces whose ListenerSets may attach."""

    from_: Annotated[str, OneOf(("All", "Selector", "Same", "None"))] = field(default="None", name="from")
    selector: LabelSelector | None = None


class AllowedListeners(Part, frozen=True):
    """The ListenerSets that may attach to a Gateway."""

    namespaces: ListenerNamespaces = ListenerNamespaces()


class GatewaySpec(Part, frozen=True):
    """What a user asks of a Gateway."""

    gateway_class_name: ObjectName
    listeners: Listeners
    addresses: Annotated[tuple[GatewaySpecAddress, ...], Items(most=16)] = ()
    infrastructure: GatewayInfrastructure | None = None
    allowed_listeners: AllowedListeners | None = None
    tls: GatewayTLSConfig | None = None
    default_scope: DefaultScope | None = None


class Gateway(Part, frozen=True):
    """A place where traffic comes in."""

    metadata: TracedMeta
    spec: GatewaySpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
