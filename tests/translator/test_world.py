"""The inputs: what was put is what is read, by name and by relation, and only what changed runs again."""

from collections.abc import Hashable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec import Struct

from translator.memo import Table, query
from translator.names import Name
from translator.world import FEW, Fact, Index, World


class Shop(Struct, frozen=True):
    """Something that sells some goods."""

    goods: tuple[str, ...]
    price: int = 0


class Town(Struct, frozen=True):
    """Something that is no shop."""


SELLERS = Index(Shop, lambda shop: shop.goods)
BY_PRICE = Index(Shop, lambda shop: [shop.price])
HOUR = Fact("the hour", otherwise=12)

TEA, INN, BAR = Name("a", "tea"), Name("b", "inn"), Name("b", "bar")


def a_world(**shops: Shop) -> World:
    world = World([SELLERS, BY_PRICE])
    for name, shop in shops.items():
        world.put(Shop, Name("b", name), shop)
    return world


@query
def offers(world: World, good: str) -> tuple[int, ...]:
    return tuple(shop.price for shop in world.where(SELLERS, good))


@query
def sellers(world: World, good: str) -> tuple[Name, ...]:
    return world.names_where(SELLERS, good)


@query
def lacking(world: World, namespace: str) -> bool:
    return world.misses(Shop, namespace)


@query
def has_towns(world: World, _: str) -> bool:
    return world.has_seen(Town)


@query
def everyone(world: World) -> frozenset[Name]:
    return world.names(Shop)


@query
def greeting(world: World) -> str:
    return "good morning" if world.fact(HOUR) < 12 else "good day"


@query
def is_open(world: World, opens: int, closes: int) -> bool:
    return world.reached(HOUR, opens) and not world.reached(HOUR, closes)


def runs_of(world: World, question: str) -> int:
    return world.memory.runs[question]


def test_whether_there_ever_was_an_object_of_a_kind_is_said_once() -> None:
    world = a_world(tea=Shop(("tea",)))
    assert not has_towns(world, "b")
    world.put(Town, INN, Town())
    assert has_towns(world, "b")
    world.put(Town, INN, None)
    world.put(Town, BAR, Town())
    assert has_towns(world, "b")
    assert world.memory.runs["has_towns"] == 2


def test_what_was_put_is_found_by_its_kind_and_name() -> None:
    world = a_world(inn=Shop(("beer",)))
    assert world.get(Shop, INN) == Shop(("beer",))
    assert world.must(Shop, INN) == Shop(("beer",))
    assert world.get(Town, INN) is None
    assert world.get(Shop, BAR) is None


def test_demanding_what_is_not_there_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="Shop b/inn is not there"):
        a_world().must(Shop, INN)


def test_what_was_removed_is_gone_from_every_relation() -> None:
    world = a_world(inn=Shop(("beer", "soup")))
    world.put(Shop, INN, None)
    assert world.get(Shop, INN) is None
    assert world.names(Shop) == frozenset()
    assert world.where(SELLERS, "beer") == ()
    assert world.names_where(SELLERS, "soup") == ()
    assert world._members[SELLERS] == {}


def test_what_is_not_as_it_was_told_is_missed_in_its_namespace_until_it_is() -> None:
    world = a_world(inn=Shop(("beer",)))
    assert not lacking(world, "b")
    world.miss(Shop, BAR)
    assert lacking(world, "b")
    assert not lacking(world, "a")
    assert not world.misses(Town, "b")
    world.put(Shop, BAR, None)
    assert not lacking(world, "b")


def test_removing_what_never_was_changes_nothing() -> None:
    world = a_world(inn=Shop(("beer",)))
    assert everyone(world) == {INN}
    world.put(Shop, BAR, None)
    assert everyone(world) == {INN}
    assert runs_of(world, "everyone") == 1


def test_related_objects_come_in_the_order_of_their_names() -> None:
    world = World([SELLERS])
    for name, price in ((INN, 3), (TEA, 1), (BAR, 2)):
        world.put(Shop, name, Shop(("beer",), price))
    assert world.names_where(SELLERS, "beer") == (TEA, BAR, INN)
    assert offers(world, "beer") == (1, 2, 3)


def test_an_object_is_found_once_however_often_it_names_a_key() -> None:
    assert a_world(inn=Shop(("beer", "beer"))).names_where(SELLERS, "beer") == (INN,)


def test_an_object_that_changes_its_keys_moves() -> None:
    world = a_world(inn=Shop(("beer", "soup")))
    assert (sellers(world, "beer"), sellers(world, "soup"), sellers(world, "tea")) == ((INN,), (INN,), ())
    world.put(Shop, INN, Shop(("soup", "tea")))
    assert (sellers(world, "beer"), sellers(world, "soup"), sellers(world, "tea")) == ((), (INN,), (INN,))
    assert runs_of(world, "sellers") == 5


def test_an_equal_object_changes_nothing() -> None:
    world = a_world(inn=Shop(("beer",), 3))
    assert offers(world, "beer") == (3,)
    world.put(Shop, INN, Shop(("beer",), 3))
    assert offers(world, "beer") == (3,)
    assert runs_of(world, "_thing") == 1


def test_names_under_a_key_differ_only_when_one_joins_or_leaves() -> None:
    world = a_world(inn=Shop(("beer",), 3))
    assert sellers(world, "beer") == (INN,)
    world.put(Shop, INN, Shop(("beer",), 4))
    assert sellers(world, "beer") == (INN,)
    assert runs_of(world, "sellers") == runs_of(world, "_found_names") == 1


