"""Verdicts -> what an object's status says: times are added here, and what others wrote is left alone.

Nothing here writes to an API. An equal status comes back as the very bytes that went in, so that whoever
writes can tell that nothing is due.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from legation.written_status import OWN_PREFIX
from translator.rules.gateways import CONTROLLER
from translator.rules.status import (
    MOST_ANCESTORS,
    MOST_BACKEND_ANCESTORS,
    MOST_PARENTS,
    Address,
    BackendStatus,
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStatus,
    ParentRef,
    ParentStatus,
    PolicyStatus,
    RouteStatus,
    Status,
)
from translator.verdict import Condition

OWN_TYPES = frozenset({
    "Accepted",
    "AddressesAssigned",
    "Conflicted",
    "DefaultGateway",
    "InsecureFrontendValidationMode",
    "OverlappingTLSConfig",
    "PartiallyInvalid",
    "Programmed",
    "ResolvedRefs",
    "SupportedVersion",
})  # fmt: skip

Fields = dict[str, Raw]
Plain = dict[str, object]


class Moment(Struct, frozen=True):
    """What a verdict does not know about itself: when it is written, and which generation was judged."""

    now: str  # as Kubernetes writes it: `2026-01-31T12:00:00Z`
    generation: int
    newest: int = 0  # generation of the object that brings along what is written there


class _Written(Struct, frozen=True):
    """The parts of a condition that decide whether it is replaced."""

    type: str = ""
    status: str = ""
    observed_generation: int = msgspec.field(default=0, name="observedGeneration")
    last_transition_time: str = msgspec.field(default="", name="lastTransitionTime")


def merged(existing: bytes, status: Status, moment: Moment) -> bytes:
    """Return the status an object is to have, given the one it has; the same bytes where nothing differs."""
    after = _after(_fields(existing), status, moment)
    return _unless_equal(existing, msgspec.json.encode(after))


def _after(before: Fields, status: Status, moment: Moment) -> Plain:
    match status:
        case GatewayClassStatus():
            return _gateway_class(before, status, moment)
        case GatewayStatus():
            return _gateway(before, status, moment)
        case ListenerSetStatus():
            return _listener_set(before, status, moment)
        case RouteStatus():
            return _entries(before, _PARENTS, status.parents, moment)
        case PolicyStatus():
            return _entries(before, _ANCESTORS, status.ancestors, moment)
        case BackendStatus():
            return _entries(before, _BACKEND_ANCESTORS, status.ancestors, moment)


def _gateway_class(before: Fields, status: GatewayClassStatus, moment: Moment) -> Plain:
    features = [{"name": name} for name in sorted(status.supported_features)]
    return _with(
        before, conditions=_conditions(before, status.conditions, moment), supportedFeatures=features or None
    )


def _gateway(before: Fields, status: GatewayStatus, moment: Moment) -> Plain:
    addresses = [_address(each) for each in status.addresses]
    return _with(
        before,
        addresses=addresses or None,
        conditions=_conditions(before, status.conditions, moment),
        listeners=_listeners(before, status.listeners, moment),
        attachedListenerSets=status.attached_listener_sets,
    )


def _address(address: Address) -> dict[str, str]:
    far = {} if address.routability is None else {"routability": address.routability}
    return {"type": address.type, "value": address.value, **far}


def _listener_set(before: Fields, status: ListenerSetStatus, moment: Moment) -> Plain:
    return _with(
        before,
        conditions=_conditions(before, status.conditions, moment),
        listeners=_listeners(before, status.listeners, moment),
    )


def _listeners(before: Fields, listeners: Iterable[ListenerStatus], moment: Moment) -> list[Plain]:
    """Give each listener one entry, in its order in the specification; entries of former listeners go."""
    known = {_text(entry, "name"): entry for entry in map(_entry, _items(before, "listeners"))}
    return [_listener(known.get(listener.name, {}), listener, moment) for listener in listeners]


def _listener(before: Fields, listener: ListenerStatus, moment: Moment) -> Plain:
    kinds = [{"group": kind.group, "kind": kind.kind} for kind in listener.supported_kinds]
    return _with(
        before,
        name=listener.name,
        supportedKinds=kinds,
        attachedRoutes=listener.attached_routes,
        conditions=_conditions(before, listener.conditions, moment),
    )


class _List(Struct, frozen=True):
    """A list of entries that several controllers share."""

    field: str
    reference: str
    most: int


_PARENTS = _List("parents", "parentRef", MOST_PARENTS)
_ANCESTORS = _List("ancestors", "ancestorRef", MOST_ANCESTORS)
_BACKEND_ANCESTORS = _List("ancestors", "ancestorRef", MOST_BACKEND_ANCESTORS)


def _entries(before: Fields, where: _List, ours: Sequence[ParentStatus], moment: Moment) -> Plain:
    """Replace our entries where they stand, append new ones, drop stale ones; never touch another's."""
    existing = _items(before, where.field)
    room = max(0, where.most - sum(not _is_ours(entry) for entry in existing))
    due = {_key(_reference(status.parent)): status for status in ours[:room]}
    kept: list[Raw | Plain] = []
    for entry in existing:
        if not _is_ours(entry):
            kept.append(entry)
        elif (status := due.pop(_key(_reference_in(entry, where)), None)) is not None:
            kept.append(_parent(_entry(entry), where, status, moment))
    kept.extend(_parent({}, where, status, moment) for status in due.values())
    return _with(before, **{where.field: kept})


