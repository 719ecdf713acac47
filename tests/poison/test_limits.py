"""What one tenant may ask of all others' Envoys: each limit is told with its remedy, and nobody else pays."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.messages import read
from tests.poison.effort import grows_no_faster
from tests.poison.spells import GATEWAYS, TENANT
from tests.poison.tenants import SHARED, portrait, world_of
from translator.envoy.resource import ROUTES
from translator.names import Name, Ref
from translator.objects.admission.admit import admit
from translator.objects.kinds import Object, find_kind
from translator.rules.limits import LARGEST_ROUTE, LARGEST_SPREAD, MOST_LISTENERS
from translator.rules.status import ListenerSetStatus, RouteStatus
from translator.translate import Translation, translate
from translator.verdict import LONGEST_MESSAGE, Condition

VERSION = f"{GATEWAYS}/v1"
BACKENDS = [{"name": "a", "port": 80}]
SHARED_HTTP = [{"name": "shared", "namespace": "infra", "sectionName": "http"}]


def made(kind: str, name: str, age: int = 0, /, **spec: object) -> Object:
    """Make an object of the hostile tenant, one that an API server takes."""
    born = f"2026-01-01T00:{age // 60:02}:{age % 60:02}Z"
    metadata = {"name": name, "namespace": TENANT, "creationTimestamp": born}
    info = find_kind(VERSION, kind)
    assert info is not None
    thing = admit({"apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": spec}, info)
    assert not isinstance(thing, tuple), thing
    return thing


def route(name: str, age: int, rules: list[Any], *hosts: str) -> Object:
    return made("HTTPRoute", name, age, parentRefs=SHARED_HTTP, hostnames=list(hosts), rules=rules)


def matching(matches: list[Any]) -> dict[str, object]:
    return {"matches": matches, "backendRefs": BACKENDS}


def padded(number: int, length: int) -> dict[str, object]:
    return {"headers": [{"name": "x", "value": f"{number}-{'v' * length}"}]}


def told(translation: Translation, name: str) -> dict[str, Condition]:
    """Return what a route is told by its one parent."""
    status = translation.statuses[Ref("HTTPRoute", Name(TENANT, name))]
    assert isinstance(status, RouteStatus)
    [parent] = status.parents
    return {each.type: each for each in parent.conditions}


def table(translation: Translation) -> bytes:
    return translation.gateways[SHARED][ROUTES][f"{SHARED}:80"].body


def test_a_route_that_would_be_too_large_as_it_is_served_is_refused_whole() -> None:
    rules = [matching([padded(number, 4000) for number in range(8)])] * 3
    fits, large = ["a.example"], [f"h{number}.example" for number in range(16)]
    good = translate(world_of([route("a", 0, rules, *fits)]))
    bad = translate(world_of([route("a", 0, rules, *large)]))
    assert told(good, "a")["Accepted"].status
    refused = told(bad, "a")["Accepted"]
    assert (refused.status, refused.reason) == (False, "UnsupportedValue")
    assert str(LARGEST_ROUTE) in refused.message
    assert "split it" in refused.message
    assert len(table(bad)) < len(table(good))
    assert portrait(bad) == portrait(translate(world_of()))


def test_what_a_rule_does_counts_once_for_each_of_its_matches() -> None:
    headers = [{"name": f"x-{number}", "value": "v" * 4000} for number in range(16)]
    changes = [{"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": headers}}]
    rule = {"matches": [padded(number, 1) for number in range(64)], "filters": changes}
    assert not told(translate(world_of([route("a", 0, [rule], "a.example")])), "a")["Accepted"].status


def test_each_regular_expression_counts_as_what_envoy_keeps_for_it() -> None:
    patterns = [{"name": f"x-{number}", "value": "a+", "type": "RegularExpression"} for number in range(16)]
    rule = matching([{"headers": patterns}] * 32)
    assert not told(translate(world_of([route("a", 0, [rule], "a.example")])), "a")["Accepted"].status


def test_routes_for_every_host_are_repeated_in_each_only_while_there_is_room() -> None:
    small = route("small", 1, [matching([padded(1, 100)])])
    large = route("large", 2, [matching([padded(number, 4000) for number in range(10)])])
    late = route("late", 3, [matching([padded(2, 100)])])
    hosts = [route(f"h{number}", 4, [matching([{}])], f"h{number}.example") for number in range(50)]
    translation = translate(world_of([small, large, late, *hosts]))
    assert "PartiallyInvalid" not in told(translation, "small") | told(translation, "late")
    confined = told(translation, "large")["PartiallyInvalid"]
    assert confined.status
    assert confined.message.startswith("Dropped Rule: ")
    assert "give it the hostnames it is for" in confined.message
    assert len(table(translation)) < 50 * LARGEST_SPREAD
    found = {
        host.name: {each.name for each in host.routes}
        for host in read(ROUTES, table(translation)).virtual_hosts
    }
    assert f"HTTPRoute {TENANT}/large rule 0" in found["*"]
    assert found["h7.example"] == {f"HTTPRoute {TENANT}/{name} rule 0" for name in ("h7", "small", "late")}
    assert portrait(translation) == portrait(translate(world_of()))


def test_listeners_beyond_what_a_gateway_may_have_are_those_of_the_youngest_sets() -> None:
    sets = [listener_set(f"s{number}", number) for number in range(MOST_LISTENERS // 64 + 1)]
    translation = translate(world_of(sets))
    accepted = {
        ref.name.name: accepts(status)
        for ref, status in translation.statuses.items()
        if ref.kind == "ListenerSet"
    }
    late = [f"s{number}" for number in (MOST_LISTENERS // 64 - 1, MOST_LISTENERS // 64)]
    assert {name for name, each in accepted.items() if not each.status} <= set(late)
    refused = accepted[late[-1]]
    assert (refused.status, refused.reason) == (False, "TooManyListeners")
    assert str(MOST_LISTENERS) in refused.message
    assert portrait(translation) == portrait(translate(world_of()))


def listener_set(name: str, age: int) -> Object:
    listeners = [
        {"name": f"l{n}", "port": 80, "protocol": "HTTP", "hostname": f"h{n}.{name}.example"}
        for n in range(64)
    ]
    return made(
        "ListenerSet", name, age, parentRef={"name": "shared", "namespace": "infra"}, listeners=listeners
    )


def accepts(status: object) -> Condition:
    assert isinstance(status, ListenerSetStatus)
    return next(each for each in status.conditions if each.type == "Accepted")


def port_set(name: str, age: int) -> Object:
    listeners = [{"name": f"l{n}", "port": 10_000 + 64 * age + n, "protocol": "TCP"} for n in range(64)]
    parent = {"name": "shared", "namespace": "infra"}
    return made("ListenerSet", name, age, parentRef=parent, listeners=listeners)


@pytest.mark.parametrize("one", [listener_set, port_set])
def test_many_listeners_cost_what_they_are_and_not_each_with_each(one: Callable[[str, int], Object]) -> None:
    def translated(sets: int) -> Callable[[], object]:
        world = world_of(one(f"s{number}", number) for number in range(sets))
        return lambda: translate(world)

    assert grows_no_faster(translated, 2)


def test_a_message_about_many_long_mistakes_is_cut() -> None:
    wrong = [{"name": "x", "value": "(" + "a" * 4000, "type": "RegularExpression"}]
    rules = [matching([{"headers": wrong}]) for _ in range(15)] + [matching([{}])]
    said = told(translate(world_of([route("a", 0, rules, "a.example")])), "a")["PartiallyInvalid"]
    assert LONGEST_MESSAGE <= len(said.message) <= LONGEST_MESSAGE + 3
