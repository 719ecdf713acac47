"""Makes a new cluster ready for tests: it knows Gateway API, and takes pods."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def prepare(kubectl: Sequence[str], variables: Mapping[str, str], crds: Path) -> None:
    """Apply the CRDs and wait until the API server serves them, and pods can be made."""
    # Server-side, for one of them is larger than the annotation in which a client would keep it.
    apply = ("apply", "--server-side", "--force-conflicts", "--filename", str(crds))
    established = ("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    accounts = ("wait", "--for=create", "--timeout=60s", "--namespace=default", "serviceaccount/default")
    for arguments in (apply, established, accounts):
        done = subprocess.run(  # noqa: S603  as written above
            [*kubectl, *arguments], env=variables, text=True, capture_output=True, check=False
        )
        if done.returncode:
            message = f"kubectl {arguments[0]}: {done.stderr}"
            raise RuntimeError(message)
