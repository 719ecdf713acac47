"""GatewayParameters: what the operator permits a Gateway, and how its proxies are run."""

from typing import Annotated

from msgspec import Raw, field

from translator.objects.constraints import OneOf
from translator.objects.meta import LabelSelector, ObjectMeta, Part


class BackendTLSParameters(Part, frozen=True):
    """Whether policies may weaken the check of a backend, and in which namespaces: all, unless selected."""

    insecure_verification: Annotated[str, OneOf(("Forbid", "Permit"))] = "Forbid"
    namespace_selector: LabelSelector | None = None


class GatewayParametersSpec(Part, frozen=True):
    """What holds for the Gateways that refer to these parameters."""

    backend_tls: BackendTLSParameters = field(default=BackendTLSParameters(), name="backendTLS")
    proxies: Annotated[str, OneOf(("Managed", "External"))] = "Managed"


class GatewayParameters(Part, frozen=True):
    """The operator's word, which a class or a Gateway refers to."""

    metadata: ObjectMeta
    spec: GatewayParametersSpec = GatewayParametersSpec()
    api_version: str = "legation.dev/v1alpha1"
    status: Raw = Raw()
