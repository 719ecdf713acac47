"""`legation check` of a real cluster: what is installed lacks nothing, and what is taken away is named."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from deploy.permissions import CHART
from e2e.helm import helm
from e2e.kubectl import eventually, kubectl, read

HOME = "legation-system"
RELEASE = ("legation", "--namespace", HOME)
ROLE = f"legation.{HOME}"
LACKING = ("crd-missing", "crd-old", "permission-lacking", "not-asked", "replicas-not-ready")
OURS = "gatewayparameters.legation.dev"


@pytest.fixture
def installed(inside: None) -> Iterator[None]:  # noqa: ARG001  a fixture cannot be marked to use another
    """Legation is installed as its chart does it, and nothing of it is left afterwards."""
    helm("install", *RELEASE, str(CHART), "--create-namespace", "--wait")
    yield
    helm("uninstall", *RELEASE, "--wait")
    kubectl("delete", "crd", "--ignore-not-found", OURS)


def lacking() -> set[tuple[str, str]]:
    """Ask what the cluster lacks."""
    command = [sys.executable, "-m", "legation", "check", "--namespace", HOME, "-o", "json"]
    asked = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  as written above
    assert asked.returncode in {0, 1}, asked.stderr
    found: list[dict[str, Any]] = json.loads(asked.stdout)
    return {(each["check"], each["field"] or each["object"]) for each in found if each["check"] in LACKING}


@pytest.mark.usefixtures("installed")
def test_what_the_chart_installs_lacks_nothing_and_what_is_taken_away_is_named() -> None:
    eventually(lambda: lacking() == set())
    rules = read("clusterrole", ROLE)["rules"]
    fewer = [rule for rule in rules if "customresourcedefinitions" not in rule["resources"]]
    assert len(fewer) < len(rules)
    kubectl("patch", "clusterrole", ROLE, "--type=merge", "--patch", json.dumps({"rules": fewer}))
    wanted = {("permission-lacking", "customresourcedefinitions.apiextensions.k8s.io")}
    eventually(lambda: lacking() == wanted)
    kubectl("delete", "crd", OURS)
    eventually(lambda: ("crd-missing", f"CustomResourceDefinition {OURS}") in lacking())
