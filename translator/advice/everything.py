"""All advice about a world: what it is given with, and in which order."""

from translator.advice import backends, listening, permissions, policies, routes, shadows, words
from translator.advice.checks import Advice, Check
from translator.world import World

CHECKS: tuple[Check, ...] = (
    *routes.CHECKS,
    *shadows.CHECKS,
    *listening.CHECKS,
    *backends.CHECKS,
    *policies.CHECKS,
    *permissions.CHECKS,
    *words.CHECKS,
)
ASKED = (
    routes.strays,
    routes.hosts,
    routes.weights,
    shadows.shadowed,
    shadows.outlived,
    listening.listening,
    backends.backends,
    policies.unused_targets,
    policies.proofs,
    policies.parameters,
    permissions.grants,
    words.words,
)


def advised(world: World) -> tuple[Advice, ...]:
    """Walk the whole world once: for whoever asks now and then, and never for one change."""
    found = sorted((each for ask in ASKED for each in ask(world)), key=_place)
    world.memory.sweep()  # else the next change would pay for what only was asked here
    return tuple(found)


def _place(advice: Advice) -> tuple[str, str, str, str]:
    return advice.check.group, str(advice.about), advice.field, advice.check.id
