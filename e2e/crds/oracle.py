"""Asks what an API server with the published CRDs would say: its own code, built from the Go module proxy."""

import json
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

_HERE = Path(__file__).parent
_GATEWAY_API = "sigs.k8s.io/gateway-api@v1.7.0"


class Refusal(NamedTuple):
    """One thing that the API server has against an object."""

    field: str
    type: str
    detail: str


class Oracle(NamedTuple):
    """The program that judges, and the unpacked release of Gateway API it judges by."""

    program: Path
    release: Path

    def crds(self, channel: str) -> Path:
        """Return where the CRDs of a channel are."""
        return self.release / "config" / "crd" / channel

    def judge(self, objects: Iterable[dict[str, Any]], channel: str = "experimental") -> list[list[Refusal]]:
        """Give the refusals of each object by the CRDs of a channel, none for one that is accepted."""
        lines = "".join(f"{json.dumps(thing)}\n" for thing in objects)
        command = [self.program, self.crds(channel)]
        answers = subprocess.run(  # noqa: S603  the program was built just before, and gets no shell
            command, input=lines, text=True, capture_output=True, check=False, timeout=600
        )
        assert answers.returncode == 0, answers.stderr
        return [[Refusal(**refusal) for refusal in json.loads(line)] for line in answers.stdout.splitlines()]


def build(folder: Path) -> Oracle:
    """Fetch the release and build the program that judges by its CRDs."""
    built = _go("build", "-o", str(folder / "oracle"), ".")
    assert built.returncode == 0, built.stderr
    # An older Go refuses to unpack the module, but fetches it all the same.
    fetched = json.loads(_go("mod", "download", "-json", _GATEWAY_API).stdout)
    with zipfile.ZipFile(fetched["Zip"]) as release:
        release.extractall(folder)
    return Oracle(folder / "oracle", folder / _GATEWAY_API)


def _go(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["go", *arguments]
    return subprocess.run(  # noqa: S603  the arguments are written above
        command, cwd=_HERE / "oracle", text=True, capture_output=True, check=False, timeout=600
    )
