"""What an object's status becomes: ours is renewed, everyone else's stays byte for byte."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from legation.offline import translated
from legation.statuses import OWN_TYPES, Moment, merged
from tests.legation.manifest_texts import LEGATION_CLASS, gateway, together
from translator import rules
from translator.names import Name, Ref
from translator.rules.gateways import CONTROLLER
from translator.rules.status import (
    Address,
    BackendStatus,
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStatus,
    ParentRef,
    ParentStatus,
    PolicyStatus,
    RouteKind,
    RouteStatus,
    Status,
)
from translator.verdict import Condition, fails, holds

GROUP = "gateway.networking.k8s.io"
THEN = Moment(now="2026-01-01T00:00:00Z", generation=1)
LATER = Moment(now="2026-01-02T00:00:00Z", generation=2)
FOREIGN = '{"type": "Theirs",   "status":"Unknown", "odd": [1.0,  "\\u00e9"], "reason": "R"}'
BACKEND_AND_ROUTE = """\
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {{name: pay, namespace: shop}}
spec:
  type: EndpointSelector
  endpointSelector: {{matchLabels: {{app: pay}}}}
  port: {{number: 8080}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: pay, namespace: shop}}
spec:
  parentRefs: [{refs}]
  rules: [{{backendRefs: [{{group: gateway.networking.x-k8s.io, kind: XBackend, name: pay}}]}}]
