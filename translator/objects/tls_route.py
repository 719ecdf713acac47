"""TLSRoute: where TLS connections go, by the name the client asked for."""

from typing import Annotated

from msgspec import Raw

from translator.objects.constraints import Items
from translator.objects.meta import ObjectMeta, Part
from translator.objects.routes import BackendRefs, DefaultScope, ParentRefs
from translator.objects.scalars import Hostname, SectionName


class TLSRouteRule(Part, frozen=True):
    """The backends that share the connections."""

    backend_refs: BackendRefs
    name: SectionName | None = None


class TLSRouteSpec(Part, frozen=True):
    """Where a route is attached, for which hosts, and its rules; v1alpha2 alone has no host or many rules."""

    rules: Annotated[tuple[TLSRouteRule, ...], Items(1, 16)]
    parent_refs: ParentRefs = ()
    use_default_gateways: DefaultScope | None = None
    hostnames: Annotated[tuple[Hostname, ...], Items(most=1024)] = ()


class TLSRoute(Part, frozen=True):
    """Routing of TLS connections."""

    metadata: ObjectMeta
    spec: TLSRouteSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
