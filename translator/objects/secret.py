"""Secret: certificates with their keys, and bundles of trust; decoded only when somebody asks."""

import binascii
from typing import ClassVar

from msgspec import field

from translator.objects.meta import Part
from translator.objects.provenance import TracedMeta


def from_base64(text: str) -> bytes | None:
    """Decode base64, which may be broken into lines as for the API server; None if it is none."""
    try:
        return binascii.a2b_base64(text.replace("\r", "").replace("\n", ""), strict_mode=True)
    except ValueError:
        return None


class Secret(Part, frozen=True):
    """Named values in base64, as the API server sends them."""

    also: ClassVar[frozenset[str]] = frozenset({"immutable"})

    metadata: TracedMeta
    type: str = "Opaque"
    data: dict[str, str] = field(default_factory=dict)
    string_data: dict[str, str] = field(default_factory=dict)
    api_version: str = "v1"

    def value(self, key: str) -> bytes | None:
        """Decode one value; None where there is none, or none that is base64."""
        if key in self.string_data:
            return self.string_data[key].encode()
        return from_base64(self.data[key]) if key in self.data else None

    def __repr__(self) -> str:
        """Name the Secret and its keys, and show no value."""
        keys = ", ".join(sorted({*self.data, *self.string_data}))
        return f"Secret({self.metadata.namespace}/{self.metadata.name}: {keys})"
