"""What objects are told about themselves, in lines that people read."""

from collections.abc import Iterable, Iterator, Mapping

from translator.names import Name, Ref
from translator.rules.status import (
    Address,
    BackendStatus,
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStatus,
    ParentRef,
    PolicyStatus,
    RouteStatus,
    Status,
)
from translator.verdict import Condition

LISTENERS = "listeners"  # what is said of listeners, whichever object declares them


def statuses(told: Mapping[Ref, Status], kinds: Iterable[str]) -> dict[str, list[str]]:
    """Say what the objects of some kinds are told, each by whom."""
    wanted = set(kinds)
    return {
        title: lines
        for ref in sorted(told)
        for kind, title, lines in _entries(ref, told[ref])
        if kind in wanted
    }


def _entries(ref: Ref, status: Status) -> Iterator[tuple[str, str, list[str]]]:
    match status:
        case GatewayClassStatus(conditions):
            yield ref.kind, str(ref), _lines(conditions)
        case GatewayStatus():
            addresses = [_address(each) for each in status.addresses]
            sets = status.attached_listener_sets
            yield (
                ref.kind,
                str(ref),
                [
                    *_lines(status.conditions),
                    *addresses,
                    *([f"ListenerSets attached: {sets}"] if sets else []),
                ],
            )
            yield from _listeners(ref, status.listeners)
        case ListenerSetStatus():
            yield ref.kind, str(ref), _lines(status.conditions)
            yield from _listeners(ref, status.listeners)
        case RouteStatus(parents):
            for each in parents:
                yield ref.kind, f"{ref}, by {_parent(ref, each.parent)}", _lines(each.conditions)
        case PolicyStatus(ancestors) | BackendStatus(ancestors):
            for each in ancestors:
                yield ref.kind, f"{ref}, by {_parent(ref, each.parent)}", _lines(each.conditions)


def _address(address: Address) -> str:
    if address.routability is None:
        return f"at {address.value}, reaching who knows how far"
    return f"at {address.value}{f', for {address.routability}' if address.routability else ''}"


def _listeners(ref: Ref, told: Iterable[ListenerStatus]) -> Iterator[tuple[str, str, list[str]]]:
    for each in told:
        kinds = " and ".join(kind.kind for kind in each.supported_kinds) or "no route"
        lines = [*_lines(each.conditions), f"takes {kinds}, attached: {each.attached_routes}"]
        yield LISTENERS, f"{ref}, listener {each.name}", lines


def _parent(ref: Ref, parent: ParentRef) -> str:
    place = str(Name(parent.namespace or ref.name.namespace, parent.name))
    section = f" section {parent.section_name}" if parent.section_name else ""
    return f"{parent.kind} {place}{section}{f' port {parent.port}' if parent.port else ''}"


def _lines(conditions: Iterable[Condition]) -> list[str]:
    return [_line(each) for each in conditions]


def _line(condition: Condition) -> str:
    said = [condition.type, str(condition.status)]
    if not (condition.status and condition.reason == condition.type):
        said.append(condition.reason)
    if condition.message:
        said.append(f'"{condition.message}"')
    return " ".join(said)
