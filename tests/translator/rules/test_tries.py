"""What a rule says about time and failure, as it is written."""

import pytest

from translator.objects.http_route import HTTPRouteRetry, HTTPRouteRule, HTTPRouteTimeouts
from translator.rules.tries import MOST, ONE_TRY, Again, Tries, tries


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("0s", 0),
        ("10ms", 10),
        ("1m", 60_000),
        ("1h30m", 5_400_000),
        ("1s500ms", 1500),
        ("1h1m1s1ms", 3_661_001),
    ],
)
def test_a_duration_is_the_sum_of_its_parts(written: str, milliseconds: int) -> None:
    rule = HTTPRouteRule(timeouts=HTTPRouteTimeouts(request=written))
    assert tries(rule) == Tries(request=milliseconds)


def test_no_attempts_are_no_retry_and_many_are_as_many_as_envoy_counts() -> None:
    assert tries(HTTPRouteRule(retry=HTTPRouteRetry(codes=(500,), attempts=0))) == ONE_TRY
    assert tries(HTTPRouteRule(retry=HTTPRouteRetry(attempts=2**40))) == Tries(again=Again(MOST))
