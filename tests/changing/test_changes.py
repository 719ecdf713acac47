"""Envoys are told of every kind of change, so that it says something if all of them do no harm."""

from functools import cache
from random import Random

import pytest
from msgspec import structs

from tests.changing.changes import ALL, Change
from tests.changing.scene import HIRED, START, vouched
from tests.changing.shop import ASIDE, PLAIN, SECURE, SPARE, Grounds, Shop
from tests.changing.told import Told, told

SEEDS = 30
AGE = 40  # changes that a shop has gone through
PORTS = {name: number for number, name in enumerate((PLAIN, SECURE, SPARE, ASIDE), 8000)}
PODS = {each.name: structs.replace(each, port=number) for number, each in enumerate(HIRED, 9000)}
LEAST = 1 / 3


@cache
def _grounds() -> Grounds:
    roots, certificates, _ = vouched()
    return Grounds(PODS, roots, certificates, PORTS)


@cache
def _aged(seed: int) -> tuple[Shop, Told]:
    """Return a shop to which much has happened, and what Envoys are told of it."""
    chance, shop = Random(seed), START  # noqa: S311  not for secrets
    for number, change in enumerate(chance.choices(ALL, k=AGE), 1):
        shop = structs.replace(change(shop, chance), number=number)
    return shop, told(shop, _grounds())


@pytest.mark.parametrize("change", ALL, ids=[change.__name__ for change in ALL])
def test_envoys_are_told_of_a_third_of_all_changes_of_each_kind_at_least(change: Change) -> None:
    noticed = 0
    for seed in range(SEEDS):
        shop, before = _aged(seed)
        after = told(change(shop, Random(seed)), _grounds())  # noqa: S311  not for secrets
        noticed += after != before
    assert noticed >= SEEDS * LEAST
