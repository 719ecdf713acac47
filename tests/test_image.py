"""The recipe of the image names what is there, takes no more than that, and installs what is locked."""

import re
from pathlib import Path
from shlex import split

import pytest

ROOT = Path(__file__).parents[1]
RECIPE = (ROOT / "Dockerfile").read_text()
LEFT_IN = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]

pytestmark = pytest.mark.tree


def steps(word: str) -> list[list[str]]:
    return [split(line)[1:] for line in RECIPE.splitlines() if line.startswith(f"{word} ")]


def copied() -> list[str]:
    """Name what is copied from the tree, and not from a stage before."""
    own = [words for words in steps("COPY") if not words[0].startswith("--from")]
    return [source for *sources, _ in own for source in sources]


def test_the_image_copies_what_is_there_and_only_that_is_sent_to_the_engine() -> None:
    assert sorted(copied()) == sorted(LEFT_IN)
    assert [name for name in copied() if not (ROOT / name).exists()] == []


def test_everything_in_the_image_is_locked_or_was_made_from_the_tree() -> None:
    installing = [words for words in steps("RUN") if "install" in words]
    assert len(installing) == 3
    for words in installing:
        assert {"--require-hashes", "--only-binary"} <= {*words} or {"--no-deps", "--no-index"} <= {*words}


def test_the_image_runs_as_nobody_and_as_whom_the_chart_says() -> None:
    assert steps("USER") == [["65532:65532"]]
    assert re.search(
        r"runAsUser: 65532$", (ROOT / "deploy/helm/legation/values.yaml").read_text(), re.MULTILINE
    )
