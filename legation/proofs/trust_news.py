"""Changes of what is trusted, told in the log and in an Event: which certificates came, and which went."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType

import structlog

from k8s_watch.writer import Happening
from legation.kinds import place
from legation.proofs.changes import RootsChange
from legation.turns import in_turns
from translator.rules.certificates import Anchor
from translator.rules.creed import Basis
from translator.verdict import listed

REASON = "TrustChanged"
ACTION = "Translate"

_OTHERS = MappingProxyType({
    Basis.ROOTS: "",
    Basis.SYSTEM: "the roots of Envoy's machine",
    Basis.PINS: "pins alone",
    Basis.ANYBODY: "whoever answers, where that is permitted",
    Basis.NOTHING: "nobody",
})  # fmt: skip


async def log(changes: Iterable[RootsChange]) -> None:
    """Write a line for each."""
    async for each in in_turns(changes):
        structlog.get_logger().info(
            "trust changed",
            object=str(each.owner),
            added=_fields(each.added),
            removed=_fields(each.removed),
            before=each.before.value,
            after=each.after.value,
        )


def happening(change: RootsChange, *, once: bool = False) -> Happening:
    """Tell of a change in an Event of the object that trusts; once, where another may have told of it."""
    owner = change.owner
    return Happening(place(owner), owner.kind, "", "Normal", REASON, ACTION, words(change), once=once)


def words(change: RootsChange) -> str:
    """Say it for people."""
    where = f"for clients of port {change.port}, " if change.port else ""
    former = "" if change.before is Basis.NOTHING else _named(change.removed, change.before)
    said = (("trusts from now on", _named(change.added, change.after)), ("no longer trusts", former))
    return where + "; ".join(f"{what} {which}" for what, which in said if which)


def _named(anchors: Sequence[Anchor], basis: Basis) -> str:
    """Name roots, or what somebody goes by instead."""
    roots = listed([f"{each.subject} (SHA-256 {each.fingerprint})" for each in anchors])
    return roots or _OTHERS[basis]


def _fields(anchors: Sequence[Anchor]) -> list[dict[str, str]]:
    return [{"subject": each.subject, "fingerprint": each.fingerprint} for each in anchors]
