"""The fenced blocks of a page, and what its author says about each in comments that no reader sees."""

import re
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?P<remarks>(?:^<!-- .+? -->\n+)*)^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
REMARK = re.compile(r"^<!-- (?P<title>[a-z ]+?)(?:: (?P<text>.+?))? -->$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^\s*```", re.MULTILINE)


class Block(Struct, frozen=True):
    """What stands between two fences."""

    page: str
    section: str
    line: int
    language: str
    text: str
    remarks: tuple[tuple[str, str], ...] = ()

    def said(self, title: str) -> tuple[str, ...]:
        """Return what the author says under a title; once without a word where nothing follows it."""
        return tuple(text for name, text in self.remarks if name == title)

    def __str__(self) -> str:
        """Name the place, as an editor opens it."""
        return f"{self.page}:{self.line}"


def blocks(page: str) -> tuple[Block, ...]:
    """Return all of a page, from the top; a fence that belongs to none of them is a mistake."""
    text = (ROOT / page).read_text()
    found = list(BLOCK.finditer(text))
    assert len(FENCE.findall(text)) == 2 * len(found), f"{page} has fences that are not at the margin"
    return tuple(_block(page, text, each) for each in found)


def _block(page: str, text: str, found: re.Match[str]) -> Block:
    remarks = tuple((each["title"], each["text"] or "") for each in REMARK.finditer(found["remarks"]))
    line = text.count("\n", 0, found.start("language")) + 1
    headings = HEADING.findall(text, 0, found.start()) or [""]
    return Block(page, headings[-1], line, found["language"], found["text"], remarks)
