"""A merge patch makes one object into another, and says nothing of what is equal."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from k8s_watch.merge_patch import Fields, merge_patch
from tests.k8s_watch.faults import Json
from tests.k8s_watch.faulty_api import merged

LEAVES = st.one_of(st.integers(0, 3), st.text("ab", max_size=2), st.lists(st.integers(0, 2), max_size=2))
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from("xyz"), LEAVES, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("xyz"), st.one_of(LEAVES, inner), max_size=3),
    max_leaves=8,
)


def fields(thing: dict[str, Json]) -> Fields:
    return msgspec.json.decode(json.dumps(thing).encode(), type=Fields)


def patch(before: dict[str, Json], after: dict[str, Json]) -> dict[str, Json]:
    made: dict[str, Json] = json.loads(msgspec.json.encode(merge_patch(fields(before), fields(after))))
    return made


@given(before=OBJECTS, after=OBJECTS)
def test_a_patch_leads_from_one_object_to_the_other(before: dict[str, Json], after: dict[str, Json]) -> None:
    assert merged(before, patch(before, after)) == after


@given(thing=OBJECTS)
def test_nothing_is_said_about_an_equal_object(thing: dict[str, Json]) -> None:
    assert patch(thing, thing) == {}


def test_only_what_differs_is_in_a_patch() -> None:
    before: dict[str, Json] = {"addresses": [1], "conditions": [], "inner": {"same": 1, "old": 2}}
    after: dict[str, Json] = {"conditions": [2], "inner": {"same": 1, "new": 3}}
    wanted = {"addresses": None, "conditions": [2], "inner": {"old": None, "new": 3}}
    assert patch(before, after) == wanted
