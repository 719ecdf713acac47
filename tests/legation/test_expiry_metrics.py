"""When certificates end is told for those that end first, and summed up for all others."""

from datetime import UTC, datetime, timedelta

from legation.admin.expiry_metrics import NAME, Expiries, told
from legation.admin.series import MOST
from legation.proofs.changes import Used
from translator.names import Name, Ref

START = datetime(2026, 1, 1, tzinfo=UTC)


def used(gateway: str, kind: str, namespace: str, name: str) -> Used:
    return Used(gateway, Ref(kind, Name(namespace, name)))


def test_each_object_has_one_series_by_gateway_with_its_soonest_end() -> None:
    ends = {
        used("infra/edge", "BackendTLSPolicy", "shop", "pay"): START + timedelta(3),
        used("infra/edge", "XBackend", "shop", "pay"): START + timedelta(4),
    }
    assert {labels: datetime.fromtimestamp(end, UTC) - START for labels, end in told(ends).items()} == {
        ("infra/edge", "BackendTLSPolicy", "shop/pay"): timedelta(3),
        ("infra/edge", "XBackend", "shop/pay"): timedelta(4),
    }


def test_beyond_so_many_series_only_the_first_end_of_each_gateway_is_told() -> None:
    ends = {
        used(gateway, "BackendTLSPolicy", "shop", f"p{number}"): START + timedelta(number)
        for gateway in ("infra/a", "infra/b")
        for number in range(MOST)
    }
    [family] = Expiries(lambda: ends).collect()
    assert family.name == NAME
    others = {
        each.labels["gateway"]: each.value for each in family.samples if each.labels["kind"] == "others"
    }
    first = (START + timedelta(MOST / 2)).timestamp()
    assert others == {"infra/a": first, "infra/b": first}
    assert len(family.samples) == MOST + 2
