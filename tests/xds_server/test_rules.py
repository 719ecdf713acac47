"""Every rule that the documentation says is kept has a test that says so too."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

pytestmark = pytest.mark.tree

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "xds.md"
ROW = re.compile(r"^\| (\d+) \| .* \| (.*) \| (.*) \|$", re.MULTILINE)
MARK = re.compile(r"pytest\.mark\.rule\((\d+)\)")


def proofs() -> dict[int, set[str]]:
    """Return the test modules that claim each rule."""
    found = defaultdict[int, set[str]](set)
    for path in HERE.glob("test_*.py"):
        for number in MARK.findall(path.read_text()):
            found[int(number)].add(path.stem.removeprefix("test_"))
    return found


def rows() -> dict[int, tuple[str, set[str]]]:
    """Return what the page says of each rule: how it is kept, and where that is proved."""
    table = ROW.findall(PAGE.read_text())
    return {int(number): (here, set(re.findall(r"`(\w+)`", where))) for number, here, where in table}


def test_the_page_names_every_rule_once() -> None:
    numbers = [int(number) for number, _, _ in ROW.findall(PAGE.read_text())]
    assert numbers == list(range(1, 72))


def test_the_page_says_where_each_rule_is_proved() -> None:
    assert {number: where for number, (_, where) in rows().items() if where} == proofs()


def test_no_rule_is_said_to_be_kept_without_a_proof() -> None:
    assert [number for number, (here, where) in rows().items() if here.startswith("kept") and not where] == []
