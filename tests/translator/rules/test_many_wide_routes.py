"""What one change costs where routes of a wide name are repeated in many hosts."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.poison.effort import grows_no_faster
from tests.translator.rules.changing import V1, changed, thing
from translator.objects.kinds import Object

FEW = 40  # hosts, and routes that are repeated in each, of which four times as many are tried
WIDE = "*.wide.test"


def route(name: str, host: str, path: str = "/") -> Object:
    parents = [{"name": "edge", "namespace": "infra"}]
    rule: dict[str, Any] = {
        "matches": [{"path": {"value": path}}],
        "backendRefs": [{"name": "big", "port": 80}],
    }
    return thing(V1, "HTTPRoute", name, parentRefs=parents, hostnames=[host], rules=[rule])


def wide(number: int) -> Object:
    return route(f"w{number}", WIDE, f"/{number}")


def first(_many: int) -> Object:
    return route("w0", WIDE, "/changed")


def last(many: int) -> Object:
    return route(f"w{many - 1}", WIDE, "/")


@pytest.mark.parametrize("change", [first, last, wide], ids=["first", "last", "one more"])
def test_what_is_repeated_is_not_built_for_each_host_anew(change: Callable[[int], Object]) -> None:
    def begin(many: int) -> Callable[[], object]:
        hosts = [route(f"h{number}", f"h{number}.wide.test") for number in range(many)]
        service = thing("v1", "Service", "big", ports=[{"port": 80}])
        _, translate = changed([service, *hosts, *map(wide, range(many))], change(many))
        return translate

    assert grows_no_faster(begin, FEW)
