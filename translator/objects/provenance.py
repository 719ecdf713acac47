"""Who wrote an object's spec last: all that is kept of what the API server notes of every writer."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Raw
from msgspec.structs import force_setattr

from translator.objects.meta import ObjectMeta, Part

_SPEC = b'"f:spec"'


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
        """Let go of all writers but the last one of the spec, and of the lists of fields they wrote."""
        force_setattr(self, "managed_fields", _last(self.managed_fields))

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
        """Who wrote the spec last, if anybody noted it."""
        return self.managed_fields[0] if self.managed_fields else None


def written_in(file: str) -> tuple[FieldManager, ...]:
    """Name a file as what an object's spec was written by."""
    return (FieldManager(manager=file, operation="File"),)


def _last(writers: Sequence[FieldManager]) -> tuple[FieldManager, ...]:
    noted = [each for each in writers if not each.subresource and _wrote_spec(each)]
    if not noted:
        return ()
    last = max(noted, key=lambda each: each.time.timestamp() if each.time else 0.0)
    return (FieldManager(last.manager, last.operation, last.time),)


def _wrote_spec(writer: FieldManager) -> bool:
    fields = bytes(writer.fields_v1)
    return not fields or _SPEC in fields  # one that was kept has let go of its list


def _compared(meta: TracedMeta) -> tuple[object, ...]:
    return tuple(getattr(meta, name) for name in meta.__struct_fields__ if name != "resource_version")
