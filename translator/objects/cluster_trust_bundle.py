"""ClusterTrustBundle: CA certificates that a whole cluster may trust."""

from typing import Annotated

from translator.objects.constraints import Text
from translator.objects.meta import Part
from translator.objects.provenance import TracedMeta


class ClusterTrustBundleSpec(Part, frozen=True):
    """The certificates in PEM, and the signer they belong to, if any."""

    trust_bundle: Annotated[str, Text(1, 1024 * 1024)]
    signer_name: str = ""


class ClusterTrustBundle(Part, frozen=True):
    """A bundle of trust; it has no namespace."""

    metadata: TracedMeta
    spec: ClusterTrustBundleSpec
    api_version: str = "certificates.k8s.io/v1"
