"""A snapshot costs what changed in it, and its wire form is what protobuf itself would have written."""

import pytest
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.service.discovery.v3 import discovery_pb2
from google.protobuf import any_pb2
from hypothesis import given
from hypothesis import strategies as st

from tests.xds_server.honest_envoy import cluster, plain
from tests.xds_server.talk import Server
from xds_server.messages import Response, delta_frame, whole_frame
from xds_server.snapshot import (
    CDS,
    EDS,
    LDS,
    SDS,
    Entry,
    Resource,
    Snapshot,
    changed,
)

ENTRIES = st.builds(lambda name, body: Entry(CDS, name, Resource(body)), st.text(max_size=300), st.binary())
RESPONSES = st.builds(
    Response,
    st.text(),
    st.text(),
    st.text(),
    st.lists(ENTRIES, max_size=3).map(tuple),
    st.lists(st.text(), max_size=3).map(tuple),
)


def any_of(entry: Entry) -> any_pb2.Any:
    return any_pb2.Any(type_url=entry.type_url, value=entry.resource.body)


@given(response=RESPONSES, identifier=st.text(min_size=1))
def test_a_joined_full_set_is_what_protobuf_would_write(response: Response, identifier: str) -> None:
    message = discovery_pb2.DiscoveryResponse(
        version_info=response.version,
        resources=[any_of(entry) for entry in response.entries],
        type_url=response.type_url,
        nonce=response.nonce,
    )
    message.control_plane.identifier = identifier
    assert discovery_pb2.DiscoveryResponse.FromString(whole_frame(response, identifier)) == message


@given(response=RESPONSES, identifier=st.text(min_size=1))
def test_a_joined_difference_is_what_protobuf_would_write(response: Response, identifier: str) -> None:
    message = discovery_pb2.DeltaDiscoveryResponse(
        system_version_info=response.version,
        resources=[
            discovery_pb2.Resource(name=entry.name, version=entry.version, resource=any_of(entry))
            for entry in response.entries
        ],
        type_url=response.type_url,
        nonce=response.nonce,
        removed_resources=response.removed,
    )
    message.control_plane.identifier = identifier
    assert discovery_pb2.DeltaDiscoveryResponse.FromString(delta_frame(response, identifier)) == message


@pytest.mark.rule(25)
def test_an_equal_resource_keeps_its_entry_and_so_its_version() -> None:
    before = Snapshot.of({CDS: {"a": cluster("v1"), "b": cluster("v1")}})
    after = Snapshot.of({CDS: {"a": cluster("v1"), "b": cluster("v2")}}, before)
    assert after.find(CDS, "a") is before.find(CDS, "a")
    assert changed(before, after) == {CDS: {"b"}}


@pytest.mark.rule(26)
def test_nothing_new_is_no_new_snapshot() -> None:
    before = Snapshot.of({CDS: {"a": cluster("v1")}})
    assert Snapshot.of({CDS: {"a": cluster("v1")}}, before) is before
    assert before.amended({CDS: {"a": cluster("v1"), "gone": None}}) is before
    assert changed(before, before) == {}


def test_an_amended_snapshot_shares_what_nobody_touched() -> None:
    before = Snapshot.of({CDS: {"a": cluster("v1")}, EDS: {"e": plain("v1"), "f": plain("v1")}})
    after = before.amended({EDS: {"e": plain("v2"), "f": None, "g": plain("v1")}})
    assert after.entries[CDS] is before.entries[CDS]
    assert changed(before, after) == {EDS: {"e", "f", "g"}}
    assert changed(None, after) == {CDS: {"a"}, EDS: {"e", "g"}, SDS: set(), LDS: set()} | {
        kind: set() for kind in after.entries if kind not in {CDS, EDS}
    }


@pytest.mark.rule(46)
def test_a_resource_is_serialized_once_however_many_envoys_take_it() -> None:
    server = Server()
    server.publish({CDS: {"a": cluster("v1")}})
    heard = [server.connect(whole=whole).want(CDS)[0].entries for whole in (True, False) for _ in range(50)]
    [entry] = {id(entry): entry for entries in heard for entry in entries}.values()
    assert entry.whole_frame is entry.whole_frame
    assert entry.delta_frame is entry.delta_frame
    assert entry.version is entry.version


@pytest.mark.rule(43)
def test_missing_endpoints_are_an_empty_assignment() -> None:
    entry = Snapshot.of({CDS: {"c": cluster("v1", "shop/pay:80")}}).find(EDS, "shop/pay:80")
    assert entry is not None
    said = endpoint_pb2.ClusterLoadAssignment.FromString(entry.resource.body)
    assert said == endpoint_pb2.ClusterLoadAssignment(cluster_name="shop/pay:80")


@pytest.mark.rule(43)
def test_missing_endpoints_come_and_go_with_the_clusters_that_name_them() -> None:
    before = Snapshot.of({CDS: {"c": cluster("v1", "e"), "d": cluster("v1", "f")}, EDS: {"f": plain("v1")}})
    after = before.amended({CDS: {"c": cluster("v2"), "d": cluster("v2", "g"), "h": cluster("v1", "f")}})
    assert changed(before, after) == {CDS: {"c", "d", "h"}, EDS: {"e", "g"}}
    assert changed(None, before)[EDS] == {"e", "f"}
    assert after.names(EDS) == {"f", "g"}
