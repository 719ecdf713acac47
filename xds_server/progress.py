"""How far the Envoys of one group are with what was offered to them, change by change."""

from xds_server.report import Cause

MOST = 64  # changes on their way; of more, only the oldest and the newest are followed


class Way:
    """One change on its way: who has not said all about it yet, and what was said so far."""

    def __init__(self, cause: Cause, behind: set[int]) -> None:
        """Begin before anything was sent."""
        self.cause = cause
        self.behind = behind
        self.begun = False
        self.answered = False
        self.refused = False


class Progress:
    """The changes that somebody in the group has yet to be sent, or to answer."""

    def __init__(self) -> None:
        self._ways: list[Way] = []

    @property
    def oldest(self) -> Cause | None:
        """What has been on its way for longest."""
        return self._ways[0].cause if self._ways else None

    def offered(self, cause: Cause, behind: set[int]) -> None:
        """Follow a change, if there is anybody whom it concerns."""
        if behind:
            if len(self._ways) == MOST:
                self._ways.pop()
            self._ways.append(Way(cause, behind))

    def sent(self, seat: int) -> list[Cause]:
        """Something was sent to a seat; return the changes of which it is the first that anybody was sent."""
        begun = [way for way in self._ways if not way.begun and seat in way.behind]
        for way in begun:
            way.begun = True
        return [way.cause for way in begun]

    def refused(self, seat: int) -> None:
        """Remember that a seat would not have something."""
        for way in self._ways:
            way.refused |= seat in way.behind

    def settled(self, seat: int) -> list[Way]:
        """A seat has answered all that there is; return what is at its end everywhere by that."""
        for way in self._ways:
            way.answered |= seat in way.behind
        return self._without(seat)

    def left(self, seat: int) -> list[Way]:
        """A seat is empty and owes no answer any more; return what is at its end by that."""
        return self._without(seat)

    def _without(self, seat: int) -> list[Way]:
        if not self._ways:
            return []
        for way in self._ways:
            way.behind.discard(seat)
        done = [way for way in self._ways if not way.behind]
        self._ways = [way for way in self._ways if way.behind]
        return [way for way in done if way.begun and way.answered]
