"""Tables of rows that are known again: drawn for terminals wide and narrow, with a mark at what changed."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

NARROW = 72  # columns; below that, cells stand below each other
NOTICED_FOR = 10.0  # seconds
NEW, CHANGED, GONE = "+", "*", "-"
INDENT = 2


class Row(Struct, frozen=True):
    """One entry; `sign` is what counts as a change in it, which ages and counters are not."""

    key: str
    cells: tuple[Text, ...]
    sign: str
    mark: str = ""


class Section(Struct, frozen=True):
    """A table, perhaps without rows."""

    titles: tuple[str, ...]
    rows: tuple[Row, ...]


class Sections(Struct, frozen=True):
    """Tables below each other, drawn as the terminal is wide; those without rows are left out."""

    sections: tuple[Section, ...]
    marked: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Choose how to draw them."""
        del console
        for number, each in enumerate(each for each in self.sections if each.rows):
            if number:
                yield Text()
            narrow = options.max_width < NARROW
            yield from _stacked(each) if narrow else (_table(each, marked=self.marked),)


def columns(*titles: str) -> Table:
    """Begin a table as all commands draw them."""
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


class _Seen(Struct, frozen=True):
    row: Row
    mark: str
    since: float


class Changes:
    """Marks what is new, changed or gone since it was last looked at; what is seen first is not new."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        self._seen: dict[tuple[str, str], _Seen] | None = None

    def mark(self, sections: Sequence[Section], now: float) -> tuple[Section, ...]:
        """Return the same with marks, and for a while with rows that are gone."""
        before = self._seen
        self._seen = {}
        return tuple(self._marked(each, before, now) for each in sections)

    def _marked(self, section: Section, before: dict[tuple[str, str], _Seen] | None, now: float) -> Section:
        known = {key: seen for (title, key), seen in (before or {}).items() if title == section.titles[0]}
        here = {row.key: _seen(row, known.get(row.key), now, first=before is None) for row in section.rows}
        gone = {key: _gone(seen, now) for key, seen in known.items() if key not in here}
        seen = here | {key: each for key, each in gone.items() if now - each.since < NOTICED_FOR}
        assert self._seen is not None
        self._seen |= {(section.titles[0], key): each for key, each in seen.items()}
        rows = (structs.replace(each.row, mark=_fresh(each, now)) for each in seen.values())
        return structs.replace(section, rows=tuple(rows))


def signs(sections: Sequence[Section]) -> tuple[tuple[str, str], ...]:
    """Return all that counts as a change."""
    return tuple((row.key, row.sign) for section in sections for row in section.rows)


def _seen(row: Row, known: _Seen | None, now: float, *, first: bool) -> _Seen:
    if known is None or known.mark == GONE:
        return _Seen(row, "" if first else NEW, now)
    if known.row.sign != row.sign:
        return _Seen(row, CHANGED, now)
    return structs.replace(known, row=row)


def _gone(seen: _Seen, now: float) -> _Seen:
    return seen if seen.mark == GONE else _Seen(seen.row, GONE, now)


def _fresh(seen: _Seen, now: float) -> str:
    return seen.mark if now - seen.since < NOTICED_FOR else ""


def _style(row: Row) -> str:
    return {NEW: "bold", CHANGED: "bold", GONE: "dim strike"}.get(row.mark, "")


def _mark(row: Row) -> Text:
    return Text(row.mark or " ", style="reverse yellow" if row.mark else "")


def _table(section: Section, *, marked: bool) -> Table:
    table = columns(*(("",) if marked else ()), *section.titles)
    for row in section.rows:
        table.add_row(*((_mark(row),) if marked else ()), *row.cells, style=_style(row))
    return table


def _stacked(section: Section) -> Iterator[Text]:
    """Write a row's cells below each other, each behind its title, unless it is empty."""
    for row in section.rows:
        head = Text(f"{section.titles[0]} ", style=_style(row) or "bold").append_text(row.cells[0])
        yield Text().append_text(_mark(row)).append(" ").append_text(head) if row.mark else head
        for title, cell in zip(section.titles[1:], row.cells[1:], strict=True):
            for line in cell.split("\n"):
                if line.plain:
                    yield Text().append(f"{' ' * INDENT}{title.lower()} ", style="dim").append_text(line)