def test_objects_under_another_key_are_not_looked_at_again() -> None:
    world = a_world(inn=Shop(("beer",), 3), bar=Shop(("wine",), 5))
    assert (offers(world, "beer"), offers(world, "wine")) == ((3,), (5,))
    world.put(Shop, INN, Shop(("beer",), 4))
    assert (offers(world, "beer"), offers(world, "wine")) == ((4,), (5,))
    assert runs_of(world, "offers") == 3


def test_a_removed_object_is_not_demanded_by_those_who_found_it_before() -> None:
    world = a_world(inn=Shop(("beer",), 3), bar=Shop(("beer",), 5))
    assert offers(world, "beer") == (5, 3)
    world.put(Shop, BAR, None)
    assert offers(world, "beer") == (3,)


def test_names_of_a_kind_differ_only_when_one_joins_or_leaves() -> None:
    world = a_world(inn=Shop(("beer",)))
    assert everyone(world) == {INN}
    world.put(Shop, INN, Shop(("wine",)))
    assert everyone(world) == {INN}
    assert runs_of(world, "_names") == 1
    world.put(Shop, BAR, Shop(()))
    assert everyone(world) == {INN, BAR}


def test_a_fact_holds_its_default_until_it_is_put() -> None:
    world = a_world()
    assert greeting(world) == "good day"
    world.state(HOUR, 8)
    assert greeting(world) == "good morning"


def test_a_fact_put_equal_runs_nothing() -> None:
    world = a_world()
    assert greeting(world) == "good day"
    world.state(HOUR, 12)
    assert greeting(world) == "good day"
    assert runs_of(world, "_fact") == 1


def test_a_relation_that_was_not_declared_to_the_world_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        World().where(SELLERS, "beer")


GOODS = ("beer", "soup", "tea")
NAMES = st.sampled_from([TEA, INN, BAR, Name("", "fair")])
SHOPS = st.builds(Shop, st.lists(st.sampled_from(GOODS), max_size=3).map(tuple), st.integers(0, 2))


def test_a_fact_that_goes_on_disturbs_only_who_asked_about_a_point_it_crosses() -> None:
    world = a_world()
    world.state(HOUR, 8)
    assert (is_open(world, 9, 17), is_open(world, 20, 23)) == (False, False)
    before = world.memory.runs.copy()
    world.state(HOUR, 10)
    assert (is_open(world, 9, 17), is_open(world, 20, 23)) == (True, False)
    assert world.memory.runs - before == {"_reached": 2, "is_open": 1}
    world.state(HOUR, 11)
    assert is_open(world, 9, 17)
    assert (world.memory.runs - before)["is_open"] == 1


@given(st.lists(st.integers(0, 23), min_size=1), st.lists(st.tuples(st.integers(0, 23), st.integers(0, 23))))
def test_whether_a_point_is_reached_is_known_wherever_a_fact_goes(
    hours: list[int], asked: list[tuple[int, int]]
) -> None:
    world = a_world()
    for hour in hours:
        world.state(HOUR, hour)
        for opens, closes in asked:
            assert is_open(world, opens, closes) == (opens <= hour < closes)


class AnyShops(RuleBasedStateMachine):
    """Whatever is put and removed, the world answers as a plain dictionary would."""

    def __init__(self) -> None:
        super().__init__()
        self.world = a_world()
        self.shops: dict[Name, Shop] = {}

    @rule(name=NAMES, shop=SHOPS | st.none())
    def put(self, name: Name, shop: Shop | None) -> None:
        self.world.put(Shop, name, shop)
        if shop is None:
            self.shops.pop(name, None)
        else:
            self.shops[name] = shop

    @rule()
    def sweep(self) -> None:
        self.world.memory.sweep()
        assert len(self.world.memory) == 0

    @invariant()
    def every_answer_is_what_a_dictionary_gives(self) -> None:
        assert everyone(self.world) == self.shops.keys()
        for good in GOODS:
            found = self.found(SELLERS, good)
            assert offers(self.world, good) == tuple(self.shops[name].price for name in found)
            assert sellers(self.world, good) == found
        for price in range(3):
            found = self.found(BY_PRICE, price)
            assert self.world.where(BY_PRICE, price) == tuple(self.shops[name] for name in found)

    def found(self, index: Index[Shop], key: Hashable) -> tuple[Name, ...]:
        return tuple(sorted(name for name, shop in self.shops.items() if key in index.keys(shop)))


AnyShops.TestCase.settings = settings(max_examples=60, stateful_step_count=25)
test_any_sequence_of_puts_leaves_what_was_put = AnyShops.TestCase


@query
def has_struck(world: World, hour: int) -> bool:
    return world.reached(HOUR, hour)


def test_points_that_nobody_asks_about_any_more_are_forgotten_and_the_others_are_not() -> None:
    world, lasting = a_world(), 10**6
    table = Table(world.memory, has_struck)
    for hour in range(100, 100 + 10 * FEW):
        table.keep(frozenset({hour, lasting}), world)
        world.memory.sweep()
        assert len(world._points[HOUR]) < 2 * FEW
    world.state(HOUR, lasting)
    assert table.keep(frozenset({lasting}), world).values == {lasting: True}
