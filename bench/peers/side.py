"""One control plane as a process of its own, with which one holds a conversation of lines."""

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from bench.peers.changes import Kind, Told
from bench.peers.shop import Manifest, Size


class Took(Struct, frozen=True):
    """What a translation took, in seconds."""

    processor: float
    wall: float


class Peer(NamedTuple):
    """Whom to measure."""

    name: str
    controller: str  # as a GatewayClass names it
    command: tuple[str, ...]
    most_gateways: int = 1_000_000  # that one process serves
    sends_sni: bool = True  # where a BackendTLSPolicy names one

    def can(self, kind: Kind, size: Size) -> bool:
        """Say whether one process can be told this."""
        return size.gateways + kind.more_gateways <= self.most_gateways


class Memory(NamedTuple):
    """Bytes that are resident."""

    now: int
    peak: int


class Side(NamedTuple):
    """A running process."""

    process: subprocess.Popen[bytes]

    def put(self, manifests: Iterable[Manifest]) -> None:
        """Tell objects; nothing is made of them yet."""
        for manifest in manifests:
            self._say({"do": "put", "object": manifest})

    def tell(self, news: Told) -> None:
        """Tell what is new and what is gone."""
        self.put(news.put)
        for manifest in news.delete:
            self._say({"do": "delete", "object": manifest})

    def translate(self) -> Took:
        """Have bytes made of what was told."""
        return msgspec.json.decode(self._ask({"do": "translate"}), type=Took)

    def begin(self) -> None:
        """Have it forget every object, as after a start, but for what a process makes once."""
        self._say({"do": "begin"})

    def dump(self, to: Path) -> None:
        """Have all resources written to a file."""
        self._ask({"do": "dump", "to": str(to)})

    def memory(self) -> Memory:
        """Look how large it is."""
        lines = Path("/proc", str(self.process.pid), "status").read_text().splitlines()
        read = dict(line.split(":", 1) for line in lines)
        now, peak = (int(read[field].split()[0]) * 1024 for field in ("VmRSS", "VmHWM"))
        return Memory(now, peak)

    def _ask(self, line: Manifest) -> bytes:
        self._say(line)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{self.process.args!r} ended"
        return answer

    def _say(self, line: Manifest) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(line) + b"\n")


@contextmanager
def running(peer: Peer) -> Iterator[Side]:
    """Run a control plane until the block ends."""
    with subprocess.Popen(  # noqa: S603  a program of ours
        peer.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Side(process)
        finally:
            process.kill()
