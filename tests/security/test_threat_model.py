"""The threat model names tests that there are, and every test of this folder is named in it."""

import ast
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.tree

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/security.md").read_text()
NAMED = re.findall(r"`((?:tests|e2e)/[\w/]+\.py)::(\w+)`", PAGE)
HERE = Path(__file__).parent


def defined_in(path: Path) -> set[str]:
    """Name the tests that a module has."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = (node for node in ast.parse(path.read_text()).body if isinstance(node, functions))
    return {each.name for each in found if each.name.startswith("test_")}


def test_every_test_that_is_named_is_there() -> None:
    assert len(NAMED) > 50
    assert [f"{path}::{test}" for path, test in NAMED if test not in defined_in(ROOT / path)] == []


def test_every_attack_of_this_folder_is_named() -> None:
    named = {test for _, test in NAMED}
    modules = [path for path in HERE.glob("test_*.py") if path != Path(__file__)]
    assert [f"{path.name}::{each}" for path in modules for each in sorted(defined_in(path) - named)] == []


def test_every_threat_has_a_test() -> None:
    _, _, promises = PAGE.partition("## What is promised")
    promises, _, _ = promises.partition("## What is not promised")
    rows = [line for line in promises.splitlines() if line.startswith("|") and "---" not in line]
    threats = [row for row in rows if not row.startswith("| Threat |")]
    assert len(threats) > 30
    assert [row for row in threats if "::test_" not in row.rsplit(" | ", 1)[-1]] == []
