"""Versions of objects, compared."""

import pytest

from k8s_watch.versions import is_older


@pytest.mark.parametrize(
    ("version", "than", "older"),
    [("9", "10", True), ("10", "9", False), ("9", "9", False), ("x", "9", False)],
)
def test_versions_are_compared_as_numbers(version: str, than: str, older: bool) -> None:  # noqa: FBT001  # a table
    assert is_older(version, than) is older
