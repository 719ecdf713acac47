"""Envoy Gateway's program and chart, from its Go module, and the image that stands for it in our cluster."""

from pathlib import Path
from string import Template

from e2e.cluster.build import Module, Programs, fetched
from e2e.cluster.place import here

HERE = Path(__file__).parent / "envoy_gateway"
PROGRAM = "envoy-gateway"
MODULE = "github.com/envoyproxy/gateway"
IMAGE = "example.com/envoyproxy/gateway:built"
TABLE = Template("""
- match: "*/envoyproxy/gateway:*"
  entrypoint: [/usr/local/bin/$program]
  user: "65532:65532"
  files: {/usr/local/bin/$program: $path}
""")


def table() -> Path:
    """Write which image it is; the program is built if it is not there."""
    module = Module(HERE, {PROGRAM: f"{MODULE}/cmd/{PROGRAM}"})
    program = Programs(here().programs, (module,)).path(PROGRAM)
    written = program.with_name("images.yaml")
    written.write_text(TABLE.substitute(program=PROGRAM, path=program))
    return written


def chart() -> Path:
    """Give the folder of the chart that installs it."""
    return fetched(MODULE, HERE) / "charts" / "gateway-helm"
