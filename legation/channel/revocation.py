"""Which identities of Envoys count no more: those issued before their Gateway was made, or taken back since.

Whoever owns a Gateway takes back what a thief may hold by an annotation on it; the control plane then issues
a new identity, refuses the old ones, and ends the streams that were opened with them.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from k8s_watch.change import Absent, Change, Gone, Put, Synced, Unreadable
from legation.channel.authority import SKEW
from legation.channel.identity import issued_at, proven_group
from translator.names import Name
from translator.objects.gateway import Gateway
from translator.objects.kinds import Object
from translator.rules.identities import revoked_before
from xds_server.admission import Node, Peer, Refusal

EVER = datetime.min.replace(tzinfo=UTC)
AHEAD = SKEW / 2  # by so much before their time old identities are refused; new ones are issued sooner


def oldest_valid(gateway: Gateway, by: datetime) -> datetime:
    """Say since when identities of a Gateway that count were issued; a time to come says nothing yet.

    Both times were read from the clocks of others, so what comes a little later counts as come: for issuing
    by as much as identities are dated back, so that they hold at once and go on counting, and for refusing
    only later, when everybody was given a new one.
    """
    taken_back = revoked_before(gateway)
    moments = (gateway.metadata.creation_timestamp, taken_back if isinstance(taken_back, datetime) else None)
    return max((moment for moment in moments if moment is not None and moment <= by), default=EVER)


class Gate:
    """Lets in whom a certificate proves, unless it was issued too early."""

    def __init__(self, review: Callable[[str], None]) -> None:
        """Have the streams of a Gateway reviewed when what counts has changed."""
        self._review = review
        self._gateways: dict[str, Gateway] = {}

    def overhear(self, kind: type, changes: Sequence[Change[Object]]) -> None:
        """Learn of Gateways."""
        if kind is not Gateway:
            return
        for change in changes:
            match change:
                case Put(name=name, thing=thing):
                    if isinstance(thing, Gateway):
                        self._learn(str(Name(*name)), thing)
                case Gone(name=name):
                    self._gateways.pop(str(Name(*name)), None)
                case Unreadable() | Synced() | Absent():
                    pass

    def group_of(self, node: Node, peer: Peer) -> str | Refusal:
        """Say whose Envoy it is, or why it is not let in."""
        group = proven_group(node, peer)
        if isinstance(group, Refusal) or (gateway := self._gateways.get(group)) is None:
            return group
        valid, issued = oldest_valid(gateway, datetime.now(UTC) + AHEAD), issued_at(peer)
        if issued is None or issued < valid:
            return Refusal(f"identities of Gateway {group} issued before {valid.isoformat()} do not count")
        return group

    def _learn(self, group: str, gateway: Gateway) -> None:
        before, self._gateways[group] = self._gateways.get(group), gateway
        by = datetime.now(UTC) + AHEAD
        if before is not None and oldest_valid(before, by) != oldest_valid(gateway, by):
            self._review(group)
