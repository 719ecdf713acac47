"""Each check finds what its case shows, at that object and field, and nothing in a world that is right."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.golden import TODAY, objects
from tests.worlds import worlds
from translator.advice import everything
from translator.advice.checks import Advice
from translator.advice.everything import CHECKS, advised
from translator.objects.kinds import name_of
from translator.rules.certificates import NOW
from translator.translate import INDEXES, Translator, translate
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
    assert advised(world).found == ()
    assert not translate(world).broken


def test_every_check_has_a_case_and_every_case_a_check() -> None:
    cases = {path.stem for path in FOLDER.glob("*.yaml")}
    assert cases == {"correct", *IDS}
    assert len(set(IDS)) == len(IDS)


@pytest.mark.parametrize("check", IDS)
def test_a_check_finds_what_its_case_shows(check: str) -> None:
    case = FOLDER / f"{check}.yaml"
    found = advised(world_of(case)).found
    assert check in {each.check.id for each in found}
    assert sorted(map(as_written, found)) == sorted(promised(case))


@settings(max_examples=60)
@given(worlds())
def test_whatever_is_written_can_be_advised_of_and_leaves_nothing_behind(world: World) -> None:
    translator = Translator(world)
    translator.translate()
    kept = len(world.memory)
    given_twice = [advised(world) for _ in range(2)]
    assert [each.broken for each in given_twice] == [{}, {}]
    assert given_twice[0].found == given_twice[1].found
    assert len(world.memory) == kept


def test_a_mistake_of_ours_keeps_nobody_from_being_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    bug = KeyError("sni")

    def broken(_: World) -> Iterator[Advice]:
        raise bug

    monkeypatch.setattr(everything, "ASKED", {"advice about bugs": broken, **everything.ASKED})
    told = advised(world_of(FOLDER / "pin-alone.yaml"))
    assert told.broken == {"advice about bugs": bug}
    assert {each.check.id for each in told.found} == {"pin-alone"}