def _parent(before: Fields, where: _List, status: ParentStatus, moment: Moment) -> Plain:
    return _with(
        before,
        **{where.reference: _reference(status.parent)},
        controllerName=CONTROLLER,
        conditions=_conditions(before, status.conditions, moment),
    )


def _reference(parent: ParentRef) -> dict[str, str | int]:
    fields: Mapping[str, str | int | None] = {
        "group": parent.group,
        "kind": parent.kind,
        "namespace": parent.namespace,
        "name": parent.name,
        "sectionName": parent.section_name,
        "port": parent.port,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _reference_in(entry: Raw, where: _List) -> dict[str, str | int]:
    raw = _entry(entry).get(where.reference)
    return msgspec.json.decode(raw, type=dict[str, str | int]) if raw else {}


def _key(reference: Mapping[str, str | int]) -> frozenset[tuple[str, str | int]]:
    return frozenset(reference.items())


def _is_ours(entry: Raw) -> bool:
    return _text(_entry(entry), "controllerName") == CONTROLLER


def _conditions(before: Fields, due: Iterable[Condition], moment: Moment) -> list[Raw | Plain]:
    """Replace our conditions where they stand, append new ones, drop stale ones; never touch another's."""
    wanted = {condition.type: condition for condition in due}
    kept: list[Raw | Plain] = []
    for raw in _items(before, "conditions"):
        written = msgspec.json.decode(raw, type=_Written)
        condition = wanted.pop(written.type, None)
        if condition is not None:
            kept.append(_rewritten(raw, written, condition, moment))
        elif not _is_own(written.type):
            kept.append(raw)
    kept.extend(_stated(condition, moment.now, moment) for condition in wanted.values())
    return kept


def _is_own(condition_type: str) -> bool:
    return condition_type in OWN_TYPES or condition_type.startswith(OWN_PREFIX)


def _rewritten(raw: Raw, written: _Written, condition: Condition, moment: Moment) -> Raw:
    """Write a condition anew; its time moves only with its status, and a newer judgement is not overwritten.

    One of a generation that the object has not reached is no judgement: it was restored, or made by hand.
    """
    if moment.generation < written.observed_generation <= moment.newest:
        return raw
    since = written.last_transition_time if written.status == _word(condition) else ""
    after = _stated(condition, since or moment.now, moment)
    return Raw(_unless_equal(bytes(raw), msgspec.json.encode(after)))


def _stated(condition: Condition, since: str, moment: Moment) -> Plain:
    return {
        "type": condition.type,
        "status": _word(condition),
        "observedGeneration": moment.generation,
        "lastTransitionTime": since,
        "reason": condition.reason,
        "message": condition.message,
    }


def _word(condition: Condition) -> str:
    return "True" if condition.status else "False"


def _with(before: Fields, **fields: object) -> Plain:
    """Set fields, leaving unknown ones as they are; None takes a field away."""
    merged = {**before, **fields}
    return {name: value for name, value in merged.items() if value is not None}


def _fields(existing: bytes) -> Fields:
    return msgspec.json.decode(existing, type=Fields) if existing else {}


def _entry(raw: Raw) -> Fields:
    return msgspec.json.decode(raw, type=Fields)


def _items(fields: Fields, name: str) -> list[Raw]:
    raw = fields.get(name)
    return (msgspec.json.decode(raw, type=list[Raw] | None) or []) if raw else []


def _text(fields: Fields, name: str) -> str:
    raw = fields.get(name)
    return msgspec.json.decode(raw, type=str) if raw else ""


def _unless_equal(before: bytes, after: bytes) -> bytes:
    """Keep the bytes as they were written where they mean the same."""
    decode: Callable[[bytes], object] = msgspec.json.decode
    return before if before and decode(before) == decode(after) else after
