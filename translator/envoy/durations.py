"""Times in Envoy's terms."""

from google.protobuf import duration_pb2


def duration(milliseconds: int) -> duration_pb2.Duration:
    """Write a time; most of Envoy's limits are off where it is none at all."""
    seconds, rest = divmod(milliseconds, 1000)
    return duration_pb2.Duration(seconds=seconds, nanos=rest * 1_000_000)
