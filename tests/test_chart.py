"""The chart is what it says: its roles are the control plane's own table, and every value is described."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from deploy.permissions import CHART, FILE, text
from legation.cli.main import app
from legation.permissions import of_cluster, of_namespaces, of_own_namespace

ROOT = Path(__file__).parents[1]
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
LARGEST = 1 << 20  # of the Secret in which Helm keeps a release

pytestmark = pytest.mark.tree


def differences(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> list[str]:
    """Name the values that have no description, and what is described and no value."""
    described = {name: each for name, each in schema["properties"].items() if name != "global"}
    found = [f"{path}{name}" for name in values.keys() ^ described.keys()]
    for name in values.keys() & described.keys():
        if not described[name].get("description"):
            found.append(f"{path}{name} says nothing")
        if "properties" in described[name]:
            found += differences(values[name], described[name], f"{path}{name}.")
    return found


def test_the_charts_roles_allow_what_the_control_plane_says_it_does() -> None:
    assert FILE.read_text() == text(), "run `make chart`"


def test_the_roles_that_kubectl_alone_applies_are_the_charts() -> None:
    """Whether all the rest of it is what the chart makes is asked where Helm is: in e2e."""
    made = yaml.safe_load_all((ROOT / "deploy" / "legation.yaml").read_text())
    roles = {each["kind"]: each["rules"] for each in made if "rules" in each}
    everywhere = (*of_cluster(), *of_namespaces(managed=True))
    assert roles == {
        "ClusterRole": [each.rule() for each in everywhere],
        "Role": [each.rule() for each in of_own_namespace(managed=True)],
    }, "run `make manifests`"


def test_every_value_of_the_chart_is_described_and_no_other_is_taken() -> None:
    assert differences(VALUES, SCHEMA) == []
    assert SCHEMA["additionalProperties"] is False


def test_every_value_of_the_chart_has_the_type_that_is_described() -> None:
    types = {"array": list, "boolean": bool, "integer": int, "object": dict, "string": str}
    for name, value in VALUES.items():
        assert isinstance(value, types[SCHEMA["properties"][name]["type"]]), name


def test_every_flag_of_run_has_a_value_but_those_that_a_pod_answers_itself() -> None:
    flags = {flag.envvar for flag in get_command(app).commands["run"].params if flag.envvar}  # type: ignore[attr-defined]  # of a group
    template = (CHART / "templates" / "_environment.tpl").read_text()
    given = set(re.findall(r"name: (LEGATION_\w+)", template))
    assert flags - given == {"LEGATION_KUBECONFIG", "LEGATION_NAMESPACE"}
    assert given <= flags


def test_a_name_that_somebody_chooses_is_text_even_where_yaml_would_read_something_else() -> None:
    """Such as the namespaces `no` and `2024`: an API server takes neither a number nor a truth for a name."""
    chosen = re.compile(r"(?:\w*[nN]ame|namespace|clusterIP|instance): {{ (.*?) }}")
    found = {
        (path.name, value)
        for path in (CHART / "templates").iterdir()
        for value in chosen.findall(path.read_text())
        if not value.startswith(('include "legation.', ".Chart.")) or "account" in value
    }
    assert ("namespaces.yaml", "$namespace | quote") in found
    assert [each for each in sorted(found) if not each[1].endswith("| quote")] == []


def test_the_chart_has_the_version_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert [chart["version"], chart["appVersion"]] == [project["version"]] * 2


def test_the_chart_brings_no_kinds_of_gateway_api_and_stays_small() -> None:
    groups = {yaml.safe_load(path.read_text())["spec"]["group"] for path in (CHART / "crds").iterdir()}
    assert groups == {"legation.dev"}
    assert sum(path.stat().st_size for path in CHART.rglob("*") if path.is_file()) < LARGEST / 4
