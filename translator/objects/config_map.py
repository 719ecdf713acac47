"""ConfigMap: named texts, such as a bundle of CA certificates."""

from typing import ClassVar

from msgspec import field

from translator.objects.meta import Part
from translator.objects.provenance import TracedMeta


class ConfigMap(Part, frozen=True):
    """Named texts, and named bytes in base64."""

    also: ClassVar[frozenset[str]] = frozenset({"immutable"})

    metadata: TracedMeta
    data: dict[str, str] = field(default_factory=dict)
    binary_data: dict[str, str] = field(default_factory=dict)
    api_version: str = "v1"
