"""What the pump is told of routes that an Envoy refused."""

from typing import NamedTuple

from translator.names import Ref


class HoldBack(NamedTuple):
    """Serve these routes as they were before, and say to each why."""

    routes: frozenset[Ref]
    words: str


class LetGo(NamedTuple):
    """Serve these routes as they are."""

    routes: frozenset[Ref]
