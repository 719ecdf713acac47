"""All advice about a world, question by question."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from msgspec import Struct

from translator.advice import backends, listening, permissions, policies, routes, sections, shadows, words
from translator.advice.checks import Advice, Check
from translator.world import World

CHECKS: tuple[Check, ...] = (
    *routes.CHECKS,
    *shadows.CHECKS,
    *listening.CHECKS,
    *backends.CHECKS,
    *policies.CHECKS,
    *sections.CHECKS,
    *permissions.CHECKS,
    *words.CHECKS,
)
ASKED: Mapping[str, Callable[[World], Iterable[Advice]]] = MappingProxyType({
    "advice about parents": routes.strays,
    "advice about hostnames": routes.hosts,
    "advice about weights": routes.weights,
    "advice about matches": shadows.shadowed,
    "advice about older routes": shadows.outlived,
    "advice about listeners": listening.listening,
    "advice about backends": backends.backends,
    "advice about targets": policies.unused_targets,
    "advice about proofs": policies.proofs,
    "advice about parameters": policies.parameters,
    "advice about sections": sections.sections,
    "advice about grants": permissions.grants,
    "advice about words": words.words,
})  # fmt: skip


class Advised(Struct, frozen=True, eq=False):
    """What was found, and which questions a mistake of ours kept from being answered."""

    found: tuple[Advice, ...]
    broken: Mapping[str, Exception]


def advised(world: World) -> Advised:
    """Walk the whole world once: for whoever asks now and then, and never for one change."""
    parts = [answered(world, title) for title in ASKED]
    found = tuple(each for part in parts for each in part.found)
    return Advised(found, {title: bug for part in parts for title, bug in part.broken.items()})


def answered(world: World, title: str) -> Advised:
    """Answer one question: a part of the walk, for whoever lets changes in between."""
    try:
        found = tuple(ASKED[title](world))
    except Exception as bug:  # noqa: BLE001  # our own mistake: all other questions are answered
        return Advised((), {title: bug})
    finally:
        world.memory.sweep()  # else the next change would pay for what only was asked here
    return Advised(found, {})
