"""Writes docs/spec-coverage.md: what the specification says, which rule keeps it, which cases prove it."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests/cases"
RULES = ROOT / "translator/rules"
SPEC = ROOT / "docs/spec"
PAGE = ROOT / "docs/spec-coverage.md"
FIRST_LINE = re.compile(r"# (?P<sentence>\S.*?[.!?])(?:  (?P<source>\S.*))?$")
NUMBERED = re.compile(r"(GEP-\d+)\.(\d+)")
PREFACE = """# What the specification says, and what shows that we keep it

Made by `make docs` from `docs/spec`, first lines in `tests/cases` and docstrings in `translator/rules`, not
by hand. Sentences are in our words. A case is a pair of files in `tests/cases`; other tests are named by
their file.
"""


class Case(NamedTuple):
    """One sentence, where it stands, and the files that prove it."""

    rule: str
    source: str
    sentence: str
    name: str


class Sentence(Struct, frozen=True):
    """One demand of a proposal: how strong it is, the rule that keeps it, tests that are no cases."""

    says: str
    level: str
    rule: str
    tests: tuple[str, ...] = ()


class Proposal(Struct, frozen=True):
    """What one enhancement proposal demands, by number."""

    title: str
    sentences: Mapping[int, Sentence]


def cases() -> Iterator[Case]:
    """Yield every case, by rule; a first line that is no sentence is a mistake."""
    for path in sorted(CASES.glob("*/*.given.yaml")):
        line = path.read_text().partition("\n")[0]
        if (first := FIRST_LINE.match(line)) is None:
            message = f"{path.relative_to(ROOT)} does not begin with `# A sentence.  Where it stands`"
            raise SystemExit(message)
        name = path.name.removesuffix(".given.yaml")
        yield Case(path.parent.name, first["source"] or "Gateway API", first["sentence"], name)


def proposals() -> dict[str, Proposal]:
    """Return the proposals whose sentences are counted, such as `GEP-1897`."""
    return {
        path.stem.upper(): msgspec.yaml.decode(path.read_bytes(), type=Proposal)
        for path in sorted(SPEC.glob("*.yaml"))
    }


def proofs(held: Sequence[Case]) -> dict[str, list[str]]:
    """Return the cases for each numbered sentence."""
    found: dict[str, list[str]] = {}
    for case in held:
        for gep, number in NUMBERED.findall(case.source):
            found.setdefault(f"{gep}.{number}", []).append(f"{case.rule}/{case.name}")
    return found


def gaps(told: Mapping[str, Proposal], proved: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Say which sentences nothing proves, and which proofs, rules or tests are of nothing."""
    known = {f"{gep}.{number}": each for gep, one in told.items() for number, each in one.sentences.items()}
    yield from (
        f"{name} has no case and no test" for name in known if not (*known[name].tests, *proved.get(name, ()))
    )
    yield from (
        f"{name} is claimed by {proved[name][0]} and stands nowhere" for name in proved.keys() - known
    )
    for name, sentence in known.items():
        if not (RULES / f"{sentence.rule}.py").exists():
            yield f"{name}: there is no rule {sentence.rule}"
        yield from (f"{name}: there is no {test}" for test in sentence.tests if not exists(test))


def exists(test: str) -> bool:
    """Say whether a test is there, written `tests/file.py::test_name`."""
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.exists() and f"def {name}(" in path.read_text()


def demands(gep: str, one: Proposal, proved: Mapping[str, Sequence[str]]) -> str:
    """Return one proposal's part of the page."""
    rows = [
        f"| {number} | {each.level} | {cell(each.says)} | `{each.rule}` | {proof} |"
        for number, each in one.sentences.items()
        if (proof := shown(each, proved.get(f"{gep}.{number}", ())))
    ]
    heading = "| | Level | What it says | Rule | Shown by |\n|---|---|---|---|---|"
    return "\n".join([f"\n## {one.title}\n", heading, *rows, ""])


def shown(sentence: Sentence, held: Sequence[str]) -> str:
    """Name what proves a sentence, the cases first."""
    names = [*held, *(test.partition("::")[0] for test in sentence.tests)]
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


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
    heading = "| What holds | Where it stands | Case |\n|---|---|---|"
    return "\n".join([f"\n## {rule}\n", purpose(rule), "", heading, *rows, ""])


def cell(text: str) -> str:
    """Return text that a table can hold."""
    return text.replace("|", "\\|")


def page() -> str:
    """Return the whole page; a sentence that nothing proves is a mistake."""
    held = list(cases())
    told, proved = proposals(), proofs(held)
    if missing := list(gaps(told, proved)):
        raise SystemExit("\n".join(missing))
    by_rule = groupby(held, key=attrgetter("rule"))
    return "".join([
        PREFACE,
        *(demands(gep, one, proved) for gep, one in told.items()),
        *(section(rule, list(group)) for rule, group in by_rule),
    ])  # fmt: skip


if __name__ == "__main__":
    PAGE.write_text(page())
