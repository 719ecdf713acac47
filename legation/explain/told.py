"""What an object says of itself, in words, with what helps."""

from collections.abc import Iterable, Iterator, Mapping

from legation.explain.explanation import About, Said, Tone
from legation.findings import Fault
from legation.written_status import PENDING, Condition, read_status
from translator.names import Ref
from translator.rules.gateways import CONTROLLER

Statuses = Mapping[Ref, bytes]


def about(statuses: Statuses, ref: Ref) -> tuple[About, ...]:
    """Read everything that an object says of itself."""
    written = statuses.get(ref)
    return tuple(_read(written, ref)) if written is not None else ()


def faults(told: Iterable[About]) -> list[Said]:
    """Return what is not done that somebody asked for."""
    return [said for each in told for said in each.said if said.tone == "bad"]


def _read(written: bytes, ref: Ref) -> Iterator[About]:
    status = read_status(written)
    if status.conditions:
        yield About("", _said(status.conditions))
    for each in status.listeners:
        yield About(f"listener {each.name}", _said(each.conditions), each.attached_routes)
    for entry in (*status.parents, *status.ancestors):
        if entry.controller_name == CONTROLLER:
            yield About(f"by {entry.about(ref.name.namespace)}", _said(entry.conditions))


def _said(conditions: Iterable[Condition]) -> tuple[Said, ...]:
    return tuple(
        Said(each.type, each.status, each.reason, each.message, tone, Fault("", each).remedy)
        for each, tone in ((each, _tone(each)) for each in conditions)
    )


def _tone(condition: Condition) -> Tone:
    if condition.is_bad:
        return "bad"
    if condition.is_warning or (condition.status == "True" and condition.message):
        return "remark"
    return "waiting" if condition.reason == PENDING else "good"
