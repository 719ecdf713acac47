"""Every manifest that Gateway API publishes, in its examples and in its suite, leads to what Envoy takes."""

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from typer.testing import CliRunner

from e2e.cluster.build import GATEWAY_API, fetched
from legation.checks.table import OURS
from legation.cli.main import app
from legation.rendering import SECTIONS
from tests.envoy_validate import Resources, validate
from tests.together import together
from translator.envoy.plain import MESSAGES, REDACTED
from translator.rules.gateways import CONTROLLER

SUITE = f"{GATEWAY_API}/conformance"
PLACEHOLDERS = {"{GATEWAY_CLASS_NAME}": "legation", "{GATEWAY_CONTROLLER_NAME}": CONTROLLER}
TOLD = (0, 1)  # translated; translated, but for what could not be read, which is said
AT_ONCE = 100  # Gateways that one Envoy judges
CLASS = f"""
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: legation}}
spec: {{controllerName: {CONTROLLER}}}
"""


@pytest.fixture(scope="module")
def published() -> dict[str, str]:
    """Return all of them by where they are, those of the suite as it would apply them."""
    api, suite = fetched(GATEWAY_API), fetched(SUITE)
    paths = [*api.joinpath("examples").rglob("*.yaml"), *suite.joinpath("tests").rglob("*.yaml")]
    base = (suite / "base" / "manifests.yaml").read_text()
    found = {}
    for path in sorted(paths):
        text = path.read_text() if path.is_relative_to(api) else f"{base}\n---\n{path.read_text()}"
        for placeholder, value in PLACEHOLDERS.items():
            text = text.replace(placeholder, value)
        found[f"{path.parent.name}/{path.name}"] = f"{CLASS}\n---\n{text}"
    return found


def led_to(text: str, folder: Path) -> dict[str, Resources]:
    """Have `legation translate` read a file; return what it prints for the Envoys of each Gateway."""
    (folder / "manifests.yaml").write_text(text)
    done = CliRunner().invoke(app, ["translate", "--output", "json", str(folder)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in TOLD, done.stderr
    assert OURS not in done.stderr
    assert REDACTED not in done.stdout, "none of them has a private key, which would not be printed"
    printed = json.loads(done.stdout)["gateways"]
    return {gateway: dict(map(_read, sections.items())) for gateway, sections in printed.items()}


def _read(section: tuple[str, list[dict[str, Any]]]) -> tuple[str, dict[str, bytes]]:
    """Read what was printed of one type of resource."""
    type_url, entries = SECTIONS[section[0]], section[1]
    made = {
        each.get("name") or each["cluster_name"]: ParseDict(each, MESSAGES[type_url]()) for each in entries
    }
    return type_url, {name: message.SerializeToString() for name, message in made.items()}


def test_envoy_takes_what_they_lead_to(published: dict[str, str], tmp_path: Path) -> None:
    led = {title: led_to(text, tmp_path) for title, text in published.items()}
    assert len(led) > 200
    worlds = {f"{title} {gateway}": given for title, each in led.items() for gateway, given in each.items()}
    assert len(worlds) > len(led), "most files have a Gateway, those of the suite several"
    titles = list(worlds)
    for start in range(0, len(titles), AT_ONCE):
        validate(together({title: worlds[title] for title in titles[start : start + AT_ONCE]}))
