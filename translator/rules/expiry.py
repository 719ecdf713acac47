"""Certificates that end soon: said of whoever believes or shows them, in a condition of our own.

Notice is given three times, each time in other words, so that whoever tells people of what is new in a status
tells them of each step once. Roots that ended are no longer used, which ResolvedRefs says; what is shown to
others is shown on, so this goes on saying it.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from translator.memo import query
from translator.names import Ref
from translator.rules.certificates import NOTICES, days_left, is_over
from translator.rules.trust import Dated, Purpose, trust
from translator.verdict import Condition, holds
from translator.world import World

CONDITION = "legation.dev/CertificateExpiring"
REASONS = MappingProxyType(
    {0: "Expired", **{days: f"ExpiresWithin{days}Day{'s' * (days > 1)}" for days in NOTICES}}
)
MOST = 20  # that are named one by one

_SEPARATOR = "; "
_SAID = re.compile(r" (?:expired|expires within (?P<days>1|7|30) days?,) on [-0-9]+ [:0-9]+ UTC$")

_BELIEVED = (Purpose.PROVES_BACKENDS, Purpose.PROVES_CLIENTS)


class Notice(NamedTuple):
    """A certificate that has so many days left at the most, or none; the most urgent one comes first."""

    days: int
    until: datetime
    words: str


@query
def expiring(world: World, owner: Ref) -> tuple[Condition, ...]:
    """Return the condition that says which of an object's certificates end soon; none where none does."""
    found = sorted(set(_notices(world, owner)))
    if not found:
        return ()
    return (holds(CONDITION, REASONS[found[0].days], _message(found)),)


def told(message: str) -> Iterator[tuple[str, str]]:
    """Take the condition's message apart: each certificate's own reason, and what is said of it."""
    for words in message.split(_SEPARATOR):
        if (found := _SAID.search(words)) is not None:
            yield REASONS[int(found["days"] or 0)], words


def _message(found: Sequence[Notice]) -> str:
    more = len(found) - MOST
    named = _SEPARATOR.join(each.words for each in found[:MOST])
    return f"{named}{_SEPARATOR}and {more} more" if more > 0 else named


def _notices(world: World, owner: Ref) -> Iterator[Notice]:
    for each in trust(world, owner):
        for certificate in each.certificates:
            if (notice := _notice(world, certificate, each.purpose)) is not None:
                yield notice


def _notice(world: World, found: Dated, purpose: Purpose) -> Notice | None:
    anchor = found.anchor
    what = f"{found.source}, {found.field}: certificate {anchor.number} ({anchor.subject})"
    days = days_left(world, anchor.since, anchor.until)
    if days is not None:
        within = f"within {days} day{'s' if days > 1 else ''}"
        return Notice(days, anchor.until, f"{what} expires {within}, on {anchor.until:%Y-%m-%d %H:%M} UTC")
    if purpose in _BELIEVED or not is_over(world, anchor.until):
        return None
    return Notice(0, anchor.until, f"{what} expired on {anchor.until:%Y-%m-%d %H:%M} UTC")
