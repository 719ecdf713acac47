"""The documentation as a site: it builds strictly, leads everywhere, and needs nobody else to be read."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from docs import checks, reference
from legation.checks.table import GROUPS
from legation.proxies.handshakes import OTHERWISE, WHY
from translator.rules import tls_options

pytestmark = pytest.mark.tree

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "zensical.toml"
OUTWARD = re.compile(r"""<(?:script|img|iframe|source|link)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//""")
OURS = re.compile(r"legation\.dev/[A-Za-z0-9-]+")
Navigation = str | list["Navigation"] | dict[str, "Navigation"]
# On our own pods and Deployments; only between our own rules.
UNSEEN = {"legation.dev/bootstrap", "legation.dev/handover", "legation.dev/unreadable"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A copy of what the site is made from, which may be broken."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(SETTINGS, tmp_path)
    return tmp_path


def build(site: Path) -> subprocess.CompletedProcess[str]:
    tool = Path(sys.executable).with_name("zensical")
    return subprocess.run(
        [str(tool), "build", "--strict"], cwd=site, capture_output=True, text=True, check=False, timeout=120
    )


def navigated(entry: Navigation) -> Iterator[str]:
    """Return the pages that a navigation leads to, at any depth."""
    match entry:
        case str():
            yield entry
        case list():
            for part in entry:
                yield from navigated(part)
        case dict():
            yield from navigated(list(entry.values()))


def test_the_site_builds_strictly_and_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    built = build(site)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = list((site / "build/site").rglob("*.html"))
    assert {page.name for page in pages} >= {"index.html", "install.html", "reference.html"}
    assert [page.name for page in pages if OUTWARD.search(page.read_text())] == []


@pytest.mark.parametrize("link", ["[gone](gone.md)", "[gone](install.md#gone)"])
def test_a_link_that_leads_nowhere_fails_the_build(site: Path, link: str) -> None:
    with (site / "docs/index.md").open("a") as page:
        page.write(f"\n{link}\n")
    assert build(site).returncode != 0


def test_every_page_is_in_the_navigation_once() -> None:
    pages = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md"))
    listed = sorted(navigated(tomllib.loads(SETTINGS.read_text())["project"]["nav"]))
    assert listed == pages, "name each page in zensical.toml, in `nav`"


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "e2e/README.md"])
def test_a_page_beside_the_site_links_to_what_is_there(page: str) -> None:
    here = ROOT / page
    links = re.findall(r"\]\((?!https?:)([^)#]+)", here.read_text())
    assert [link for link in links if not (here.parent / link).exists()] == []


def test_the_reference_has_a_default_of_zero_and_none_for_what_is_left_out() -> None:
    rows = dict(line.split("|")[1:3] for line in reference.page().splitlines() if line.startswith("| `--"))
    assert rows[" `--port-offset` "] == " `0` "
    assert rows[" `--audit-log` "] == rows[" `--no-envoy` "] == "  "


def test_the_reference_is_what_the_code_says() -> None:
    assert reference.PAGE.read_text() == reference.page(), "run `make docs`"


def test_the_table_of_checks_is_what_the_code_says_and_each_has_one_name() -> None:
    assert checks.PAGE.read_text() == checks.page(), "run `make docs`"
    names = [check.id for check in checks.EVERYTHING]
    assert len(set(names)) == len(names)
    assert [name for name in names if checks.page().count(f'<a id="{name}"></a>') != 1] == []
    assert {*checks.MEANINGS} == {*GROUPS}


def test_every_name_of_ours_is_listed() -> None:
    """What begins with legation.dev/ anywhere in the code stands on the page, and nothing else does."""
    sources = "".join(
        path.read_text()
        for path in (*(ROOT / "translator").rglob("*.py"), *(ROOT / "legation").rglob("*.py"))
    )
    options = {f"{tls_options.PREFIX}{name}" for name in tls_options.WRONG}
    named = {*OURS.findall(sources)} | options | {f"{tls_options.PREFIX}insecure-skip-verification"}
    assert {*OURS.findall((ROOT / "docs/names.md").read_text())} == named - UNSEEN


def test_every_refusal_of_a_policy_and_every_failed_handshake_is_explained() -> None:
    page = (ROOT / "docs/refusals.md").read_text()
    assert [each for each in (*WHY.values(), OTHERWISE) if f"| {each} |" not in page] == []
    told = {reason for path in (ROOT / "tests/cases").glob("*/*.expect.yaml") for reason in reasons(path)}
    assert {"Conflicted", "Invalid", "NoValidCACertificate"} <= told
    assert [each for each in sorted(told) if f"| `{each}` |" not in page] == []


def reasons(case: Path) -> Iterator[str]:
    """Return why policies are refused in a case."""
    statuses = yaml.safe_load(case.read_text()).get("statuses") or {}
    for about, conditions in statuses.items():
        if about.startswith("BackendTLSPolicy "):
            yield from (each.split()[2] for each in conditions if each.split()[1] == "False")


def test_what_is_said_of_us_beside_others_is_in_our_own_report() -> None:
    page = (ROOT / "docs/comparison.md").read_text()
    report = yaml.safe_load((ROOT / "e2e/conformance/reports/experimental-full.yaml").read_text())
    [http] = [each for each in report["profiles"] if each["name"] == "GATEWAY-HTTP"]
    core = http["core"]["statistics"]
    assert f"| Core tests of HTTP: passed, skipped | {core['Passed']}, {core['Skipped']} |" in page
    assert f"| Suite of Gateway API | {report['gatewayAPIVersion'].removeprefix('v')} |" in page
    claimed = {name for each in report["profiles"] for name in each["extended"]["supportedFeatures"]}
    assert claimed >= {
        "BackendTLSPolicy",
        "BackendTLSPolicySANValidation",
        "GatewayBackendClientCertificate",
        "GatewayFrontendClientCertificateValidation",
        "HTTPRouteCORS",
        "HTTPRouteRetryCodes",
        "ListenerSet",
        "TLSRouteModeTerminate",
    }
