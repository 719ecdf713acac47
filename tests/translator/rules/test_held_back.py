"""What is held back, and what it costs that something may be."""

from tests.translator.rules.changing import V1, thing
from translator.names import Name, Ref
from translator.objects.http_route import HTTPRoute
from translator.rules.held_back import REASON, HeldBack, place
from translator.rules.http_routes import rules
from translator.translate import INDEXES
from translator.verdict import Refused
from translator.world import World

STORE, OTHER = (Ref("HTTPRoute", Name("shop", name)) for name in ("store", "other"))


def refusals(world: World) -> list[Refused | None]:
    return [each.refusal for each in rules(world, STORE)]


def test_no_route_is_asked_for_by_name_until_something_is_held_back() -> None:
    world = World(INDEXES)
    route = thing(V1, "HTTPRoute", "store", rules=[{}])
    assert isinstance(route, HTTPRoute)
    world.put(HTTPRoute, STORE.name, route)
    before = refusals(world)
    kept = len(world.memory)
    world.put(HeldBack, place(OTHER), HeldBack("no such cluster", None))
    assert refusals(world) == before
    assert len(world.memory) == kept + 1
    world.put(HeldBack, place(STORE), HeldBack("no such cluster", None))
    [refusal] = refusals(world)
    assert refusal is not None
    assert refusal.reason == REASON
