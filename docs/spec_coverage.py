"""Writes docs/spec-coverage.md: for each rule, the sentences it keeps and the cases that prove them."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests/cases"
RULES = ROOT / "translator/rules"
PAGE = ROOT / "docs/spec-coverage.md"
FIRST_LINE = re.compile(r"# (?P<sentence>\S.*?[.!?])(?:  (?P<source>\S.*))?$")
PREFACE = """# What the specification says, and what shows that we keep it

Made by `make docs` from first lines in `tests/cases` and docstrings in `translator/rules`, not by hand.
Sentences are in our words.
"""


class Case(NamedTuple):
    """One sentence, where it stands, and the files that prove it."""

    rule: str
    source: str
    sentence: str
    name: str


def cases() -> Iterator[Case]:
    """Yield every case, by rule; a first line that is no sentence is a mistake."""
    for path in sorted(CASES.glob("*/*.given.yaml")):
        line = path.read_text().partition("\n")[0]
        if (first := FIRST_LINE.match(line)) is None:
            message = f"{path.relative_to(ROOT)} does not begin with `# A sentence.  Where it stands`"
            raise SystemExit(message)
        name = path.name.removesuffix(".given.yaml")
        yield Case(path.parent.name, first["source"] or "Gateway API", first["sentence"], name)


def purpose(rule: str) -> str:
    """Return the first paragraph of a rule's docstring; cases of no one rule belong to several."""
    path = RULES / f"{rule}.py"
    if not path.exists():
        return "Where several rules meet."
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


def section(rule: str, held: list[Case]) -> str:
    """Return one rule's part of the page."""
    rows = [f"| {cell(case.sentence)} | {case.source} | `{case.name}` |" for case in sorted(held)]
    return "\n".join(
        [
            f"\n## {rule}\n",
            purpose(rule),
            "",
            "| What holds | Where it stands | Case |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def cell(text: str) -> str:
    """Return text that a table can hold."""
    return text.replace("|", "\\|")


def page() -> str:
    """Return the whole page."""
    by_rule = groupby(cases(), key=attrgetter("rule"))
    return PREFACE + "".join(section(rule, list(held)) for rule, held in by_rule)


if __name__ == "__main__":
    PAGE.write_text(page())
