"""What was made for Gateways, and how one notices that it is no longer so."""

import pytest

from k8s_watch.change import Gone, Put
from k8s_watch.kind import ObjectName
from legation.proxies.made import SORTS, Found, Key, Ledger, Metadata, Owner
from translator.names import Name, Ref

NAME = Name("infra", "legation-edge")
OURS = Owner("Gateway", "edge", "0b5f", controller=True)
OWNER = Ref("Gateway", Name("infra", "edge"))
BODY = b"as it should be"


def seen(ledger: Ledger, kind: str, version: int, generation: int = 0, owner: Owner = OURS) -> set[Name]:
    found = Found(Metadata("1", generation, (owner,)))
    return ledger.learn(kind, [Put(ObjectName(*NAME), str(version), found)])


def applied(kind: str, version: int, generation: int = 0) -> Ledger:
    ledger = Ledger()
    ledger.note(Key(kind, NAME), BODY, str(version))
    assert seen(ledger, kind, version, generation) == set()
    assert ledger.is_applied(Key(kind, NAME), BODY)
    return ledger


@pytest.mark.parametrize("kind", ["Secret", "ServiceAccount", "ConfigMap", "Service"])
def test_any_other_version_is_somebody_elses_change(kind: str) -> None:
    ledger = applied(kind, 7)
    assert seen(ledger, kind, 8) == {NAME}
    assert not ledger.is_applied(Key(kind, NAME), BODY)


@pytest.mark.parametrize("kind", ["Deployment", "PodDisruptionBudget"])
def test_a_status_is_no_change_and_another_generation_is(kind: str) -> None:
    ledger = applied(kind, 7, generation=1)
    assert seen(ledger, kind, 8, generation=1) == set()
    assert ledger.is_applied(Key(kind, NAME), BODY)
    assert seen(ledger, kind, 9, generation=2) == {NAME}
    assert not ledger.is_applied(Key(kind, NAME), BODY)


def test_where_neither_tells_only_a_deletion_is_noticed() -> None:
    ledger = applied("HorizontalPodAutoscaler", 7)
    assert seen(ledger, "HorizontalPodAutoscaler", 8) == set()
    assert ledger.learn("HorizontalPodAutoscaler", [Gone(ObjectName(*NAME))]) == {NAME}


@pytest.mark.parametrize("kind", SORTS)
def test_what_was_before_our_own_write_is_history(kind: str) -> None:
    ledger = applied(kind, 7, generation=1)
    ledger.note(Key(kind, NAME), b"newer", "10")
    assert seen(ledger, kind, 9, generation=2) == set()
    assert ledger.is_applied(Key(kind, NAME), b"newer")
    assert not ledger.is_applied(Key(kind, NAME), BODY)


@pytest.mark.parametrize("kind", ["Service", "Deployment"])
def test_a_change_that_was_told_before_our_write_was_answered_counts(kind: str) -> None:
    ledger = Ledger()
    seen(ledger, kind, 9, generation=3)
    ledger.note(Key(kind, NAME), BODY, "8", generation=2)
    assert not ledger.is_applied(Key(kind, NAME), BODY)


@pytest.mark.parametrize("kind", SORTS)
def test_what_is_deleted_is_not_applied_any_more(kind: str) -> None:
    ledger = applied(kind, 7, generation=1)
    assert ledger.learn(kind, [Gone(ObjectName(*NAME))]) == {NAME}
    assert not ledger.is_applied(Key(kind, NAME), BODY)
    assert ledger.learn(kind, [Gone(ObjectName(*NAME))]) == set(), "nobody misses it twice"


def test_only_what_belongs_to_the_gateway_is_too_much() -> None:
    ledger = Ledger()
    seen(ledger, "PodDisruptionBudget", 1)
    seen(ledger, "Service", 2)
    seen(ledger, "ConfigMap", 3, owner=Owner("Gateway", "other", "0b60", controller=True))
    seen(ledger, "Deployment", 4, owner=Owner("Gateway", "edge", "0b5f"))
    assert ledger.surplus(OWNER, NAME, {Key("Service", NAME)}) == {Key("PodDisruptionBudget", NAME): "1"}
