"""The second reader, so that other tests may trust it."""

import pytest
from envoy.config.cluster.v3 import cluster_pb2
from google.protobuf.message import DecodeError

from tests.second_reader import assert_reads_equal
from translator.envoy.resource import CLUSTER


def test_bytes_that_are_no_message_are_read_by_neither() -> None:
    body = cluster_pb2.Cluster(name="pay").SerializeToString()
    assert_reads_equal(CLUSTER, body)
    with pytest.raises(DecodeError):
        assert_reads_equal(CLUSTER, body[:-1])
