"""What the pump and other replicas are told of routes and Secrets that an Envoy refused."""

from typing import NamedTuple

from msgspec import Struct

from translator.names import Ref


class Held(Struct, frozen=True, omit_defaults=True):
    """One version of an object that is held back."""

    about: Ref
    content: str  # by which other replicas know whether theirs is the same
    words: str  # Envoy's
    before: str = ""  # what a route said before, as JSON, if that is known


class HoldBack(NamedTuple):
    """Serve these as they were before, Secrets not at all, and say why."""

    objects: frozenset[Ref]
    words: str
    entirely: bool = False  # what routes said before is refused, too


class LetGo(NamedTuple):
    """Serve these as they are."""

    objects: frozenset[Ref]


class Elsewhere(NamedTuple):
    """Hold back what other replicas hold back: this is all of it."""

    held: tuple[Held, ...]
