"""Peers' programs and what installs them, from their Go modules, and which images of our cluster they are."""

from pathlib import Path
from string import Template
from typing import NamedTuple

from e2e.cluster.build import Module, Programs, fetched
from e2e.cluster.place import PROJECT, here

HERE = Path(__file__).parent
TABLE = PROJECT / "build" / "images.yaml"
# As in its own image nothing else is in /bin, for nothing can be put beside what this machine has there.
ENTRY = Template("""
- match: "*/$repository:*"
  entrypoint: [/bin/$program]
  user: "65532:65532"
  files: {/bin: $folder}
""")


class Source(NamedTuple):
    """Where a program comes from; its images are called as its repository."""

    folder: Path  # of the module of ours that names its version
    repository: str
    program: str

    @property
    def module(self) -> str:
        """The Go module."""
        return f"github.com/{self.repository}"

    @property
    def image(self) -> str:
        """One of its images."""
        return f"example.com/{self.repository}:built"

    def unpacked(self) -> Path:
        """Give the folder of the module."""
        return fetched(self.module, self.folder)

    def entry(self) -> str:
        """Write what its images are; the program is built if it is not there."""
        module = Module(self.folder, {self.program: f"{self.module}/cmd/{self.program}"})
        path = Programs(here().programs, (module,)).path(self.program)
        return ENTRY.substitute(repository=self.repository, program=self.program, folder=path.parent)


ENVOY_GATEWAY = Source(HERE / "envoy_gateway", "envoyproxy/gateway", "envoy-gateway")
CONTOUR = Source(HERE / "contour", "projectcontour/contour", "contour")


def table() -> Path:
    """Write which images there are."""
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("".join(source.entry() for source in (ENVOY_GATEWAY, CONTOUR)))
    return TABLE


def chart() -> Path:
    """Give the folder of the chart that installs Envoy Gateway."""
    return ENVOY_GATEWAY.unpacked() / "charts" / "gateway-helm"


def examples() -> Path:
    """Give the folder of the manifests that install Contour."""
    return CONTOUR.unpacked() / "examples"
