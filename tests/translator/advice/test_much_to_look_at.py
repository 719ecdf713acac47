"""Advice about much is found in as many steps as there is: changes wait for it while a page is open."""

from collections.abc import Callable

import pytest

from tests.golden import FOLDER, let_in, objects
from tests.poison.effort import grows_no_faster
from tests.translator.rules.test_many_grants import grant
from tests.translator.rules.test_many_grants import route as crossing
from translator.advice.everything import answered
from translator.objects.kinds import Object, name_of
from translator.translate import INDEXES, translate
from translator.world import World

FEW = 40  # objects, of which four times as many are tried
MATCHES = 4  # of one route


def by_header(number: int) -> Object:
    """Return a route for the one host, by headers that no other asks for, and by one that all do."""
    every = {"name": "x-all", "value": "same"}
    matches = [{"headers": [every, {"name": "x-id", "value": f"{number}-{n}"}]} for n in range(MATCHES)]
    spec = {"parentRefs": [{"name": "edge", "namespace": "infra"}], "rules": [{"matches": matches}]}
    metadata = {"name": f"n{number}", "namespace": "shop"}
    version = "gateway.networking.k8s.io/v1"
    return let_in({"apiVersion": version, "kind": "HTTPRoute", "metadata": metadata, "spec": spec})


def matches(many: int) -> list[Object]:
    return [by_header(number) for number in range(many)]


def grants(many: int) -> list[Object]:
    return [each for number in range(many) for each in (grant(number, f"n{number}"), crossing(number))]


@pytest.mark.parametrize(
    ("given", "title"), [(matches, "advice about matches"), (grants, "advice about grants")]
)
def test_nothing_is_held_against_each_other(given: Callable[[int], list[Object]], title: str) -> None:
    def begin(many: int) -> Callable[[], object]:
        world = World(INDEXES)
        for each in (*objects(FOLDER / "background.yaml"), *given(many)):
            world.put(type(each), name_of(each), each)
        translate(world)
        return lambda: answered(world, title)

    assert grows_no_faster(begin, FEW)
