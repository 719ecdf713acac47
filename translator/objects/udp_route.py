"""UDPRoute: where the datagrams of a listener go."""

from typing import Annotated

from msgspec import Raw

from translator.objects.constraints import Items
from translator.objects.meta import ObjectMeta, Part
from translator.objects.routes import BackendRefs, DefaultScope, ParentRefs
from translator.objects.scalars import SectionName


class UDPRouteRule(Part, frozen=True):
    """The backends that share the datagrams."""

    backend_refs: BackendRefs
    name: SectionName | None = None


class UDPRouteSpec(Part, frozen=True):
    """Where a route is attached, and its rules; more than one only in v1alpha2."""

    rules: Annotated[tuple[UDPRouteRule, ...], Items(1, 16)]
    parent_refs: ParentRefs = ()
    use_default_gateways: DefaultScope | None = None


class UDPRoute(Part, frozen=True):
    """Routing of UDP datagrams."""

    metadata: ObjectMeta
    spec: UDPRouteSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
