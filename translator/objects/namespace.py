"""Namespace: read for its labels, by which others select it."""

from typing import ClassVar

from msgspec import Raw

from translator.objects.meta import Part
from translator.objects.provenance import LabelledMeta


class Namespace(Part, frozen=True):
    """A room for names."""

    also: ClassVar[frozenset[str]] = frozenset({"spec"})

    metadata: LabelledMeta
    api_version: str = "v1"
    status: Raw = Raw()
