"""Writes deploy/legation.yaml: what the chart makes of its defaults, for kubectl alone."""

import subprocess
from pathlib import Path

from deploy.permissions import CHART
from e2e.cluster.build import Programs
from e2e.cluster.place import here

FILE = Path(__file__).parent / "legation.yaml"
NAMESPACE = "legation-system"
PREFACE = f"""# Made by `make manifests` from the chart with its default values, not by hand.
---
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
"""
OF_HELM = ("helm.sh/chart:", "app.kubernetes.io/managed-by: Helm", "# Source:")


def text() -> str:
    """Render the chart, and leave out what is true of releases only."""
    helm = Programs(here().programs).path("helm")
    command = (helm, "template", "legation", CHART, "--namespace", NAMESPACE, "--include-crds")
    rendered = subprocess.run(command, check=True, text=True, capture_output=True).stdout  # noqa: S603  as written above
    return PREFACE + "".join(
        line for line in rendered.splitlines(keepends=True) if not line.lstrip().startswith(OF_HELM)
    )


if __name__ == "__main__":
    FILE.write_text(text())
