"""Whatever a release is called, what the chart makes has names that an API server takes."""

import re
import subprocess

import pytest
import yaml

from deploy.permissions import CHART
from e2e.cluster.build import Programs
from e2e.cluster.place import here
from e2e.helm import helm

LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")  # of Services, who are the most particular (RFC 1035)
LONGEST = "a" * 53  # of releases


def service(release: str, *flags: str) -> tuple[object, object]:
    """Render the chart; return what its Service is called, and what proxies are told that it is."""
    rendered = helm("template", release, str(CHART), "--namespace", "shop", *flags)
    made = {each["kind"]: each for each in yaml.safe_load_all(rendered) if each}
    [container] = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    told = {each["name"]: each.get("value") for each in container["env"]}
    return made["Service"]["metadata"]["name"], told["LEGATION_SERVICE"]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("legation", "legation"),
        ("edge", "edge-legation"),
        ("1st", "legation-1st"),
        ("2024.edge", "legation-2024-edge"),
        ("edge.legation", "edge-legation"),
        (LONGEST, f"{LONGEST}-legation"),
        ("1" * 53, "legation-" + "1" * 53),
    ],
)
def test_a_release_is_named_as_services_may_be(release: str, expected: str) -> None:
    name, told = service(release)
    assert LABEL.fullmatch(str(name))
    assert (name, told) == (expected, expected)


@pytest.mark.parametrize("name", ["no", "on", "y", "null", "edge"])
def test_a_name_that_yaml_would_read_otherwise_is_kept(name: str) -> None:
    assert service("legation", "--set-string", f"fullnameOverride={name}") == (name, name)


@pytest.mark.parametrize("name", ["1st", "a.b", "Edge", "-a", "a-", "a" * 64])
def test_a_name_that_no_service_may_have_is_refused_with_the_value(name: str) -> None:
    command = [str(Programs(here().programs).path("helm")), "template", "legation", str(CHART)]
    flags = ["--set-string", f"fullnameOverride={name}"]
    asked = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)  # noqa: S603  as written above
    assert asked.returncode != 0
    assert "fullnameOverride" in asked.stderr
