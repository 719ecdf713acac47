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


def oldest_valid(gateway: Gateway, now: datetime) -> datetime:
    """Say since when identities of a Gateway that count were issued; a time to come says nothing yet.

    Both times were read from the clocks of others. What is ahead of ours by no more than clocks differ has
    come: else an identity that is issued meanwhile would count no more a moment later. It may begin as late
    as this asks, and holds all the same, since each is dated back by so much.
    """
    taken_back = revoked_before(gateway)
    moments = (gateway.metadata.creation_timestamp, taken_back if isinstance(taken_back, datetime) else None)
    return max((moment for moment in moments if moment is not None and moment <= now + SKEW), default=EVER)


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
        valid, issued = oldest_valid(gateway, datetime.now(UTC)), issued_at(peer)
        if issued is None or issued < valid:
            return Refusal(f"identities of Gateway {group} issued before {valid.isoformat()} do not count")
        return group

    def _learn(self, group: str, gateway: Gateway) -> None:
        before, self._gateways[group] = self._gateways.get(group), gateway
        now = datetime.now(UTC)
        if before is not None and oldest_valid(before, now) != oldest_valid(gateway, now):
            self._review(group)
