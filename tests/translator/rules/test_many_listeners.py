"""What one more listener costs where there are many, of many ListenerSets."""

from collections.abc import Callable
from typing import Any

from tests.golden import FOLDER, let_in, objects
from tests.poison.effort import FOUR_TIMES, grows_no_faster
from translator.objects.kinds import Object, name_of
from translator.translate import INDEXES, Translator, translate
from translator.world import World

FEW = 50  # sets, of which four times as many are tried
V1 = "gateway.networking.k8s.io/v1"
HTTP: dict[str, Any] = {"name": "a", "port": 8080, "protocol": "HTTP"}
HTTPS = {"name": "a", "port": 8443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "edge-cert"}]}}


def listener_set(number: int, listener: dict[str, Any]) -> tuple[Object, Object]:
    """Return a ListenerSet with a listener for one host, and a route for that."""
    metadata = {"name": f"n{number}", "namespace": "infra"}
    listeners = [{**listener, "hostname": f"n{number}.shop.test"}]
    added = {"parentRef": {"name": "edge"}, "listeners": listeners}
    parents = [{"group": "gateway.networking.k8s.io", "kind": "ListenerSet", "name": f"n{number}"}]
    led = {"parentRefs": parents, "rules": [{}]}
    return (
        let_in({"apiVersion": V1, "kind": "ListenerSet", "metadata": metadata, "spec": added}),
        let_in({"apiVersion": V1, "kind": "HTTPRoute", "metadata": metadata, "spec": led}),
    )


def edge() -> Object:
    """Return the Gateway of all cases, open for sets."""
    spec = {
        "gatewayClassName": "legation",
        "allowedListeners": {"namespaces": {"from": "All"}},
        "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
    }
    metadata = {"name": "edge", "namespace": "infra"}
    return let_in({"apiVersion": V1, "kind": "Gateway", "metadata": metadata, "spec": spec})


def world_of(many: int, listener: dict[str, Any]) -> World:
    """Return a world of many sets."""
    world = World(INDEXES)
    sets = (each for number in range(many) for each in listener_set(number, listener))
    for each in (*objects(FOLDER / "background.yaml"), edge(), *sets):
        world.put(type(each), name_of(each), each)
    return world


def results(world: World) -> int:
    """Count what is remembered of a world."""
    translate(world)
    return len(world.memory)


def one_more(listener: dict[str, Any]) -> Callable[[int], Callable[[], object]]:
    """Have one more set come to many."""

    def begin(many: int) -> Callable[[], object]:
        world = world_of(many, listener)
        translator = Translator(world)
        translator.translate()
        for each in listener_set(many, listener):
            world.put(type(each), name_of(each), each)
        return translator.translate

    return begin


def test_one_more_listener_is_not_compared_with_all_pairs_of_others() -> None:
    assert grows_no_faster(one_more(HTTP), FEW)


def test_one_more_https_listener_makes_nothing_for_each_pair_of_them() -> None:
    assert grows_no_faster(one_more(HTTPS), FEW)


def test_names_of_other_listeners_are_kept_together() -> None:
    kept = [results(world_of(many, HTTPS)) for many in (FEW, 4 * FEW)]
    assert kept[1] < FOUR_TIMES * kept[0]
