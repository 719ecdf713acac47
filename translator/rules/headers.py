"""Changes of headers, on the way to a backend or on the way back."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from translator.objects.filters import HTTPHeader, HTTPHeaderFilter
from translator.objects.scalars import HEADER_NAME
from translator.verdict import Refused

# Where a message ends, and what is spoken after it: whoever else says so has others' messages misread.
FRAME = ("connection", "content-length", "transfer-encoding", "upgrade")
BREAK = re.compile(r"[\0\r\n]")


class HeaderChanges(Struct, frozen=True):
    """Headers to set, to add and to remove."""

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()

    def then(self, later: "HeaderChanges") -> "HeaderChanges":
        """Return these changes and later ones as one: removals come first, later ones have the last word."""
        undone = {name.lower() for name in (*dict(later.set), *later.remove)}
        return HeaderChanges(
            set=(*_without(self.set, undone), *later.set),
            add=(*_without(self.add, undone), *later.add),
            remove=(*self.remove, *later.remove),
        )


UNCHANGED = HeaderChanges()


def changes(written: HTTPHeaderFilter) -> HeaderChanges | Refused:
    """Read changes of headers; Envoy takes no table with one that would break a message's own frame."""
    read = HeaderChanges(
        set=_first(written.set),
        add=_first(written.add),
        remove=written.remove,
    )
    pairs = (*read.set, *read.add)
    for name in (*[name for name, _ in pairs], *read.remove):
        if name.startswith(":") or name.lower() == "host":
            return Refused("UnsupportedValue", f"filters: header {name} cannot be changed; use a URL rewrite")
        if not HEADER_NAME.fullmatch(name):
            return Refused("UnsupportedValue", f"filters: {name!r} is not the name of a header")
    for name, value in pairs:
        if name.lower() in FRAME:
            return Refused("UnsupportedValue", f"filters: header {name} frames messages: leave it out")
        if BREAK.search(value):
            return Refused("UnsupportedValue", f"filters: the value for header {name} has a line break in it")
    return read


def _first(written: Sequence[HTTPHeader]) -> tuple[tuple[str, str], ...]:
    """Read pairs of a name and a value: of several for one name, in whatever case, the first counts."""
    found: dict[str, tuple[str, str]] = {}
    for header in written:
        found.setdefault(header.name.lower(), (header.name, header.value))
    return tuple(found.values())


def _without(pairs: tuple[tuple[str, str], ...], undone: set[str]) -> Iterator[tuple[str, str]]:
    return (pair for pair in pairs if pair[0].lower() not in undone)
