"""What every test may count on: marks that follow from what a test module uses."""

import os

import pytest
from hypothesis import is_hypothesis_test, settings

# Property tests search anew each time; only the gate, which must not differ from run to run, repeats itself.
settings.register_profile("gate", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("gate")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that start a real Envoy and those that search: a quick run leaves them out."""
    for item in items:
        if isinstance(item, pytest.Function):
            if hasattr(item.module, "running_envoy"):
                item.add_marker("envoy")
            if is_hypothesis_test(item.obj):
                item.add_marker("search")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let golden cases be rewritten: `pytest --update-goldens tests/translator/test_cases.py`."""
    parser.addoption(
        "--update-goldens", action="store_true", help="rewrite the expected results of tests/cases"
    )
