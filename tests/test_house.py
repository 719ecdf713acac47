"""The rules of the house that no tool of ours keeps by itself: who imports what, what a tree may hold."""

import ast
import re
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.tree

ROOT = Path(__file__).parents[1]
PACKAGES = ("legation", "k8s_watch", "translator", "xds_server")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# A dependency has one door, so that replacing it touches the door only.
DOORS = {
    "cryptography": (
        "translator/rules/certificates.py",
        "legation/channel/identity.py",
        "legation/channel/authority.py",
        "legation/fingerprints.py",
    ),
    "envoy": ("translator/envoy/", "xds_server/service.py"),
    "google": ("translator/envoy/", "xds_server/service.py"),
    "grpc": ("xds_server/service.py", "xds_server/feed.py", "xds_server/call.py"),
    "kubernetes_asyncio": ("k8s_watch/api_server.py",),
    "opentelemetry": ("legation/telemetry/otlp.py",),
}
ASKED_OF_A_CERTIFICATE = ("spec.validation", "spec.options", "tls.validation")
SAYS_NOTHING = {"common", "helpers", "models", "types", "utils"}

MACHINE_PATH = re.compile(r"(?:^|[^\w.-])/(?:work|root|home)/")
PACKAGE_SOURCE = re.compile(  # a registry's own host, an image's, or an option that names one
    r"\b(?:registry|proxy|pypi|files|index|mirror)\.(?:[a-z0-9-]+\.)?(?:org|com|io|dev)\b"
    r"|\b[a-z]+\.io/[a-z0-9-]+/[a-z0-9-]+:|(?:index-url|find-links)[ =]"
)
LEFT_FOR_LATER = re.compile(r"\b(?:TO)(?:DO)\b|\b(?:FIX)(?:ME)\b|\bXXX\b")
EXCUSE = re.compile(r"# (?:noqa|type: ignore)")
GOOD_EXCUSE = re.compile(r"# (?:noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*|type: ignore\[[a-z, -]+\])\W+\w")


def named(path: Path) -> str:
    """Return a file's name within the tree."""
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> set[str]:
    """Return the packages that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def texts() -> Iterator[tuple[str, str]]:
    """Yield each committed text file's name and content."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (content := path.read_bytes()):
            yield name, content.decode()


def lines_with(pattern: re.Pattern[str], but: tuple[str, ...] = ()) -> list[str]:
    """Return where a pattern stands in the committed text files."""
    return [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts()
        if name not in but
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def pins(group: str) -> dict[str, str]:
    """Return the versions that a lock file holds, by package."""
    text = (ROOT / f"requirements/{group}.lock").read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", text, re.MULTILINE))


def wanted(group: str) -> list[Requirement]:
    """Return what pyproject.toml asks for in a group; the wheel's own needs are called `run`."""
    listed = PROJECT["project"]["dependencies"] if group == "run" else PROJECT["dependency-groups"][group]
    return [Requirement(line) for line in listed]


GROUPS = ("run", *PROJECT["dependency-groups"])


def test_packages_import_each_other_only_as_agreed() -> None:
    tool = Path(sys.executable).with_name("lint-imports")
    checked = subprocess.run([tool], cwd=ROOT, check=False, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("dependency", DOORS)
def test_a_dependency_is_imported_at_its_door_only(dependency: str) -> None:
    through = [named(path) for path in MODULES if dependency in imports(path)]
    assert [name for name in through if not name.startswith(DOORS[dependency])] == []


def test_rules_know_nothing_of_envoy() -> None:
    knowing = {"envoy", "envoy_data_plane", "google", "xds"}
    assert [named(p) for p in (ROOT / "translator/rules").rglob("*.py") if knowing & imports(p)] == []


def test_what_is_asked_of_a_backends_certificate_is_read_from_its_fields_in_one_place() -> None:
    """So that fields of GEP-4152 are read there, too, and by everybody at once."""
    reading = {
        named(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and ast.unparse(node).endswith(ASKED_OF_A_CERTIFICATE)
    }
    of_clients, as_written = (
        "translator/rules/frontend_validation.py",
        "translator/objects/admission/x_backends.py",
    )
    assert reading == {"translator/rules/wordings.py", of_clients, as_written}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_a_package_begins_with_a_docstring_and_nothing_else() -> None:
    for path in MODULES:
        if path.name == "__init__.py":
            module = ast.parse(path.read_text())
            assert ast.get_docstring(module), named(path)
            assert len(module.body) == 1, named(path)


def test_every_folder_of_modules_is_a_package() -> None:
    assert [named(p.parent) for p in MODULES if not (p.parent / "__init__.py").exists()] == []


def test_no_module_is_named_after_nothing() -> None:
    assert [named(path) for path in MODULES if path.stem in SAYS_NOTHING] == []


def test_a_match_on_a_union_or_an_enum_names_every_case() -> None:
    """Text has always more cases than one can name; a new member of a union must not slip through."""
    for path in MODULES:
        matches = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Match)]
        closed = [node for node in matches if any(names_a_member(case.pattern) for case in node.cases)]
        loose = [node for node in closed if any(ast.unparse(case.pattern) == "_" for case in node.cases)]
        assert [f"{named(path)}:{node.lineno}" for node in loose] == []


def names_a_member(pattern: ast.pattern) -> bool:
    """Return whether a pattern is a class or an enum's member, such as `Refused()` or `Protocol.HTTP`."""
    return any(isinstance(node, ast.MatchClass | ast.Attribute) for node in ast.walk(pattern))


def test_an_exception_from_a_rule_gives_its_code_and_its_reason() -> None:
    for path in (ROOT / name for name, _ in texts() if name.endswith(".py")):
        with tokenize.open(path) as file:
            comments = [t for t in tokenize.generate_tokens(file.readline) if t.type == tokenize.COMMENT]
        poor = [c for c in comments if EXCUSE.search(c.string) and not GOOD_EXCUSE.search(c.string)]
        assert [f"{named(path)}:{c.start[0]}: {c.string}" for c in poor] == []


def test_nothing_is_left_for_later() -> None:
    assert lines_with(LEFT_FOR_LATER) == []


def test_no_path_of_anyones_machine_is_in_the_tree() -> None:
    assert lines_with(MACHINE_PATH) == []


def test_packages_are_named_and_never_where_they_come_from() -> None:
    assert lines_with(PACKAGE_SOURCE) == []


@pytest.mark.parametrize("group", GROUPS)
def test_every_dependency_is_locked_at_a_version_that_fits(group: str) -> None:
    locked = pins(group)
    for requirement in wanted(group):
        version = locked.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement} is in no lock file: make lock"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}, locked: {version}"


@pytest.mark.parametrize("group", GROUPS)
def test_every_locked_package_has_its_hashes_and_no_address(group: str) -> None:
    text = (ROOT / f"requirements/{group}.lock").read_text()
    blocks = re.split(r"^(?=[a-z0-9._-]+==)", text, flags=re.MULTILINE)[1:]
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert "://" not in text


def test_lock_files_agree_about_every_version() -> None:
    versions: dict[str, str] = {}
    for group in GROUPS:
        for name, version in pins(group).items():
            assert versions.setdefault(name, version) == version, f"{name} in {group}"


def test_the_gate_runs_the_command_that_a_newcomer_is_told() -> None:
    assert re.search(r"^(?:step )?make test$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    assert "make test" in (ROOT / "CONTRIBUTING.md").read_text()


def test_make_lists_every_command_that_there_is() -> None:
    told = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True)
    listed = re.findall(r"^  make (\S+) ", told.stdout, re.MULTILINE)
    assert listed == re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
