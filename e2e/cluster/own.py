"""A cluster of our own on this machine: brought up, looked at, taken down."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from e2e.cluster import identity, network, processes, tools
from e2e.cluster.build import Programs
from e2e.cluster.control_plane import Daemon, configure, daemons
from e2e.cluster.kubelet import images
from e2e.cluster.kubelet.api import Access
from e2e.cluster.kubelet.containment import entering
from e2e.cluster.kubelet.host import Settings
from e2e.cluster.place import NAME, PROJECT, Place
from e2e.cluster.preparation import prepare
from e2e.cluster.processes import Recorded
from legation.proxies.binary import envoy_path

READY_WITHIN = 120.0  # seconds, for each process
END_WITHIN = 20.0
PROBE_PERIOD = "LEGATION_E2E_PROBE_PERIOD"  # the longest time between two probes: to be quick, not to measure
TABLE = Path(__file__).with_name("images.yaml")
IMAGES = "LEGATION_E2E_IMAGES"  # the path of a table with more images
INSIDE = "LEGATION_E2E_INSIDE"  # set for what runs in our own cluster
NO_PROXY = MappingProxyType(
    {"NO_PROXY": "*", "no_proxy": "*"}
)  # the machine may have one; nothing leads there
SHOW_NAMES = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'


class Own(NamedTuple):
    """A cluster that consists of processes."""

    place: Place

    def up(self) -> None:
        """Bring it up, if it is not."""
        tools.check()
        if self._complete.exists() and all(self.status().values()):
            return
        self.down()
        programs = Programs(self.place.programs)
        planned = daemons(self.place, programs)
        self._prepare(programs)
        began = monotonic()
        network.make(self.place.name, tools.with_nft(self.place.cache))
        try:
            for number, daemon in enumerate(planned):
                self._start(number, daemon)
            prepare(self.command(["kubectl"]), self.variables(), programs.crds)
        except BaseException:
            self.down()
            raise
        self._complete.touch()
        sys.stderr.write(f"the cluster is up after {monotonic() - began:.0f} s; logs: {self.place.logs}\n")

    def alone(self) -> "Own":
        """Give one that no other process uses, and clear up after those that could not."""
        for place in self.place.abandoned():
            Own(place).down()
            Own(place).forget()
        return Own(self.place.of_process(os.getpid()))

    def down(self) -> None:
        """End every process and remove every namespace; what was logged stays until the next `up`."""
        for path in sorted(self.place.processes.glob("*"), reverse=True):
            if recorded := Recorded.load(path):
                recorded.end(END_WITHIN)
        network.remove(self.place.name)
        for path in self.place.state.glob("*"):
            if path.is_dir() and path != self.place.logs:
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove what is left of it on disk."""
        shutil.rmtree(self.place.state, ignore_errors=True)

    def restart(self, name: str) -> None:
        """End one process of the control plane, whatever it is about, and start it again."""
        self.kill(name)
        self.start(name)

    def kill(self, name: str) -> None:
        """End one process of the control plane, whatever it is about."""
        self.process(name).end(within=0)  # an API server would wait long for those who watch

    def start(self, name: str) -> None:
        """Start one process again that was ended."""
        self._start(*self._daemon(name))

    def process(self, name: str) -> Recorded:
        """Say which process was started last under this name."""
        recorded = Recorded.load(self._recorded(*self._daemon(name)))
        if recorded is None:
            message = f"no {name} was started"
            raise tools.UnreadyError(message)
        return recorded

    def status(self) -> dict[str, bool]:
        """Say which of the processes that were started still run."""
        recorded = {path.name: Recorded.load(path) for path in sorted(self.place.processes.glob("*"))}
        return {name: bool(process and process.runs) for name, process in recorded.items()}

    def command(self, arguments: Sequence[str]) -> list[str]:
        """Give a command that runs inside the cluster: pods, Services and their names are there, no more."""
        apart = ("unshare", "--mount", "sh", "-c", SHOW_NAMES, str(self.place.resolv_conf))
        return [*network.inside(self.place.name), *apart, *arguments]

    def variables(self) -> Mapping[str, str]:
        """Give the environment of such a command."""
        path = Programs(self.place.programs).on_path()
        chosen = {"KUBECONFIG": str(self.place.kubeconfig), "PATH": path, NAME: self.place.name}
        return {**os.environ, **NO_PROXY, **chosen, INSIDE: "1"}

    def entering(self, pod: str, container: str, arguments: Sequence[str]) -> list[str]:
        """Give a command that runs inside a container, as root: `pod` is its namespace and name."""
        return [*entering(self.container(pod, container).pid), *arguments]

    def container(self, pod: str, container: str = "") -> Recorded:
        """Give the process of a container that runs, by default that of the pod's first."""
        namespace, _, name = pod.partition("/")
        asked = "jsonpath={.metadata.uid} {.spec.containers[0].name}"
        kubectl = self.command(["kubectl", "--namespace", namespace, "get", "pod", name, "--output", asked])
        found = subprocess.run(kubectl, env=self.variables(), text=True, capture_output=True, check=False)  # noqa: S603  as written above
        if found.returncode:
            raise tools.UnreadyError(found.stderr)
        uid, first = found.stdout.split()
        recorded = Recorded.load(self.place.pods / uid / (container or first) / "pid")
        if not recorded or not recorded.runs:
            message = f"{pod} has no container {container or first} that runs"
            raise tools.UnreadyError(message)
        return recorded

    @property
    def _complete(self) -> Path:
        """A file that is there when all of `up` was done."""
        return self.place.state / "complete"

    def _prepare(self, programs: Programs) -> None:
        """Write everything anew."""
        self.forget()
        for folder in (self.place.logs / "pods", self.place.pods, self.place.processes):
            folder.mkdir(parents=True)
        identity.make(self.place.keys)
        configure(self.place)
        settings = self.place.state / "kubelet.json"
        settings.touch(mode=0o600)
        settings.write_bytes(msgspec.json.encode(self._kubelet(programs)))

    def _kubelet(self, programs: Programs) -> Settings:
        keys = self.place.keys
        places = {
            "project": str(PROJECT),
            "python": sys.base_prefix,
            "echo": str(programs.path("echo-basic")),
            "envoy": str(envoy_path()),
        }
        return Settings(
            access=Access(network.API_SERVER, identity.token(keys, "admin"), str(keys / "ca.crt")),
            namespace=self.place.name,
            pods=str(self.place.pods),
            logs=str(self.place.logs / "pods"),
            certificate=str(keys / "server.crt"),
            key=str(keys / "server.key"),
            images=images.read(_table(), places),
            longest_probe_period=float(os.environ.get(PROBE_PERIOD, "86400")),
        )

    def _daemon(self, name: str) -> tuple[int, Daemon]:
        for number, daemon in enumerate(daemons(self.place, Programs(self.place.programs))):
            if daemon.name == name:
                return number, daemon
        message = f"no process of a control plane is called {name}"
        raise tools.UnreadyError(message)

    def _start(self, number: int, daemon: Daemon) -> None:
        """Start one process and wait until it is ready."""
        log = self.place.logs / f"{daemon.name}.log"
        command = [*network.inside(self.place.name), *daemon.command]
        environment = {**tools.with_nft(self.place.cache), **NO_PROXY}
        process = processes.start(command, log, environment, PROJECT)
        process.save(self._recorded(number, daemon))
        processes.wait_for(f"{daemon.name} (see {log})", self._is_ready(daemon), process, READY_WITHIN)

    def _recorded(self, number: int, daemon: Daemon) -> Path:
        return self.place.processes / f"{number}-{daemon.name}"

    def _is_ready(self, daemon: Daemon) -> Callable[[], bool]:
        command = [*network.inside(self.place.name), *daemon.ready]
        environment = {**os.environ, **NO_PROXY}

        def ready() -> bool:
            done = subprocess.run(command, env=environment, capture_output=True, check=False)  # noqa: S603  as written above
            return not done.returncode

        return ready


def _table() -> str:
    more = os.environ.get(IMAGES)
    return TABLE.read_text() + (Path(more).read_text() if more else "")
