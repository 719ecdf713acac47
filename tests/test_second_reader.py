"""The second reader, so that other tests may trust it."""

import pytest
from envoy.config.cluster.v3 import cluster_pb2

from tests.second_reader import assert_reads_equal
from translator.envoy.resource import CLUSTER


def test_bytes_are_read_equally_by_both_only_in_their_one_canonical_form() -> None:
    cluster = cluster_pb2.Cluster(name="pay", alt_stat_name="pay")
    body = cluster.SerializeToString()
    assert_reads_equal(CLUSTER, body)
    name, other_name = body[:5], body[5:]
    with pytest.raises(AssertionError):
        assert_reads_equal(CLUSTER, other_name + name)
