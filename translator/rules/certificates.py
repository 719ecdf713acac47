"""PEM and keys: the translator's only module that imports `cryptography`."""

from msgspec import Struct

from translator.memo import query
from translator.names import Name
from translator.verdict import Refused
from translator.world import World


class KeyPair(Struct, frozen=True):
    """A server certificate with its chain, and its key, as PEM."""

    chain: str
    key: str


@query
def server_certificate(world: World, secret: Name) -> KeyPair | Refused:
    """Return what a `kubernetes.io/tls` Secret holds, if Envoy can serve it."""
    raise NotImplementedError
