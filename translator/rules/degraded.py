"""Where verification is off or weakened now, so that nobody can miss it.  GEP-4152.

Whoever asked for it and the Gateway through which it is permitted say so alike, in a condition of our own.
"""

from collections.abc import Sequence
from typing import NamedTuple

from translator.memo import query
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
    permitted = [each.backend for each in needs(world, gateway).hops if not each.forbidden]
    found = {
        Degraded(each.port, by, each.weakness, bool(tls.pins))
        for each in permitted
        if each.weakness and (by := each.decided_by) and isinstance(tls := due(world, each), UpstreamTls)
    }
    return tuple(sorted(found, key=lambda each: (each.by, each.port)))


def told_of(found: Sequence[Degraded], by: Ref | None = None) -> tuple[Condition, ...]:
    """Return the condition that says so, of who asked for it or of all; none where all is verified."""
    told = [each for each in found if by in (None, each.by)]
    if not told:
        return ()
    weaknesses = {each.weakness for each in told}
    gravest = Weakness.UNVERIFIED if Weakness.UNVERIFIED in weaknesses else Weakness.ANY_NAME
    return (holds(CONDITION, _REASONS[gravest], listed([str(each) for each in told])),)
