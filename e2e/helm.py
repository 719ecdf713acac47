"""Helm, as tests run it."""

import subprocess

from e2e.cluster.build import Programs
from e2e.cluster.place import here


def helm(*arguments: str) -> str:
    """Run Helm and return what it says."""
    command = [str(Programs(here().programs).path("helm")), *arguments]
    done = subprocess.run(command, text=True, capture_output=True, check=False)  # noqa: S603  no shell
    assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stderr}"
    return done.stdout
