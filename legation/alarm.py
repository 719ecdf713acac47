"""What a mistake of ours may cost: the step in which it is made. It is named, and the process lives."""

from types import TracebackType
from typing import Self

from translator.names import Ref
from translator.translate import Mistake


class Alarm:
    """The mistakes that were made and not made good since."""

    def __init__(self) -> None:
        """Begin without any."""
        self.mistakes: dict[str, Mistake] = {}

    def guarding(self, what: str, about: Ref | None = None) -> "Guard":
        """Go on after the block whatever fails in it, and name that until the same step is done well.

        The step is called `what`, in which `{}` stands for the object.
        """
        return Guard(self, what, about)

    def end(self, what: str, about: Ref | None = None) -> None:
        """Let go of a mistake about what is done well since, or is gone."""
        if self.mistakes:  # hardly ever: so nothing is named in vain
            self.mistakes.pop(_named(what, about), None)


class Guard:
    """One step, which may fail: our own mistake must not end what is being served."""

    __slots__ = ("_about", "_alarm", "_what", "failed")

    def __init__(self, alarm: Alarm, what: str, about: Ref | None) -> None:
        """Name the step, and the object that it is about."""
        self.failed = False
        self._alarm = alarm
        self._what = what
        self._about = about

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, bug: BaseException | None, _where: TracebackType | None
    ) -> bool:
        """Name what failed; whatever ends the process is not ours."""
        if bug is None:
            self._alarm.end(self._what, self._about)
            return False
        if not isinstance(bug, Exception):
            return False
        self.failed = True
        self._alarm.mistakes[_named(self._what, self._about)] = Mistake(bug, self._about)
        return True


def _named(what: str, about: Ref | None) -> str:
    return what if about is None else what.format(about)
