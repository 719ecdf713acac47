"""Whose a Lease is, told by our own clock alone."""

import json

from legation.lease import DURATION, Seen, first, held, released, seen

NOON, LATER = "2026-01-01T12:00:00.000000Z", "2026-01-01T12:00:05.000000Z"


def written(holder: str, version: str = "7", **spec: object) -> bytes:
    """A Lease as the server has it."""
    metadata = {"name": "legation", "resourceVersion": version, "labels": {"theirs": "kept"}}
    held_by = {"holderIdentity": holder, "leaseDurationSeconds": 15, "acquireTime": NOON, "renewTime": NOON}
    return json.dumps({"metadata": metadata, "spec": {**held_by, "leaseTransitions": 3, **spec}}).encode()


def test_a_lease_is_free_once_it_did_not_change_for_as_long_as_it_lasts() -> None:
    found = seen("7", written("a"), None, now=100.0)
    assert not found.is_free_for("b", 114.9)
    assert found.is_free_for("b", 115.0)
    assert found.is_free_for("a", 100.0)


def test_a_lease_that_was_renewed_is_young_again() -> None:
    before = seen("7", written("a"), None, now=100.0)
    same = seen("7", written("a"), before, now=110.0)
    assert same.is_free_for("b", 115.0)
    renewed = seen("8", written("a", "8"), same, now=110.0)
    assert not renewed.is_free_for("b", 124.9)


def test_what_a_clock_elsewhere_says_counts_for_nothing() -> None:
    ancient = seen("7", written("a", renewTime="1999-01-01T00:00:00.000000Z"), None, now=100.0)
    assert not ancient.is_free_for("b", 100.0)


def test_a_lease_without_a_holder_is_free_at_once() -> None:
    assert seen("7", b"{}", None, now=100.0).is_free_for("b", 100.0)
    assert seen("7", written(""), None, now=100.0).is_free_for("b", 100.0)


def test_taking_it_counts_a_transition_and_renewing_it_does_not() -> None:
    theirs: Seen = seen("7", written("a"), None, now=100.0)
    taken = json.loads(held(theirs, "b", LATER))
    assert taken["metadata"] == {
        "name": "legation",
        "resourceVersion": "7",
        "labels": {"theirs": "kept"},
    }
    assert taken["spec"] == {
        "holderIdentity": "b",
        "leaseDurationSeconds": DURATION,
        "acquireTime": LATER,
        "renewTime": LATER,
        "leaseTransitions": 4,
    }
    renewed = json.loads(held(theirs, "a", LATER))["spec"]
    assert (renewed["acquireTime"], renewed["renewTime"], renewed["leaseTransitions"]) == (NOON, LATER, 3)


def test_letting_go_leaves_all_but_the_holder() -> None:
    left = json.loads(released(seen("7", written("a"), None, now=100.0), LATER))["spec"]
    assert (left["holderIdentity"], left["leaseTransitions"]) == ("", 3)


def test_the_first_holder_makes_the_lease() -> None:
    made = json.loads(first("legation", "a", NOON))
    assert made["metadata"] == {"name": "legation"}
    assert made["spec"]["holderIdentity"] == "a"
    assert made["spec"]["leaseTransitions"] == 0
