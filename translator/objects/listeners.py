"""Listeners, of a Gateway or of a ListenerSet: a port, what is spoken there, and who may attach."""

from typing import Annotated

from msgspec import field

from translator.objects.constraints import Entries, Items, OneOf
from translator.objects.filters import HTTPExternalAuthFilter
from translator.objects.meta import LabelSelector, Part
from translator.objects.references import GATEWAY_GROUP, LocalObjectReference, SecretObjectReference
from translator.objects.scalars import (
    AnnotationValue,
    Group,
    Hostname,
    Kind,
    PortNumber,
    ProtocolType,
    SectionName,
)

TLS_MODES = ("Terminate", "Passthrough")


class ListenerTLSConfig(Part, frozen=True):
    """What becomes of TLS at a listener, and the certificates it shows."""

    mode: Annotated[str, OneOf(TLS_MODES)] = "Terminate"
    certificate_refs: Annotated[tuple[SecretObjectReference, ...], Items(most=64)] = ()
    options: Annotated[dict[str, AnnotationValue], Entries(16)] = field(default_factory=dict)


class RouteNamespaces(Part, frozen=True):
    """The namespaces whose routes may attach."""

    from_: Annotated[str, OneOf(("All", "Selector", "Same"))] = field(default="Same", name="from")
    selector: LabelSelector | None = None


class RouteGroupKind(Part, frozen=True):
    """A kind of route that may attach."""

    kind: Kind
    group: Group = GATEWAY_GROUP


class AllowedRoutes(Part, frozen=True):
    """The routes that may attach to a listener."""

    namespaces: RouteNamespaces = RouteNamespaces()
    kinds: Annotated[tuple[RouteGroupKind, ...], Items(most=8)] = ()


class ListenerFilter(Part, frozen=True):
    """One thing that happens to every request of a listener: `type` says which field tells how."""

    type: Annotated[str, OneOf(("ExternalAuth", "ExtensionRef"))]
    external_auth: HTTPExternalAuthFilter | None = None
    extension_ref: LocalObjectReference | None = None


class ListenerFilters(Part, frozen=True):
    """What happens to every request of a listener before any route sees it."""

    requests: Annotated[tuple[ListenerFilter, ...], Items(most=16)] = ()


class Listener(Part, frozen=True):
    """A port that is listened on, for one host or for all."""

    name: SectionName
    port: PortNumber
    protocol: ProtocolType
    hostname: Hostname | None = None
    tls: ListenerTLSConfig | None = None
    allowed_routes: AllowedRoutes = AllowedRoutes()
    filters: ListenerFilters | None = None


Listeners = Annotated[tuple[Listener, ...], Items(1, 64, key=("name",))]
