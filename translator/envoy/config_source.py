"""Where Envoy gets what a message only names: over the stream that brought the message."""

from envoy.config.core.v3 import config_source_pb2
from envoy.extensions.transport_sockets.tls.v3 import secret_pb2

from translator.envoy.encode import encode

# These bytes stay the same over releases: Envoy takes a changed source for a new provider, asks nobody for
# what it already has, and would activate a listener without its certificate.  After 15 s without an answer
# Envoy goes on: what lacks a secret then fails every handshake, what lacks endpoints answers 503, all else is
# served.  To wait for ever would let one absent name hold back a whole Envoy, or keep an old policy alive.
OVER_ADS = encode(
    config_source_pb2.ConfigSource(ads={}, initial_fetch_timeout={"seconds": 15}, resource_api_version="V3")
)


def served_secret(name: str) -> secret_pb2.SdsSecretConfig:
    """Name a secret that is served over the same stream."""
    reference = secret_pb2.SdsSecretConfig(name=name)
    reference.sds_config.ParseFromString(OVER_ADS)
    return reference


def own_secret(name: str) -> secret_pb2.SdsSecretConfig:
    """Name a secret that Envoy was started with: without a source, it is looked for in the bootstrap."""
    return secret_pb2.SdsSecretConfig(name=name)
