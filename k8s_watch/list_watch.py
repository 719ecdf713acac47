"""List, then watch, then begin again when that is needed: what to ask next, and what the answers change.

No IO and no clock: whoever drives it does what `next` says, hands in what came of it, and passes the changes
on. It holds no objects, only their versions. What it keeps to:

- The difference between a list and what was told before is told; what has not changed is not told again.
- Nothing is lost between a list and the watch after it, or between two watches: each begins at the version at
  which the one before ended, and where the server has forgotten that version, a new list is compared.
- Nobody is told that everything is gone by one list alone: a server that has lost its memory says the same.
- An outage alone makes nobody list anew: the watch goes on where it was once the server is back.
- No answer makes it ask again without a pause, unless it got further since the last one.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from msgspec import Raw, Struct

from k8s_watch.answers import (
    Bookmark,
    Ended,
    Event,
    Failed,
    Found,
    Item,
    Opened,
    Page,
    Part,
    Received,
    Removed,
    Waited,
)
from k8s_watch.change import Absent, Change, Gone, Put, Synced
from k8s_watch.kind import ObjectName

FORBIDDEN, NOT_FOUND, EXPIRED, TOO_MANY = 403, 404, 410, 429
NOT_UNDERSTOOD = 400
REFUSALS = frozenset({NOT_UNDERSTOOD, 405, 406, 415, 422})  # asking the same again would not help
NOT_NOW = frozenset({TOO_MANY, 502, 503, 504})  # of a busy server, or of who stands before one that is away
STUBBORN = 3  # failures in a row, with a server that was there, until a watch is given up for a list
CERTAIN = 3  # looks in a row without a finding until a kind whose objects we know counts as absent, or empty
LONGEST_RETRY_AFTER = 120.0  # seconds; a server that says more is mistaken


class Probe(Struct, frozen=True):
    """Ask under which version the kind is served."""


class List(Struct, frozen=True):
    """Ask for the first page of a list or, by its token, for a further one; or for the whole in one piece."""

    token: str = ""
    whole: bool = False


class Watch(Struct, frozen=True):
    """Ask for all changes after a version; without one, for all objects first."""

    version: str = ""


class Wait(Struct, frozen=True):
    """Do nothing for some seconds, then this."""

    seconds: float
    then: Probe | List | Watch


Action = Probe | List | Watch | Wait


class Pace(Struct, frozen=True):
    """How patient to be; times in seconds."""

    first: float = 0.5
    longest: float = 10.0  # so that after an outage nothing is old for longer than this
    steady: float = 1.0  # a watch that lasted this long was a good one
    look: float = 10.0  # between two looks for a kind that is absent
    chance: Callable[[], float] = random.random

    def after(self, failures: int, asked: float = 0.0) -> float:
        """Return how long to wait after failures in a row; the server may have asked for more."""
        most = min(self.longest, self.first * 2.0 ** min(failures - 1, 16))
        return max(self.chance() * most, min(asked, LONGEST_RETRY_AFTER))

    def until_next_look(self) -> float:
        """Return how long to wait until the kind may have come."""
        return self.look * (0.5 + self.chance())


class ListWatch:
    """One kind, everywhere or in one namespace."""

    def __init__(self, pace: Pace | None = None) -> None:
        """Begin knowing nothing."""
        self.next: Action = Probe()
        self.api_version = ""
        self.absent = False
        self.failure: Failed | None = None  # what stands between us and the newest, if anything
        self.failures: Counter[int] = Counter()  # ever, by their codes
        self.lists = 0  # ever begun
        self._pace = pace or Pace()
        self._held: dict[ObjectName, str] = {}
        self._listed: set[ObjectName] = set()
        self._position = ""
        self._synced = False
        self._in_a_row = 0
        self._broken = 0  # of these, how many by a server that was there
        self._stands = False
        self._misses = 0
        self._empty_lists = 0  # in a row, where there were objects
        self._streams_lists = True
        self._distrusts_stream = False

    @property
    def held(self) -> int:
        """How many objects were told and are there."""
        return len(self._held)

    def version(self, name: ObjectName) -> str | None:
        """In which version an object was told last; None if it is not there."""
        return self._held.get(name)

    @property
    def versions(self) -> Mapping[ObjectName, str]:
        """In which versions objects that are there were told last."""
        return self._held

    def receive(self, got: Received) -> list[Change[Raw]]:
        """Take in what came of `next`, which is then the next thing to do."""
        match got:
            case Item() | Removed() | Bookmark():
                return self._event(got)
            case Part(items=items):
                return self._puts(items)
            case Page():
                return self._page(got)
            case Found():
                return self._found(got.api_version)
            case Opened():
                self._opened()
            case Failed() | Ended():
                self._over(got)
            case Waited():
                assert isinstance(self.next, Wait)
                self._begin(self.next.then)
        return []

    # what there is

    def _event(self, event: Event) -> list[Change[Raw]]:
        listing = self.next == Watch()
        if isinstance(event, Bookmark):
            return self._bookmark(event, listing=listing)
        if not listing:
            self._went_well()
            if not _is_later(event.version, self._position):
                return []
            self._position = event.version
        return self._put(event) if isinstance(event, Item) else self._remove(event)

    def _bookmark(self, bookmark: Bookmark, *, listing: bool) -> list[Change[Raw]]:
        if listing and bookmark.ends_list:
            return self._complete(bookmark.version)
        if listing:  # comes only from a server that has not understood what we asked
            self._over(Failed(NOT_UNDERSTOOD, "the server does not stream lists"))
            return []
        self._went_well()
        if _is_later(bookmark.version, self._position):
            self._position = bookmark.version
        return []

    def _page(self, page: Page) -> list[Change[Raw]]:
        changes = self._puts(page.items)
        if page.token:
            self.next = List(page.token)
            return changes
        return changes + self._complete(page.version)

    def _puts(self, items: Iterable[Item]) -> list[Change[Raw]]:
        return [change for item in items for change in self._put(item)]

    def _put(self, item: Item) -> list[Change[Raw]]:
        name, version = item.name, item.version
        self._listed.add(name)
        if self._held.get(name) == version:
            return []
        self._held[name] = version
        return [Put(name, version, item.body)]

    def _remove(self, removed: Removed) -> list[Change[Raw]]:
        self._listed.discard(removed.name)
        return [Gone(removed.name)] if self._held.pop(removed.name, None) is not None else []

    def _complete(self, version: str) -> list[Change[Raw]]:
        """Forget what is no longer there, and go on from the list's version."""
        if self._lost_everything():
            return []
        changes = self._forget(self._held.keys() - self._listed)
        if not self._synced:
            self._synced = True
            changes.append(Synced())
        self._listed = set()
        self._distrusts_stream = False
        self._position = version
        self.next = Watch(version)
        self.failure = None
        return changes

    def _lost_everything(self) -> bool:
        """Say whether a list is to be had again, for it has nothing where something was."""
        is_lost = self._synced and bool(self._held) and not self._listed
        self._empty_lists = self._empty_lists + 1 if is_lost else 0
        if not 0 < self._empty_lists < CERTAIN:
            self._empty_lists = 0
            return False
        self.failure = Failed(0, "a list has nothing of all that was there")
        self.failures[0] += 1
        self.next = Wait(self._pace.until_next_look(), self._list())
        return True

    def _forget(self, names: set[ObjectName]) -> list[Change[Raw]]:
        for name in names:
            del self._held[name]
        return [Gone(name) for name in sorted(names)]

    # what to ask

    def _found(self, api_version: str | None) -> list[Change[Raw]]:
        if api_version is not None:
            self.absent, self.api_version, self._misses = False, api_version, 0
            self._begin(self._list())
            return []
        self._misses += 1
        self.next = Wait(self._pace.until_next_look(), Probe())
        if self._held and self._misses < CERTAIN:
            return []
        self.failure = None
        if self.absent:
            return []
        self.absent = True
        return [*self._forget(set(self._held)), Absent()]

    def _list(self) -> List | Watch:
        return Watch() if self._streams_lists and not self._distrusts_stream else List()

    def _begin(self, action: Probe | List | Watch) -> None:
        if action == Watch() or (isinstance(action, List) and not action.token):
            self._listed = set()
            self.lists += 1
        self.next = action

    def _went_well(self) -> None:
        self._in_a_row = self._broken = 0
        self.failure = None

    # what went wrong

    def _opened(self) -> None:
        """A quiet watch is as good as one that has something to say; a list is good when it is complete."""
        self._stands = True
        if self.next != Watch():
            self.failure = None

    def _over(self, end: Failed | Ended) -> None:
        """A request came to nothing, or a watch came to its end: in good order it goes on at once."""
        doing, stood, self._stands = self.next, self._stands, False
        assert not isinstance(doing, Wait)
        if end.lasted >= self._pace.steady and doing != Watch():
            self._in_a_row = self._broken = 0
            if isinstance(end, Ended):
                self.next = Wait(0.0, Watch(self._position))
                return
        failed = end if isinstance(end, Failed) else Failed(0, "the server ended the watch at once")
        if doing == Watch() and failed.code in REFUSALS:
            self._streams_lists = False  # which is no misfortune
            self.next = Wait(0.0, List())
        else:
            self._broken += stood or failed.code not in NOT_NOW | {0}
            self._fail(doing, failed)

    def _fail(self, doing: Probe | List | Watch, failed: Failed) -> None:
        """Try again, at once only where that is promising and was not tried just now."""
        self.failure = failed
        self.failures[failed.code] += 1
        self._in_a_row += 1
        prompt = failed.code in REFUSALS | {NOT_FOUND, EXPIRED} and self._in_a_row == 1
        seconds = 0.0 if prompt else self._pace.after(self._in_a_row, failed.retry_after)
        self.next = Wait(seconds, self._instead(doing, failed.code))

    def _instead(self, doing: Probe | List | Watch, code: int) -> Probe | List | Watch:
        if code == NOT_FOUND:
            return Probe()
        match doing:
            case Probe():
                return doing
            case List():
                return self._instead_of_list(doing, code)
            case Watch(version=""):
                self._distrusts_stream = True
                return List()
            case Watch():
                lost = code == EXPIRED or code in REFUSALS or self._broken >= STUBBORN
                return self._list() if lost else Watch(self._position)

    def _instead_of_list(self, doing: List, code: int) -> List:
        """Go on with the same page, unless the server has forgotten its list or does not know the token."""
        if not doing.token:
            return doing
        return List(whole=True) if code == EXPIRED or code in REFUSALS else doing


def _is_later(version: str, than: str) -> bool:
    """Compare two versions; where they are no numbers, what the server sends counts as later."""
    if version.isdecimal() and than.isdecimal():
        return (len(version), version) > (len(than), than)
    return True
