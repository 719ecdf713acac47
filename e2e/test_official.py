"""What the official suite said is read as it was meant; no suite runs."""

import pytest
import yaml

from e2e.cluster.build import CHANNEL
from e2e.cluster.tools import UnreadyError
from e2e.official import REPORTS, chosen, shortcomings, told

SAID = """\
=== RUN   TestConformance
    conformance.go:60: Running
=== RUN   TestConformance/Weights
=== PAUSE TestConformance/Weights
=== RUN   TestConformance/Paths
=== RUN   TestConformance/Paths/0
=== RUN   TestConformance/Paths/1
=== CONT  TestConformance/Weights
    weight.go:9: half of them
=== NAME  TestConformance/Paths/1
    http.go:12: expected 200, got 404
=== NAME  TestConformance/Paths
    apply.go:295: Deleting paths HTTPRoute
--- FAIL: TestConformance (9.50s)
    --- PASS: TestConformance/Weights (2.00s)
    --- FAIL: TestConformance/Paths (1.00s)
        --- PASS: TestConformance/Paths/0 (0.00s)
        --- FAIL: TestConformance/Paths/1 (0.40s)
    --- SKIP: TestConformance/Mesh (0.00s)
FAIL
"""


def test_a_failure_is_told_with_the_last_words_of_the_test_that_is_to_blame() -> None:
    found = told(SAID.splitlines())
    assert found.last_lines == {"TestConformance/Paths/1": ["    http.go:12: expected 200, got 404"]}


def test_tests_are_counted_and_their_parts_are_not() -> None:
    assert str(told(SAID.splitlines())).startswith("1 PASS, 1 FAIL, 1 SKIP\n")


def test_a_suite_that_never_began_is_told_as_a_whole() -> None:
    words = ["=== RUN   TestConformance", "    suite.go:1: no class", "--- FAIL: TestConformance (0.10s)"]
    assert str(told(words)) == "0 PASS, 0 FAIL, 0 SKIP\n\nTestConformance\n    suite.go:1: no class"


def test_what_is_chosen_by_names_makes_no_report() -> None:
    assert chosen("UDP.*").report is None
    assert "-test.run=^TestConformance$/^(UDP.*)$" in chosen("UDP.*").flags


def test_a_report_is_named_after_the_channel_and_what_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHANNEL, raising=False)
    assert chosen("core").report == REPORTS / "experimental-core.yaml"
    monkeypatch.setenv(CHANNEL, "standard")
    assert chosen("full").report == REPORTS / "standard-full.yaml"


@pytest.mark.parametrize("name", ["experimental-full", "standard-full"])
def test_the_reports_that_are_kept_fall_short_of_nothing(name: str) -> None:
    report = yaml.safe_load((REPORTS / f"{name}.yaml").read_text())
    assert shortcomings(yaml.dump(report)) == []
    first = report["profiles"][0]
    first["core"]["statistics"]["Skipped"] = 1
    first["extended"]["unsupportedFeatures"] = ["ListenerSet"]
    report["succeededProvisionalTests"].pop()
    assert shortcomings(yaml.dump(report)) == [
        f"{first['name']}, core: success, {{'Failed': 0, 'Skipped': 1}}, without []",
        f"{first['name']}, extended: success, {{'Failed': 0, 'Skipped': 0}}, without ['ListenerSet']",
        "5 of 6 provisional tests passed",
    ]


def test_a_channel_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHANNEL, "stable")
    with pytest.raises(UnreadyError, match="CHANNEL=stable is not known"):
        chosen("core")
