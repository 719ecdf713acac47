"""Changes of headers, on the way to a backend or on the way back."""

import re
from collections.abc import Iterator

from msgspec import Struct

from translator.objects.filters import HTTPHeaderFilter
from translator.objects.scalars import HEADER_NAME
from translator.verdict import Refused

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
        set=tuple([(header.name, header.value) for header in written.set]),
        add=tuple([(header.name, header.value) for header in written.add]),
        remove=written.remove,
    )
    pairs = (*read.set, *read.add)
    for name in (*[name for name, _ in pairs], *read.remove):
        if name.startswith(":") or name.lower() == "host":
            return Refused("UnsupportedValue", f"filters: header {name} cannot be changed; use a URL rewrite")
        if not HEADER_NAME.fullmatch(name):
            return Refused("UnsupportedValue", f"filters: {name!r} is not the name of a header")
    for name, value in pairs:
        if BREAK.search(value):
            return Refused("UnsupportedValue", f"filters: the value for header {name} has a line break in it")
    return read


def _without(pairs: tuple[tuple[str, str], ...], undone: set[str]) -> Iterator[tuple[str, str]]:
    return (pair for pair in pairs if pair[0].lower() not in undone)