"""
GATEWAY = GatewayStatus(conditions=(holds("Accepted"), holds("Programmed")), listeners=())


def edge(name: str = "edge") -> ParentRef:
    return ParentRef(GROUP, "Gateway", name, namespace="infra")


def route(*conditions: Condition, name: str = "edge") -> RouteStatus:
    return RouteStatus((ParentStatus(edge(name), conditions),))


def times(status: bytes) -> dict[str, str]:
    return {c["type"]: c["lastTransitionTime"] for c in json.loads(status)["conditions"]}


def test_an_address_says_how_far_it_reaches_where_the_api_has_a_field_for_it() -> None:
    addresses = (Address("IPAddress", "10.96.0.1", "Cluster"), Address("IPAddress", "192.0.2.1", ""))
    told = json.loads(merged(b"", GatewayStatus((), (), addresses), THEN))
    assert told["addresses"] == [
        {"type": "IPAddress", "value": "10.96.0.1", "routability": "Cluster"},
        {"type": "IPAddress", "value": "192.0.2.1", "routability": ""},
    ]


def test_a_gateway_has_the_fields_that_the_api_knows() -> None:
    listener = ListenerStatus("web", (RouteKind(GROUP, "HTTPRoute"),), 2, (holds("Accepted"),))
    status = GatewayStatus(
        (fails("Programmed", "Pending", "wait"),), (listener,), (Address("IPAddress", "::1"),)
    )
    programmed = {
        "type": "Programmed",
        "status": "False",
        "observedGeneration": 1,
        "lastTransitionTime": THEN.now,
        "reason": "Pending",
        "message": "wait",
    }
    accepted = programmed | {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}
    assert json.loads(merged(b"", status, THEN)) == {
        "addresses": [{"type": "IPAddress", "value": "::1"}],
        "conditions": [programmed],
        "listeners": [
            {
                "name": "web",
                "supportedKinds": [{"group": GROUP, "kind": "HTTPRoute"}],
                "attachedRoutes": 2,
                "conditions": [accepted],
            }
        ],
        "attachedListenerSets": 0,
    }


def test_a_class_names_its_features_in_order() -> None:
    status = GatewayClassStatus((holds("Accepted"),), ("TLSRoute", "HTTPRoute"))
    features = json.loads(merged(b"", status, THEN))["supportedFeatures"]
    assert features == [{"name": "HTTPRoute"}, {"name": "TLSRoute"}]


def test_an_entry_says_whose_it_is_and_only_what_the_parent_says() -> None:
    parent = ParentRef(GROUP, "Gateway", "edge", section_name="web", port=80)
    [entry] = json.loads(merged(b"", RouteStatus((ParentStatus(parent, ()),)), THEN))["parents"]
    assert entry["controllerName"] == CONTROLLER
    assert entry["parentRef"] == {
        "group": GROUP,
        "kind": "Gateway",
        "name": "edge",
        "sectionName": "web",
        "port": 80,
    }


def test_a_route_without_parents_of_ours_still_has_the_list_that_the_api_demands() -> None:
    assert merged(b"", RouteStatus(()), THEN) == b'{"parents":[]}'


def test_an_equal_status_comes_back_as_the_same_bytes() -> None:
    written = json.dumps(json.loads(merged(b"", GATEWAY, THEN)), indent=3).encode()
    assert merged(written, GATEWAY, msgspec.structs.replace(THEN, now=LATER.now)) is written


def test_time_moves_only_where_the_status_does() -> None:
    before = merged(b"", GATEWAY, THEN)
    status = GatewayStatus((holds("Accepted", "Other", "words"), fails("Programmed", "Invalid", "")), ())
    after = merged(before, status, LATER)
    assert times(after) == {"Accepted": THEN.now, "Programmed": LATER.now}
    assert [c["observedGeneration"] for c in json.loads(after)["conditions"]] == [2, 2]
    assert json.loads(after)["conditions"][0]["message"] == "words"


def test_an_unknown_condition_of_the_api_server_counts_as_a_transition() -> None:
    unknown = {"type": "Accepted", "status": "Unknown", "lastTransitionTime": "1970-01-01T00:00:00Z"}
    before = json.dumps({"conditions": [unknown]}).encode()
    assert times(merged(before, GATEWAY, THEN)) == {"Accepted": THEN.now, "Programmed": THEN.now}


def test_a_judgement_of_a_newer_generation_is_not_overwritten() -> None:
    before = merged(b"", GATEWAY, LATER)
    status = GatewayStatus((fails("Accepted", "Invalid", ""), fails("Programmed", "Invalid", "")), ())
    late = msgspec.structs.replace(THEN, newest=LATER.generation)
    assert json.loads(merged(before, status, late))["conditions"] == json.loads(before)["conditions"]


def test_a_judgement_of_a_generation_that_never_was_is_overwritten() -> None:
    restored = merged(b"", GATEWAY, msgspec.structs.replace(LATER, generation=70))
    after = json.loads(merged(restored, GATEWAY, msgspec.structs.replace(LATER, newest=2)))
    assert [each["observedGeneration"] for each in after["conditions"]] == [2, 2]


def test_a_foreign_condition_stays_in_place_byte_for_byte() -> None:
    ours = '{"type":"Accepted","status":"False","lastTransitionTime":"2020-01-01T00:00:00Z"}'
    before = f'{{"conditions": [{FOREIGN}, {ours}]}}'.encode()
    after = merged(before, GATEWAY, THEN)
    assert FOREIGN.encode() in after
    assert [c["type"] for c in json.loads(after)["conditions"]] == ["Theirs", "Accepted", "Programmed"]


def test_a_condition_that_no_rule_of_ours_writes_is_foreign_whatever_its_name() -> None:
    ready = FOREIGN.replace("Theirs", "Ready")
    assert ready.encode() in merged(f'{{"conditions": [{ready}]}}'.encode(), GATEWAY, THEN)


@pytest.mark.parametrize("own", sorted(OWN_TYPES))
def test_a_condition_that_is_ours_to_remove_is_written_by_some_rule(own: str) -> None:
    [folder] = rules.__path__
    assert any(f'"{own}"' in each.read_text() for each in Path(folder).glob("*.py"))


def test_a_stale_condition_of_ours_goes() -> None:
    before = merged(
        b"", GatewayStatus((holds("legation.dev/VerificationDegraded"), holds("Conflicted")), ()), THEN
    )
    assert times(merged(before, GATEWAY, LATER)).keys() == {"Accepted", "Programmed"}


def test_fields_that_we_do_not_know_stay() -> None:
    after = merged(b'{"future": {"a":  1}}', GATEWAY, THEN)
    assert b'"future":{"a":  1}' in after


def test_a_former_listener_goes_and_others_keep_their_times() -> None:
    web, admin = (ListenerStatus(name, (), 0, (holds("Accepted"),)) for name in ("web", "admin"))
    before = merged(b"", ListenerSetStatus((), (web, admin)), THEN)
    after = json.loads(merged(before, ListenerSetStatus((), (admin,)), LATER))
    assert [entry["name"] for entry in after["listeners"]] == ["admin"]
    assert after["listeners"][0]["conditions"][0]["lastTransitionTime"] == THEN.now


def test_entries_of_another_controller_are_never_touched_or_moved() -> None:
    theirs = f'{{"controllerName":  "example.net/other", "parentRef": {{}}, "conditions": [{FOREIGN}]}}'
    mine = json.loads(merged(b"", route(holds("Accepted")), THEN))["parents"][0]
    before = f'{{"parents": [{json.dumps(mine)}, {theirs}]}}'.encode()
    after = merged(before, route(fails("Accepted", "NoMatchingParent", "")), LATER)
    assert theirs.encode() in after
    assert [entry["controllerName"] for entry in json.loads(after)["parents"]] == [
        CONTROLLER,
        "example.net/other",
    ]


def test_our_entry_for_a_former_parent_goes() -> None:
    before = merged(b"", route(holds("Accepted"), name="old"), THEN)
    [entry] = json.loads(merged(before, route(holds("Accepted"), name="new"), LATER))["parents"]
    assert entry["parentRef"]["name"] == "new"


def test_ancestors_beyond_the_room_that_others_leave_are_left_out() -> None:
    foreign = [{"controllerName": "example.net/other", "ancestorRef": {"name": str(n)}} for n in range(15)]
    before = json.dumps({"ancestors": foreign}).encode()
    status = PolicyStatus(tuple(ParentStatus(edge(name), ()) for name in ("a", "b")))
    after = json.loads(merged(before, status, THEN))["ancestors"]
    assert len(after) == 16
    assert after[:15] == foreign
    assert after[15]["ancestorRef"]["name"] == "a"


def test_a_backend_has_room_for_more_ancestors_than_a_policy(tmp_path: Path) -> None:
    parents = [f"edge-{number}" for number in range(20)]
    refs = ", ".join(f"{{name: {each}, namespace: infra}}" for each in parents)
    led = BACKEND_AND_ROUTE.format(refs=refs)
    (tmp_path / "shop.yaml").write_text(
        together(LEGATION_CLASS, *(gateway(each, 80) for each in parents), led)
    )
    written = translated([tmp_path]).outcome.statuses[Ref("XBackend", Name("shop", "pay"))]
    assert sorted(each["ancestorRef"]["name"] for each in json.loads(written)["ancestors"]) == sorted(parents)


@pytest.mark.parametrize("existing", [b"", b"{}", b'{"conditions":null,"listeners":null}'])
def test_a_status_that_nobody_filled_is_no_obstacle(existing: bytes) -> None:
    assert times(merged(existing, GATEWAY, THEN)).keys() == {"Accepted", "Programmed"}


conditions = st.lists(
    st.builds(
        Condition, st.sampled_from(["Accepted", "ResolvedRefs"]), st.booleans(), st.just("R"), st.text()
    ),
    unique_by=lambda condition: condition.type,
).map(tuple)
parents = st.lists(
    st.builds(ParentStatus, st.sampled_from(["a", "b", "c"]).map(edge), conditions),
    unique_by=lambda p: p.parent,
).map(tuple)
statuses = (
    st.builds(RouteStatus, parents) | st.builds(PolicyStatus, parents) | st.builds(BackendStatus, parents)
)


@given(statuses, statuses)
def test_writing_twice_changes_nothing_the_second_time(first: Status, second: Status) -> None:
    once = merged(merged(b"", first, THEN), second, LATER)
    assert merged(once, second, LATER) is once
