"""An API server as its documentation describes it, in memory: one kind, and a list-watch that asks for it."""

from collections.abc import Iterator

from msgspec import Raw, Struct

from k8s_watch.answers import Bookmark, Ended, Event, Failed, Found, Item, Page, Received, Removed, Waited
from k8s_watch.kind import ObjectName
from k8s_watch.list_watch import List, ListWatch, Probe, Wait, Watch


class Stream(Struct):
    """A watch that is being answered: what is still to be sent of its list, then events by version."""

    initial: list[Event]
    position: int


class ModelServer:
    """Objects, everything that ever happened to them, and what of it is forgotten."""

    def __init__(self, machine: ListWatch, *, streams_lists: bool, page: int) -> None:
        self.machine = machine
        self.objects: dict[ObjectName, int] = {}
        self.history: list[tuple[int, ObjectName, bool]] = []
        self.revision = 100
        self.forgotten = 0
        self.served = True
        self.stream: Stream | None = None
        self._streams_lists = streams_lists
        self._page = page

    # what users do

    def put(self, name: ObjectName) -> None:
        """Create or change an object."""
        self.revision += 1
        self.objects[name] = self.revision
        self.history.append((self.revision, name, True))

    def delete(self, name: ObjectName) -> None:
        """Delete an object, if it is there."""
        if self.objects.pop(name, None) is not None:
            self.revision += 1
            self.history.append((self.revision, name, False))

    def compact(self) -> None:
        """Forget how everything came to be as it is."""
        self.forgotten = self.revision

    # what the list-watch is given

    def answer(self) -> Received:
        """Answer what is asked, one piece at a time."""
        match self.machine.next:
            case Wait():
                return Waited()
            case Probe():
                return Found("v1" if self.served else None)
            case List(token=token):
                return self._list(token) if self.served else Failed(404, "no such kind")
            case Watch(version=version):
                return self._watch(version) if self.served else Failed(404, "no such kind")

    def hand_over(self, received: Received) -> None:
        """Note what ends a watch; an answer to anything else leaves none."""
        if isinstance(received, Failed | Ended) or not isinstance(self.machine.next, Watch):
            self.stream = None

    def at_rest(self) -> bool:
        """Whether everything has been sent to a watch that goes on, or there is nothing to send."""
        stream = self.stream
        if not self.served:
            return self.machine.absent
        return stream is not None and not stream.initial and next(self._news(stream), None) is None

    def again(self, begin: int, end: int) -> list[Event]:
        """Return some of what a watch has sent last, as a careless proxy would repeat it."""
        if self.stream is None or self.stream.initial:
            return []
        sent = [entry for entry in self.history if entry[0] <= self.stream.position]
        return [event(entry) for entry in sent[-begin : len(sent) - end]]

    def _list(self, token: str) -> Page | Failed:
        at, _, start = token.partition(":")
        revision, begin = int(at or self.revision), int(start or 0)
        if revision < self.forgotten:
            return Failed(410, "the token is too old")
        items = self._as_of(revision)
        whole = isinstance(self.machine.next, List) and self.machine.next.whole
        end = len(items) if whole else begin + self._page
        more = f"{revision}:{end}" if end < len(items) else ""
        return Page(tuple(items[begin:end]), str(revision), more)

    def _watch(self, version: str) -> Received:
        if self.stream is None:
            if not version and not self._streams_lists:
                return Failed(422, "sendInitialEvents is forbidden")
            if version and int(version) < self.forgotten:
                return Failed(410, "the version is too old")
            end = Bookmark(str(self.revision), ends_list=True)
            initial: list[Event] = [] if version else [*self._as_of(self.revision), end]
            self.stream = Stream(initial, int(version or self.revision))
        return self._send(self.stream)

    def _send(self, stream: Stream) -> Received:
        if stream.initial:
            return stream.initial.pop(0)
        entry = next(self._news(stream), None)
        if entry is None:
            return Bookmark(str(stream.position))
        stream.position = entry[0]
        return event(entry)

    def _news(self, stream: Stream) -> Iterator[tuple[int, ObjectName, bool]]:
        return (entry for entry in self.history if entry[0] > stream.position)

    def _as_of(self, revision: int) -> list[Item]:
        objects: dict[ObjectName, int] = {}
        for at, name, is_there in self.history:
            if at <= revision:
                objects.pop(name, None)
                if is_there:
                    objects[name] = at
        return [item(name, at) for name, at in sorted(objects.items())]


def item(name: ObjectName, revision: int) -> Item:
    """Return an object whose body says its version."""
    return Item(name, str(revision), Raw(str(revision).encode()))


def event(entry: tuple[int, ObjectName, bool]) -> Event:
    """Return what a watch sends about one thing that happened."""
    revision, name, is_there = entry
    return item(name, revision) if is_there else Removed(name, str(revision))
