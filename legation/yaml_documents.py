"""Takes a file of YAML apart into its documents, each of which is read alone: a broken one harms no other."""

import re
from collections.abc import Iterator
from types import MappingProxyType
from typing import NamedTuple

import yaml

from legation.turns import give_way
from legation.yaml_values import Builder, Repeated, line_of

MOST_DOCUMENTS = 20_000

# A line that begins so is a marker wherever it stands, even inside a block of text; YAML has more line ends.
_MARKER = re.compile("(?:\\A|(?<=[\n\r\x85\u2028\u2029]))(?:---|\\.\\.\\.)(?=\\s|\\Z)")
_END = "..."

HINTS = MappingProxyType({
    "found unknown escape character": "write text with a backslash in single quotes, or in none",
    "found character that cannot start any token": "put text that begins so in quotes",
    "mapping values are not allowed in this context": "mend its indentation, or quote text with a colon",
    "did not find expected key": "mend its indentation",
})  # fmt: skip


class Document(NamedTuple):
    """One document: its number and its first line, both counted from 1, and what it holds."""

    number: int
    line: int
    value: object
    repeated: tuple[Repeated, ...] = ()


class Broken(NamedTuple):
    """A document, or a whole file, that cannot be read, and why."""

    number: int
    line: int
    message: str


def read_documents(text: str) -> Iterator[Document | Broken]:
    """Give every document of a file that is not empty."""
    number, line, aliased = 0, 1, 0
    for piece in _pieces(text.removeprefix("\ufeff")):
        if not _is_blank(piece):
            number += 1
            if number > MOST_DOCUMENTS:
                yield Broken(number, line, f"is past the first {MOST_DOCUMENTS} documents: split the file")
                return
            give_way()
            builder = Builder(aliased)
            found = _read(piece, number, line, builder)
            aliased = builder.aliased if isinstance(found, Document) else aliased
            yield found
        line += piece.count("\n")


def _pieces(text: str) -> Iterator[str]:
    """Cut before every marker; a marker that ends a document goes with what follows it."""
    start = 0
    for marker in _MARKER.finditer(text):
        yield text[start : marker.start()]
        start = marker.start() if marker.group() != _END else marker.end()
    yield text[start:]


def _is_blank(piece: str) -> bool:
    """Say whether there are only comments and directives, of which none means anything here."""
    return all(line[0] == "%" for line in _meaningful(piece.removeprefix("---")))


def _meaningful(piece: str) -> Iterator[str]:
    return (line for line in piece.splitlines() if line.strip() and line.lstrip()[0] != "#")


def _read(piece: str, number: int, line: int, builder: Builder) -> Document | Broken:
    if next(_meaningful(piece))[0] == "%":
        return Broken(number, line, "begins with a directive: end the directives by a line ---")
    try:
        trouble = _build(piece, builder)
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line if error.problem_mark else 0
        return Broken(number, line, f"is no YAML: {error.problem} (line {line + at}){_hint(error, piece)}")
    except yaml.YAMLError as error:
        return Broken(number, line, f"is no YAML: {str(error).splitlines()[0]}")
    if trouble:
        return Broken(number, line, f"{trouble.message} (line {line + trouble.line - 1})")
    repeated = tuple(Repeated(path, line + at - 1) for path, at in builder.repeated)
    return Document(number, line, builder.value, repeated)


def _hint(error: yaml.MarkedYAMLError, piece: str) -> str:
    """Say what helps against some mistakes, in other words than those of people who write parsers."""
    mark = error.problem_mark
    if mark and any("\t" in line[: mark.column + 1] for line in piece.split("\n")[mark.line : mark.line + 1]):
        return ": it has a tab, indent it by spaces"
    return f": {hint}" if (hint := HINTS.get(error.problem or "")) else ""


def _build(piece: str, builder: Builder) -> Broken | None:
    loader = yaml.CSafeLoader(piece)
    try:
        while loader.check_event():
            event = loader.get_event()
            if event and (message := builder.take(event)):
                return Broken(0, line_of(event), message)
        return None
    finally:
        loader.dispose()
