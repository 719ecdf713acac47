"""Amounts as Kubernetes writes them."""

import pytest

from legation.quantities import amount


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1Gi", 2**30),
        ("0.5Ki", 512),
        ("128M", 128_000_000),
        ("1e3", 1000),
        ("2E1", 20),
        ("1E", 10**18),
        ("1500m", 1),
        (".5k", 500),
        ("5.", 5),
        (7, 7),
        ("", None),
        ("1Q", None),
        ("much", None),
        (None, None),
    ],
)
def test_an_amount_is_read_as_kubernetes_reads_it(written: str | int | None, number: int | None) -> None:
    assert amount(written) == number
