"""What the pump is told of routes and Secrets that an Envoy refused."""

from typing import NamedTuple

from translator.names import Ref


class HoldBack(NamedTuple):
    """Serve these as they were before, Secrets not at all, and say why."""

    objects: frozenset[Ref]
    words: str


class LetGo(NamedTuple):
    """Serve these as they are."""

    objects: frozenset[Ref]
