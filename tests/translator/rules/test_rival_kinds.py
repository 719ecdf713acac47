"""HTTPRoutes and GRPCRoutes at one listener: whose hostnames meet, and what it costs to know."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.golden import FOLDER, let_in, objects
from tests.poison.effort import grows_no_faster
from translator.objects.kinds import Object, name_of
from translator.rules.hostnames import EVERY, Held, intersection
from translator.translate import INDEXES, Translator
from translator.world import World

FEW = 20  # routes of each kind, of which four times as many are tried

labels = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(".".join)
names = st.one_of(labels, labels.map("*.{}".format), st.just(EVERY))


@given(st.lists(names, max_size=6), names)
def test_a_name_meets_those_that_it_has_something_in_common_with(there: list[str], name: str) -> None:
    held = Held()
    for each in there:
        held.add(each)
    assert held.meets(name) == any(intersection(each, name) is not None for each in there)


def route(kind: str, name: str, host: str) -> Object:
    """Return a route for one host."""
    parents = [{"name": "edge", "namespace": "infra"}]
    spec = {"parentRefs": parents, "hostnames": [f"{host}.test"], "rules": [{}]}
    metadata = {"name": name, "namespace": "shop"}
    version = "gateway.networking.k8s.io/v1"
    return let_in({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def moving_one(many: int) -> Callable[[], object]:
    """Have one of many routes change its hostname, where as many of the other kind are."""
    world = World(INDEXES)
    kinds = ("HTTPRoute", "GRPCRoute")
    routes = [route(kind, f"n{n}", f"{kind[0].lower()}{n}") for kind in kinds for n in range(many)]
    for each in (*objects(FOLDER / "background.yaml"), *routes):
        world.put(type(each), name_of(each), each)
    translator = Translator(world)
    translator.translate()
    moved = route("HTTPRoute", "n0", "moved")
    world.put(type(moved), name_of(moved), moved)
    return translator.translate


def test_a_route_is_not_held_against_each_route_of_the_other_kind_again() -> None:
    assert grows_no_faster(moving_one, FEW)
