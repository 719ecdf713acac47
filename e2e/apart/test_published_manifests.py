"""Every manifest that Gateway API publishes, in its examples and in its suite, leads to what Envoy takes."""

from pathlib import Path

import pytest

from e2e.cluster.build import GATEWAY_API, fetched
from legation.offline import translated
from tests.envoy_validate import Resources, validate
from tests.together import together
from translator.rules.gateways import CONTROLLER

SUITE = f"{GATEWAY_API}/conformance"
PLACEHOLDERS = {"{GATEWAY_CLASS_NAME}": "legation", "{GATEWAY_CONTROLLER_NAME}": CONTROLLER}
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
    """Translate a file, and return everything that the Envoys of each Gateway would be given."""
    (folder / "manifests.yaml").write_text(text)
    outcome = translated([folder]).outcome
    assert not outcome.broken
    return {
        gateway: {
            type_url: {name: entry.resource.body for name, entry in entries.items()}
            for type_url, entries in snapshot.entries.items()
        }
        for gateway, snapshot in outcome.snapshots.items()
    }


def test_envoy_takes_what_they_lead_to(published: dict[str, str], tmp_path: Path) -> None:
    led = {title: led_to(text, tmp_path) for title, text in published.items()}
    assert len(led) > 200
    worlds = {f"{title} {gateway}": given for title, each in led.items() for gateway, given in each.items()}
    assert len(worlds) > len(led), "most files have a Gateway, those of the suite several"
    titles = list(worlds)
    for start in range(0, len(titles), AT_ONCE):
        validate(together({title: worlds[title] for title in titles[start : start + AT_ONCE]}))
