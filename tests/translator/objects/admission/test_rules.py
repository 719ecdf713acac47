"""Every rule that the CRDs state in CEL: what it accepts, what it refuses and where it says so."""

from collections.abc import Mapping

import pytest

from tests.translator.objects.admission.rule_examples import Example, examples
from translator.objects.admission.admit import admit
from translator.objects.admission.finding import Finding
from translator.objects.kinds import find_kind


def findings(manifest: Mapping[str, object]) -> tuple[Finding, ...]:
    info = find_kind(str(manifest["apiVersion"]), str(manifest["kind"]))
    assert info
    answer = admit(manifest, info)
    return answer if isinstance(answer, tuple) else ()


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.rule)
def test_the_accepted_example_is_accepted(example: Example) -> None:
    assert findings(example.accepted) == ()


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.rule)
def test_the_refused_example_is_refused_where_it_is_wrong(example: Example) -> None:
    assert {finding.path for finding in findings(example.refused)} == {example.at}


def test_no_two_examples_are_about_the_same() -> None:
    rules = [example.rule for example in examples()]
    assert len(set(rules)) == len(rules)
