"""Who last wrote what matters of an object: all that is kept of what the API server notes of every writer."""

from collections.abc import Mapping
from datetime import datetime
from sys import intern

import msgspec
from msgspec import Raw
from msgspec.structs import force_setattr

from translator.objects.meta import ObjectMeta, Part

OWN = "legation.dev/"
CONTENTS = frozenset({"f:spec", "f:data", "f:stringData", "f:binaryData"})

Fields = Mapping[str, Raw]

_FIELDS = msgspec.json.Decoder(dict[str, Raw])


class FieldManager(Part, frozen=True):
    """One writer, and when it wrote; files have one, too: themselves."""

    manager: str = ""
    operation: str = ""
    time: datetime | None = None
    subresource: str = ""
    fields_v1: Raw = Raw()


class TracedMeta(ObjectMeta, frozen=True, eq=False):
    """What an object carries of which we tell who changed it; what was only counted anew is equal."""

    resource_version: str = ""
    managed_fields: tuple[FieldManager, ...] = ()

    def __post_init__(self) -> None:
        """Let go of all writers but the last one of what matters, and of the lists of fields they wrote."""
        if self.managed_fields:
            force_setattr(self, "managed_fields", self._last())

    def __eq__(self, other: object) -> bool:
        """Compare everything but the version, which each write of a status moves."""
        if not isinstance(other, TracedMeta):
            return NotImplemented
        return _compared(self) == _compared(other)

    def __hash__(self) -> int:
        """Agree with what is equal."""
        return hash((self.namespace, self.name, self.uid, self.generation))

    @property
    def writer(self) -> FieldManager | None:
        """Who wrote last what matters, if anybody noted it."""
        return self.managed_fields[0] if self.managed_fields else None

    @classmethod
    def matters(cls, fields: Fields) -> bool:
        """Say whether any of these fields is one of which we tell who wrote it: a spec, or data."""
        return not CONTENTS.isdisjoint(fields)

    def _last(self) -> tuple[FieldManager, ...]:
        noted = [each for each in self.managed_fields if not each.subresource and self._wrote(each)]
        if not noted:
            return ()
        last = max(noted, key=lambda each: each.time.timestamp() if each.time else 0.0)
        return (
            FieldManager(intern(last.manager), intern(last.operation), last.time),
        )  # few have many objects

    def _wrote(self, writer: FieldManager) -> bool:
        fields = writer.fields_v1
        return not fields or self.matters(_within(fields))  # one that was kept has let go of its list


class LabelledMeta(TracedMeta, frozen=True, eq=False):
    """What an object carries whose labels matter, and nothing else."""

    @classmethod
    def matters(cls, fields: Fields) -> bool:
        """Say whether labels are among them."""
        return "f:labels" in _within(fields.get("f:metadata"))


class AnnotatedMeta(TracedMeta, frozen=True, eq=False):
    """What an object carries that says by annotations of ours what its spec has no fields for."""

    @classmethod
    def matters(cls, fields: Fields) -> bool:
        """Say whether the spec is among them, or an annotation of ours."""
        annotations = _within(_within(fields.get("f:metadata")).get("f:annotations"))
        return super().matters(fields) or any(each.startswith(f"f:{OWN}") for each in annotations)


def written_in(file: str) -> tuple[FieldManager, ...]:
    """Name a file as what an object was written by."""
    return (FieldManager(manager=file, operation="File"),)


def _within(fields: Raw | None) -> Fields:
    """Read one level of a list of fields; what a manifest says there may be anything."""
    try:
        return _FIELDS.decode(fields) if fields else {}
    except msgspec.MsgspecError:
        return {}


def _compared(meta: TracedMeta) -> tuple[object, ...]:
    return tuple(getattr(meta, name) for name in meta.__struct_fields__ if name != "resource_version")
