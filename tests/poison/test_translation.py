"""Whatever a tenant writes stays his: no accident, no other's byte differs, and Envoy takes all of it."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.envoy_validate import Resources, validate
from tests.golden import let_in
from tests.poison.hostile import Json, admitted, refused
from tests.poison.spells import LEADING, TENANT
from tests.poison.tenants import bystander, first_at_the_shared_door, portrait, world_of
from tests.together import together
from tests.translator.objects.admission.rule_examples import examples
from tests.translator.test_statuses_any_world import REASON, lists
from translator.objects.kinds import Object, name_of
from translator.translate import Resources as Served
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
        validate(bodies(resources))


@settings(seldom_slow, max_examples=60)
@given(st.lists(refused(), min_size=1, max_size=4))
def test_what_other_crds_let_in_harms_nobody_and_envoy_takes_it(manifests: list[Json]) -> None:
    unharmed([[each for each in map(readable, manifests) if each is not None]])


def test_what_breaks_a_rule_of_the_crds_harms_nobody_where_no_crd_has_it() -> None:
    unharmed([[let_in(moved(each.refused))] for each in examples()])


def moved(manifest: Json) -> Json:
    """Have an example's object be the tenant's, and lead from the Gateway that all share to his Service."""
    text = json.dumps(manifest["spec"]).replace('"pay"', '"a"').replace('"edge"', '"a"')
    spec = json.loads(text)
    if manifest["kind"].endswith("Route"):
        spec = {"parentRefs": LEADING["parentRefs"]} | spec
    return {**manifest, "metadata": {"name": "a", "namespace": TENANT}, "spec": spec}


def readable(manifest: Json) -> Object | None:
    """Read an object as it is read where nobody asks the rules; what fits no struct is never put."""
    try:
        return let_in(manifest)
    except msgspec.ValidationError:
        return None


def unharmed(worlds: Iterable[Sequence[Object]]) -> None:
    """Hold that objects, world by world, cost no other tenant anything and no Envoy refuses them."""
    before, made = translate(world_of()), dict[str, Resources]()
    for number, things in enumerate(worlds):
        during = translate(world_of(things))
        assert not during.broken
        assert portrait(during) == portrait(before)
        assert first_at_the_shared_door(during) == first_at_the_shared_door(before)
        made |= {f"{number} {gateway}": bodies(each) for gateway, each in during.gateways.items()}
    validate(together(made))


def bodies(resources: Served) -> Resources:
    """Return what Envoy is to judge."""
    return {kind: {name: each.body for name, each in named.items()} for kind, named in resources.items()}


@settings(seldom_slow, max_examples=60)
@given(hostile)
def test_what_objects_are_told_of_themselves_is_short_enough_and_can_be_shown(things: list[Object]) -> None:
    for status in translate(world_of(things)).statuses.values():
        for each in chain.from_iterable(lists(status)):
            assert len(each.message) <= LONGEST_MESSAGE + 3
            assert each.message.isprintable()
            assert REASON.fullmatch(each.reason)
