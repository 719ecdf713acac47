"""Golden cases: objects as a user writes them, and the sentence of the specification that they prove."""

from functools import cache

import pytest
import yaml

from tests import portrait
from tests.envoy_validate import validate
from tests.golden import FOLDER, Case, cases, world_of
from tests.second_reader import assert_reads_equal
from tests.status_portrait import statuses
from tests.together import together
from translator.translate import Resources, Translation, translate

LONGEST = 60  # lines: a golden is read in review, not scrolled past
CASES = cases()
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


@cache
def translated(case: Case) -> Translation:
    translation = translate(world_of(case))
    assert not translation.broken
    return translation


def picture(case: Case) -> str:
    translation = translated(case)
    shown: dict[str, object] = {}
    for section in case.shown:
        title, *kinds = section.split()
        if title == "statuses":
            shown[title] = statuses(translation.statuses, kinds)
        else:
            found: dict[str, object] = {}
            for resources in translation.gateways.values():
                found |= portrait.SECTIONS[title](resources)
            shown[title] = dict(sorted(found.items()))
    return yaml.safe_dump(shown, sort_keys=False, width=1000, allow_unicode=True)


@cache
def reads_equal(type_url: str, body: bytes) -> None:
    assert_reads_equal(type_url, body)


def bodies(resources: Resources) -> dict[str, dict[str, bytes]]:
    return {kind: {name: each.body for name, each in named.items()} for kind, named in resources.items()}


@each_case
def test_what_is_promised_is_what_comes_out(case: Case, request: pytest.FixtureRequest) -> None:
    drawn = picture(case)
    if request.config.getoption("--update-goldens"):
        case.expected.write_text(drawn)
    assert drawn == case.expected.read_text()
    assert len(drawn.splitlines()) <= LONGEST
    assert len(case.given.read_text().splitlines()) <= LONGEST


def test_every_promise_belongs_to_a_case() -> None:
    assert sorted(FOLDER.glob("*/*.expect.yaml")) == sorted(case.expected for case in CASES)


@each_case
def test_a_second_library_reads_the_same_in_what_is_served(case: Case) -> None:
    for resources in translated(case).gateways.values():
        for type_url, named in resources.items():
            for resource in named.values():
                reads_equal(type_url, resource.body)


def test_envoy_takes_what_is_served_in_every_case() -> None:
    worlds = {
        f"{case.name} {gateway}": bodies(resources)
        for case in CASES
        for gateway, resources in translated(case).gateways.items()
    }
    validate(together(worlds))
