"""TCPRoute: where the connections of a listener go."""

from typing import Annotated

from msgspec import Raw

from translator.objects.constraints import Items
from translator.objects.meta import ObjectMeta, Part
from translator.objects.routes import BackendRefs, DefaultScope, ParentRefs
from translator.objects.scalars import SectionName


class TCPRouteRule(Part, frozen=True):
    """The backends that share the connections."""

    backend_refs: BackendRefs
    name: SectionName | None = None


class TCPRouteSpec(Part, frozen=True):
    """Where a route is attached, and its rules; more than one only in v1alpha2."""

    rules: Annotated[tuple[TCPRouteRule, ...], Items(1, 16)]
    parent_refs: ParentRefs = ()
    use_default_gateways: DefaultScope | None = None


class TCPRoute(Part, frozen=True):
    """Routing of TCP connections."""

    metadata: ObjectMeta
    spec: TCPRouteSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
