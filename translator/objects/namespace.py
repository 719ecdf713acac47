"""Namespace: read for its labels, by which others select it."""

from typing import ClassVar

from msgspec import Raw

from translator.objects.meta import ObjectMeta, Part


class Namespace(Part, frozen=True):
    """A room for names."""

    also: ClassVar[frozenset[str]] = frozenset({"spec"})

    metadata: ObjectMeta
    api_version: str = "v1"
    status: Raw = Raw()
