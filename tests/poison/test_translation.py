"""Whatever a tenant writes stays his: no accident, no other's byte differs, and Envoy takes all of it."""

from itertools import chain

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.envoy_validate import validate
from tests.poison.hostile import admitted
from tests.poison.tenants import bystander, first_at_the_shared_door, portrait, world_of
from tests.translator.test_statuses_any_world import REASON, lists
from translator.objects.kinds import Object, name_of
from translator.translate import Translator, translate
from translator.verdict import LONGEST_MESSAGE

seldom_slow = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
hostile = st.lists(admitted(), min_size=1, max_size=8)


@settings(seldom_slow, max_examples=60)
@given(hostile)
def test_nothing_of_another_tenant_differs_and_nothing_remains_when_it_goes(things: list[Object]) -> None:
    world = world_of()
    translator = Translator(world)
    before = translator.translate()
    for thing in things:
        world.put(type(thing), name_of(thing), thing)
    during = translator.translate()
    assert not during.broken
    assert portrait(during) == portrait(before)
    assert first_at_the_shared_door(during) == first_at_the_shared_door(before)
    there = {(type(thing), name_of(thing)): thing for thing in bystander()}
    for thing in things:
        place = type(thing), name_of(thing)
        world.put(*place, there.get(place))
    after = translator.translate()
    assert (after.gateways, after.statuses) == (before.gateways, before.statuses)


@settings(seldom_slow, max_examples=30)
@given(hostile)
def test_envoy_takes_whatever_is_made_of_what_an_api_server_takes(things: list[Object]) -> None:
    for resources in translate(world_of(things)).gateways.values():
        validate(
            {kind: {name: each.body for name, each in named.items()} for kind, named in resources.items()}
        )


@settings(seldom_slow, max_examples=60)
@given(hostile)
def test_what_objects_are_told_of_themselves_is_short_enough_and_can_be_shown(things: list[Object]) -> None:
    for status in translate(world_of(things)).statuses.values():
        for each in chain.from_iterable(lists(status)):
            assert len(each.message) <= LONGEST_MESSAGE + 3
            assert each.message.isprintable()
            assert REASON.fullmatch(each.reason)
