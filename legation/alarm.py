"""What a mistake of ours may cost: the step in which it is made. It is named, and the process lives."""

from collections.abc import Iterator
from contextlib import contextmanager

from translator.names import Ref
from translator.translate import Mistake


class Alarm:
    """The mistakes that were made and not made good since."""

    def __init__(self) -> None:
        """Begin without any."""
        self.mistakes: dict[str, Mistake] = {}

    @contextmanager
    def guarding(self, what: str, about: Ref | None = None) -> Iterator[None]:
        """Go on after the block whatever fails in it, and name that until the same step is done well."""
        try:
            yield
        except Exception as bug:  # noqa: BLE001  # our own mistake must not end what is being served
            self.mistakes[what] = Mistake(bug, about)
        else:
            self.end(what)

    def end(self, what: str) -> None:
        """Let go of a mistake about what is done well since, or is gone."""
        self.mistakes.pop(what, None)
