"""What every test may count on: marks that follow from what a test module uses."""

import os

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

# Property tests search anew each time; only the gate, which must not differ from run to run, repeats itself.
# How long an example takes says how busy the machine is.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("search"), derandomize=True)
settings.load_profile("gate" if os.environ.get("CI") else "search")


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
