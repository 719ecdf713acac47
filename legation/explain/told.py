"""What an object says of itself, in words, with what helps."""

from collections.abc import Iterable, Iterator, Mapping

from legation.atlas.portraits import Said, said
from legation.explain.explanation import About
from legation.written_status import read_status
from translator.names import Ref

Statuses = Mapping[Ref, bytes]


def about(statuses: Statuses, ref: Ref) -> tuple[About, ...]:
    """Read everything that an object says of itself."""
    written = statuses.get(ref)
    return tuple(_read(written, ref)) if written is not None else ()


def faults(told: Iterable[About]) -> list[Said]:
    """Return what is not done that somebody asked for."""
    return [said for each in told for said in each.said if said.verdict == "bad"]


def _read(written: bytes, ref: Ref) -> Iterator[About]:
    status = read_status(written)
    if status.conditions:
        yield About("", tuple(map(said, status.conditions)))
    for each in status.listeners:
        yield About(f"listener {each.name}", tuple(map(said, each.conditions)), each.attached_routes)
    for entry in status.ours:
        yield About(f"by {entry.about(ref.name.namespace)}", tuple(map(said, entry.conditions)))
