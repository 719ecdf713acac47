"""What the API server takes of a status, whatever anybody wrote: the limits of v1.7.0's CRDs."""

import re
from collections.abc import Iterator

from hypothesis import given, settings

from tests.worlds import worlds
from translator.rules.status import (
    BackendStatus,
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ParentStatus,
    PolicyStatus,
    RouteStatus,
    Status,
)
from translator.translate import translate
from translator.verdict import Condition
from translator.world import World

REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
TYPE = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
MOST_CONDITIONS = 8
MOST_ENTRIES = {RouteStatus: 32, PolicyStatus: 16, BackendStatus: 32}


def entries(status: Status) -> tuple[ParentStatus, ...]:
    match status:
        case RouteStatus(parents):
            return parents
        case PolicyStatus(ancestors) | BackendStatus(ancestors):
            return ancestors
        case GatewayClassStatus() | GatewayStatus() | ListenerSetStatus():
            return ()


def lists(status: Status) -> Iterator[tuple[Condition, ...]]:
    """Yield every list of conditions in a status."""
    match status:
        case RouteStatus() | PolicyStatus() | BackendStatus():
            yield from (each.conditions for each in entries(status))
        case GatewayClassStatus(conditions):
            yield conditions
        case GatewayStatus() | ListenerSetStatus():
            yield status.conditions
            yield from (each.conditions for each in status.listeners)


@settings(max_examples=100)
@given(worlds())
def test_every_status_is_one_that_the_api_server_takes(world: World) -> None:
    for status in translate(world).statuses.values():
        for conditions in lists(status):
            assert 1 <= len(conditions) <= MOST_CONDITIONS
            assert len({each.type for each in conditions}) == len(conditions)
            for each in conditions:
                assert TYPE.fullmatch(each.type)
                assert REASON.fullmatch(each.reason)
                assert len(each.message) <= 32768
        parents = [each.parent for each in entries(status)]
        assert len(parents) == len(set(parents)) <= MOST_ENTRIES.get(type(status), 0)
