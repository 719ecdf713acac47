"""When roots and certificates of the xDS channel are made anew, and which of them are believed meanwhile.

A root is shown to everybody before it signs, and believed until it ends; no certificate outlives its root. So
whatever is still valid is believed by everybody, and nobody has to be asked whether all have moved on.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import Struct

from legation.channel.authority import Credential, Lifetime, Subject, issue, make_root, vouches


class Terms(Struct, frozen=True):
    """How long things last."""

    root: timedelta = timedelta(days=365)
    leaf: timedelta = timedelta(days=30)
    spreading: timedelta = timedelta(days=1)  # until everybody believes a new root, slow kubelets included


TERMS = Terms()


def renewed_roots(held: Iterable[Credential], now: datetime, terms: Terms = TERMS) -> tuple[Credential, ...]:
    """Say which roots to believe from now on, the oldest first."""
    valid = [root for root in held if root.is_root and now < root.lifetime.until]
    roots = sorted(valid, key=lambda root: (root.lifetime, root.certificate))
    if not roots or _needs_successor(roots[-1], now, terms):
        roots.append(make_root(_from(now, terms.root)))
    return tuple(roots)


def signing(roots: tuple[Credential, ...], now: datetime, terms: Terms = TERMS) -> Credential:
    """Say which root signs: the newest that everybody believes already, else the oldest."""
    spread = [root for root in roots if root.lifetime.since + terms.spreading <= now]
    return spread[-1] if spread else roots[0]


def renewed_leaf(
    held: Credential | None,
    subject: Subject,
    roots: tuple[Credential, ...],
    now: datetime,
    terms: Terms = TERMS,
) -> Credential:
    """Give the certificate to use from now on: the one that is held, unless it is wrong or nears its end."""
    root = signing(roots, now, terms)
    since = _whole(now) if subject.since is None else max(_whole(now), _next_whole(subject.since))
    lasting = Lifetime(since, min(since + terms.leaf, root.lifetime.until))
    if held is not None and _is_ours(held, subject, roots, now) and not _is_due(held, lasting, now):
        return held
    return issue(root, subject, lasting)


def bundle(roots: tuple[Credential, ...]) -> str:
    """Write what everybody believes."""
    return "".join(root.certificate for root in roots)


def _needs_successor(root: Credential, now: datetime, terms: Terms) -> bool:
    """Early enough that the root lasts for a whole certificate when its successor takes over."""
    return root.lifetime.until - now <= terms.leaf + 2 * terms.spreading


def _is_ours(held: Credential, subject: Subject, roots: tuple[Credential, ...], now: datetime) -> bool:
    if held.is_root or held.names != subject.names or now >= held.lifetime.until:
        return False
    if subject.since is not None and held.lifetime.since < subject.since:
        return False
    return any(vouches(root, held) for root in roots)


def _is_due(held: Credential, new: Lifetime, now: datetime) -> bool:
    """After two thirds of its life, if another lasts longer: one that its root cuts short would not."""
    since, until = held.lifetime
    return now >= since + (until - since) * 2 / 3 and new.until > until


def _from(now: datetime, lasting: timedelta) -> Lifetime:
    return Lifetime(_whole(now), _whole(now) + lasting)


def _next_whole(moment: datetime) -> datetime:
    whole = _whole(moment)
    return whole if whole == moment else whole + timedelta(seconds=1)


def _whole(moment: datetime) -> datetime:
    """Certificates know no fractions of a second."""
    return moment.replace(microsecond=0)
