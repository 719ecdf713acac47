"""Every manifest and every command of the documentation does what its page says.

A page is followed from the top. YAML is written into a folder, where later objects replace earlier ones, and
nothing may be wrong with it; console blocks run beside that folder, and each line of a text block is printed
by the command before it. What an author says besides stands in comments above a block: CONTRIBUTING.md.
"""

import re
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import yaml

from tests.pages.blocks import ROOT, Block, blocks
from tests.pages.cast import Cast
from tests.pages.reader import Reader
from translator.objects.kinds import KINDS, LEGATION_GROUP

pytestmark = [pytest.mark.tree, pytest.mark.envoy]

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
FOLLOWED_ELSEWHERE = {  # by a test that takes the page's own commands
    "docs/install.md": "e2e/test_install.py",
    "README.md": "tests/test_readme.py",
}
ELSEWHERE = {"in a cluster", "held by", "not run"}
REMARKS = {"shop", "anew", "told", "served"} | ELSEWHERE
PROSE = [page for page in PAGES if not blocks(page)]


def followed(page: str) -> tuple[Block, ...]:
    """Return what is followed here: not what another test does, and not what nobody can do."""
    return tuple(block for block in blocks(page) if not any(title in ELSEWHERE for title, _ in block.remarks))


@pytest.mark.parametrize("page", [page for page in PAGES if page not in (*FOLLOWED_ELSEWHERE, *PROSE)])
async def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    cast = Cast()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(cast.playing())
        reader = Reader(tmp_path, cast, stack)
        for block in followed(page):
            await reader.follow(block)


@pytest.mark.parametrize(("page", "test"), FOLLOWED_ELSEWHERE.items())
def test_a_page_that_is_followed_elsewhere_is_read_there(page: str, test: str) -> None:
    assert blocks(page)
    assert Path(page).name in (ROOT / test).read_text()


def test_authors_say_only_what_is_understood_and_why_something_is_not_run() -> None:
    said = [
        (str(block), remark)
        for page in ("README.md", *PAGES)
        for block in blocks(page)
        for remark in block.remarks
    ]
    assert [each for each in said if each[1][0] not in REMARKS] == []
    assert [each for each in said if each[1][0] == "not run" and len(each[1][1].split()) < 3] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_test_that_holds_a_block_knows_its_page(page: str) -> None:
    holding = [ROOT / test for block in blocks(page) for test in block.said("held by")]
    assert [test for test in holding if Path(page).name not in test.read_text()] == []


@pytest.mark.parametrize("page", PAGES)
def test_what_is_yaml_can_be_read_as_such_whoever_it_is_for(page: str) -> None:
    for block in blocks(page):
        if block.language == "yaml":
            assert all(isinstance(each, dict) for each in yaml.safe_load_all(block.text)), str(block)


def test_a_backup_has_every_kind_that_is_for_gateways() -> None:
    _, _, backup = (ROOT / "docs/operations.md").read_text().partition("\n## Backup\n")
    kept = set(re.findall(r"\w+", backup.partition("\n## ")[0]))
    ours = {each.plural for each in KINDS if "gateway" in each.group or each.group == LEGATION_GROUP}
    assert {"gateways", "gatewayparameters"} <= ours <= kept


def test_the_shop_comes_with_its_class_for_whoever_has_no_cluster() -> None:
    shop, by_hand, *_ = (list(yaml.safe_load_all(block.text)) for block in blocks("docs/backend-tls.md"))
    [gateway] = (each for each in shop if each["kind"] == "Gateway")
    [named] = by_hand
    assert (named["kind"], named["metadata"]["name"]) == ("GatewayClass", gateway["spec"]["gatewayClassName"])
