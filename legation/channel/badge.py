"""By what a replica proves to another that it is one: it opens nothing else, and nothing else does."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from msgspec import structs

from legation.channel.authority import Credential, Subject
from legation.channel.identity import PROVEN_NAMES
from legation.channel.rotation import TERMS, bundle, renewed_leaf
from xds_server.admission import Peer, Refusal
from xds_server.feed import Identity

REPLICA = Subject(frozenset({"spiffe://legation/replica"}), "client")
SHORT = structs.replace(TERMS, leaf=timedelta(hours=1))  # made in memory, where it costs nothing


def refusal(peer: Peer) -> Refusal | None:
    """Say why somebody is no replica, if so."""
    names = {name.decode(errors="replace") for name in peer.proofs.get(PROVEN_NAMES, ())}
    return None if names == REPLICA.names else Refusal("the certificate is not a replica's")


class Badge:
    """What this replica shows, issued by itself: all replicas hold the roots."""

    def __init__(self, roots: Callable[[], tuple[Credential, ...]], server_name: str) -> None:
        """Be vouched for by these roots, towards servers of this name."""
        self._roots = roots
        self._server_name = server_name
        self._held: Credential | None = None

    def show(self) -> Identity | None:
        """Give what to connect with now; nothing as long as there are no roots."""
        roots = self._roots()
        if not roots:
            return None
        held = self._held = renewed_leaf(self._held, REPLICA, roots, datetime.now(UTC), SHORT)
        believed = bundle(roots).encode()
        return Identity(held.certificate.encode(), held.key.encode(), believed, self._server_name)
