"""GatewayClass: which controller looks after a class of Gateways."""

from msgspec import Raw

from translator.objects.meta import Part
from translator.objects.provenance import TracedMeta
from translator.objects.scalars import Description, GatewayController, Group, Kind, Namespace, ObjectName


class ParametersReference(Part, frozen=True):
    """The object that says how the Gateways of a class are run."""

    group: Group
    kind: Kind
    name: ObjectName
    namespace: Namespace | None = None


class GatewayClassSpec(Part, frozen=True):
    """The controller of a class, and its parameters."""

    controller_name: GatewayController
    parameters_ref: ParametersReference | None = None
    description: Description | None = None


class GatewayClass(Part, frozen=True):
    """A class of Gateways; it has no namespace."""

    metadata: TracedMeta
    spec: GatewayClassSpec
    api_version: str = "gateway.networking.k8s.io/v1"
    status: Raw = Raw()
