"""The programs of a cluster, built from the Go module proxy and kept under what they were built from.

Versions stand in the go.mod files below `programs` and `../conformance`, and go.sum has the checksum of every
module.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple

from e2e.cluster.place import PROJECT
from e2e.cluster.tools import UnreadyError

SOURCES = PROJECT / "e2e" / "cluster" / "programs"
CONFORMANCE = PROJECT / "e2e" / "conformance"
GATEWAY_API = "sigs.k8s.io/gateway-api"
KUBERNETES = "k8s.io/kubernetes"
ECHO = "sigs.k8s.io/gateway-api-conformance-images/echo-basic"
SUITE = "conformance.test"
CHANNEL = "CHANNEL"  # the variable that chooses the CRDs
CHANNELS = ("experimental", "standard")  # the first has every kind and field
SMALLER = "remove_all_sd"  # Prometheus without what asks clouds for targets; nobody else knows it
# Some modules ask for a newer Go than the machine has, which then comes as a module itself.
TOOLCHAIN = MappingProxyType({"GOTOOLCHAIN": "auto"})


class Module(NamedTuple):
    """A Go module of ours, and the packages of which it makes programs."""

    folder: Path
    packages: Mapping[str, str]
    beside: Sequence[Path] = ()  # modules of ours that it is made of, too


ETCD = Module(SOURCES / "etcd", {"etcd": "."})
COREDNS = Module(SOURCES / "coredns", {"coredns": "."})
KUBE = Module(
    SOURCES / "kubernetes",
    {
        program: f"{KUBERNETES}/cmd/{program}"
        for program in ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kubectl")
    },
)
HELM = Module(SOURCES / "helm", {"helm": "helm.sh/helm/v3/cmd/helm"})
PROMETHEUS = Module(SOURCES / "prometheus", {"promtool": "github.com/prometheus/prometheus/cmd/promtool"})
GATEWAY = Module(CONFORMANCE, {"echo-basic": ECHO, SUITE: "."})
MODULES = (ETCD, KUBE, COREDNS, HELM, PROMETHEUS, GATEWAY)


class Programs(NamedTuple):
    """What is built, each when somebody first asks for it."""

    cache: Path
    modules: Sequence[Module] = MODULES

    def path(self, program: str) -> Path:
        """Give the path of a program that is there."""
        [module] = [module for module in self.modules if program in module.packages]
        path = _kept(self.cache, module.folder, *module.beside) / program
        if not path.exists():
            with _making(path) as made:
                _compile(module.folder, module.packages[program], made)
        return path

    def make(self) -> None:
        """Build all that is not there."""
        for module in self.modules:
            for program in module.packages:
                self.path(program)

    @property
    def crds(self) -> Path:
        """A folder with the CRDs of Gateway API, of the channel that the environment asks for."""
        crds = _kept(self.cache, CONFORMANCE) / f"crds-{channel()}"
        if not crds.exists():
            with _making(crds) as made:
                made.mkdir()
                for path in Path(fetched(GATEWAY_API), "config", "crd", channel()).glob("gateway*.yaml"):
                    shutil.copyfile(path, made / path.name)
        return crds

    def on_path(self) -> str:
        """Give a PATH with all of them first."""
        folders = [str(_kept(self.cache, module.folder, *module.beside)) for module in self.modules]
        return os.pathsep.join((*folders, os.environ["PATH"]))


def fetched(module: str, folder: Path = CONFORMANCE) -> Path:
    """Give the folder of a module that something is built from, by default the conformance suite."""
    _go(folder, "mod", "download", module)
    return Path(_go(folder, "list", "-m", "-f", "{{.Dir}}", module))


def channel() -> str:
    """Say of which channel CRDs are to be."""
    wanted = os.environ.get(CHANNEL) or CHANNELS[0]
    if wanted not in CHANNELS:
        message = f"{CHANNEL}={wanted} is not known: it may be {' or '.join(CHANNELS)}"
        raise UnreadyError(message)
    return wanted


def _kept(cache: Path, folder: Path, *beside: Path) -> Path:
    """Name a folder by what its programs are built from, so that another version never meets it."""
    digest = hashlib.sha256()
    for path in (path for each in (folder, *beside) for path in sorted(each.iterdir())):
        if path.name in {"go.mod", "go.sum"} or path.suffix == ".go":
            digest.update(path.read_bytes())
    return cache / f"{folder.name}-{digest.hexdigest()[:12]}"


@contextmanager
def _making(path: Path) -> Iterator[Path]:
    """Give a path to make something at; it gets its name when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    began = monotonic()
    sys.stderr.write(f"building {path.name} ... ")
    sys.stderr.flush()
    yield made
    made.rename(path)
    sys.stderr.write(f"{monotonic() - began:.0f} s\n")


def _compile(folder: Path, package: str, made: Path) -> None:
    link = " ".join(("-s", "-w", *_stamps(folder, package)))
    options = ["-buildvcs=false", "-trimpath", "-tags", SMALLER, "-ldflags", link]
    how = ["test", "-c"] if made.name.startswith(f".{SUITE}") else ["build"]
    _go(folder, *how, *options, "-o", str(made), package)


def _stamps(folder: Path, package: str) -> list[str]:
    """Kubernetes learns its version from the linker."""
    if not package.startswith(KUBERNETES):
        return []
    version = _go(folder, "list", "-m", "-f", "{{.Version}}", KUBERNETES)
    major, minor, _ = version.removeprefix("v").split(".")
    variables = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    return [f"-X k8s.io/component-base/version.{name}={value}" for name, value in variables.items()]


def _go(folder: Path, *arguments: str) -> str:
    command = ["go", *arguments]
    done = subprocess.run(  # noqa: S603  the arguments are written above
        command, cwd=folder, env={**os.environ, **TOOLCHAIN}, text=True, capture_output=True, check=False
    )
    if done.returncode:
        message = f"{' '.join(command)} in {folder}:\n{done.stderr}"
        raise RuntimeError(message)
    return done.stdout.strip()
