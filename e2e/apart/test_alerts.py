"""Prometheus takes the alerts and what the dashboard asks, and alerts fire when they should: by its tool."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from e2e.cluster.build import Programs
from e2e.cluster.place import PROJECT, here

FOLDER = PROJECT / "deploy" / "prometheus"
RULES, PROOFS = "alerts.yaml", "alerts_test.yaml"
WRITTEN = yaml.safe_load((FOLDER / RULES).read_text())


def promtool(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run Prometheus's tool beside some rules; return its exit code and all that it said."""
    command = [str(Programs(here().programs).path("promtool")), *arguments]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)  # noqa: S603  as written above
    return done.returncode, done.stdout + done.stderr


def test_prometheus_takes_every_rule() -> None:
    code, said = promtool(FOLDER, "check", "rules", "--lint-fatal", RULES)
    assert code == 0, said


def test_alerts_fire_when_they_should_and_not_while_all_is_well() -> None:
    code, said = promtool(FOLDER, "test", "rules", PROOFS)
    assert code == 0, said


@pytest.mark.parametrize("number", range(len(WRITTEN["groups"][0]["rules"])))
def test_an_alert_that_never_fires_is_noticed(number: int, tmp_path: Path) -> None:
    rules = yaml.safe_load((FOLDER / RULES).read_text())
    rules["groups"][0]["rules"][number]["expr"] = "vector(0) > 0"
    (tmp_path / RULES).write_text(yaml.safe_dump(rules))
    (tmp_path / PROOFS).write_text((FOLDER / PROOFS).read_text())
    code, said = promtool(tmp_path, "test", "rules", PROOFS)
    assert code != 0, said


def test_prometheus_understands_every_query_of_the_dashboard(tmp_path: Path) -> None:
    dashboard = (PROJECT / "deploy" / "grafana" / "legation.json").read_text()
    panels = json.loads(dashboard.replace("$__rate_interval", "5m"))["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    rules = [{"record": f"query_{number}", "expr": query} for number, query in enumerate(queries)]
    assert len(rules) > 30
    (tmp_path / RULES).write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    code, said = promtool(tmp_path, "check", "rules", RULES)
    assert code == 0, said
