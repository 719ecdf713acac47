"""Makes an API server know Gateway API."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def install(kubectl: Sequence[str], variables: Mapping[str, str], crds: Path) -> None:
    """Apply the CRDs and wait until the API server serves them."""
    # Server-side, for one of them is larger than the annotation in which a client would keep it.
    apply = ("apply", "--server-side", "--force-conflicts", "--filename", str(crds))
    established = ("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
    for arguments in (apply, established):
        done = subprocess.run(  # noqa: S603  as written above
            [*kubectl, *arguments], env=variables, text=True, capture_output=True, check=False
        )
        if done.returncode:
            message = f"the CRDs of Gateway API: {done.stderr}"
            raise RuntimeError(message)
