"""Each check finds what its case shows, at that object and field, and nothing in a world that is right."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.golden import TODAY, objects
from translator.advice.checks import Advice
from translator.advice.everything import CHECKS, advised
from translator.objects.kinds import name_of
from translator.rules.certificates import NOW
from translator.translate import INDEXES, translate
from translator.world import World

FOLDER = Path(__file__).parents[2] / "checks"
IDS = [check.id for check in CHECKS]


def world_of(*paths: Path) -> World:
    world = World(INDEXES)
    world.state(NOW, TODAY)
    for path in (FOLDER / "correct.yaml", *paths):
        for thing in objects(path):
            world.put(type(thing), name_of(thing), thing)
    return world


def as_written(advice: Advice) -> str:
    return ": ".join(filter(None, (str(advice.about), advice.field, advice.message)))


def promised(case: Path) -> Iterator[str]:
    """Yield what a case says will be found: the comments below its first sentence."""
    for line in case.read_text().splitlines()[1:]:
        if not line.startswith("# "):
            return
        yield line.removeprefix("# ")


def test_nothing_is_found_in_a_world_that_is_right() -> None:
    world = world_of()
    assert advised(world) == ()
    assert not translate(world).broken


def test_every_check_has_a_case_and_every_case_a_check() -> None:
    cases = {path.stem for path in FOLDER.glob("*.yaml")}
    assert cases == {"correct", *IDS}
    assert len(set(IDS)) == len(IDS)


@pytest.mark.parametrize("check", IDS)
def test_a_check_finds_what_its_case_shows(check: str) -> None:
    case = FOLDER / f"{check}.yaml"
    found = advised(world_of(case))
    assert check in {each.check.id for each in found}
    assert sorted(map(as_written, found)) == sorted(promised(case))
