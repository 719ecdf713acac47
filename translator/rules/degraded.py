"""Where verification is off or weakened now, so that nobody can miss it.  GEP-4152.

Whoever asked for it and the Gateway through which it is permitted say so alike, in a condition of our own.
"""

from collections.abc import Sequence
from itertools import chain, groupby
from typing import NamedTuple

from translator.memo import keyed, query
from translator.names import Name, Ref, ServicePort
from translator.rules.backend_tls import UpstreamTls
from translator.rules.hops import due
from translator.rules.insecure_verification import Weakness
from translator.rules.needs import needs
from translator.verdict import Condition, holds, listed
from translator.world import World

CONDITION = "legation.dev/VerificationDegraded"

_REASONS = {Weakness.UNVERIFIED: "VerificationSkipped", Weakness.ANY_NAME: "HostnameSkipped"}


class Degraded(NamedTuple):
    """A port that is reached with less proof than policies ask for by themselves."""

    port: ServicePort
    by: Ref  # the policy, or the XBackend itself
    weakness: Weakness
    is_pinned: bool

    def __str__(self) -> str:
        """Say what is left out, and by whose word."""
        return f"{self.port} by {self.by}: {self._proof}"

    @property
    def _proof(self) -> str:
        match self.weakness:
            case Weakness.UNVERIFIED if self.is_pinned:
                return "only its pins prove the backend"
            case Weakness.UNVERIFIED:
                return "nothing proves the backend"
            case Weakness.ANY_NAME:
                return "a certificate of any name proves the backend"


@query
def degraded(world: World, gateway: Name) -> tuple[Degraded, ...]:
    """Return where a Gateway's Envoys verify less, as it was asked for and permitted."""
    return tuple(chain.from_iterable(_by_asker(world, gateway).values()))


def degraded_by(world: World, gateway: Name, by: Ref) -> tuple[Degraded, ...]:
    """Return the same, as far as one object asked for it."""
    return _by_asker.at(world, by, gateway) or ()


@keyed(rank=4)
def _by_asker(world: World, gateway: Name) -> dict[Ref, tuple[Degraded, ...]]:
    permitted = [each.backend for each in needs(world, gateway).hops if not each.forbidden]
    found = {
        Degraded(each.port, by, each.weakness, bool(tls.pins))
        for each in permitted
        if each.weakness and (by := each.decided_by) and isinstance(tls := due(world, each), UpstreamTls)
    }
    ordered = sorted(found, key=lambda each: (each.by, each.port))
    return {by: tuple(those) for by, those in groupby(ordered, key=lambda each: each.by)}


def told_of(found: Sequence[Degraded]) -> tuple[Condition, ...]:
    """Return the condition that says so; none where all is verified."""
    if not found:
        return ()
    weaknesses = {each.weakness for each in found}
    gravest = Weakness.UNVERIFIED if Weakness.UNVERIFIED in weaknesses else Weakness.ANY_NAME
    return (holds(CONDITION, _REASONS[gravest], listed([str(each) for each in found])),)
