"""Legation between its sources and its xDS port, told and asked as the programs of its peers are.

It does all that the work thread of `legation` does with a batch: resources, statuses, the audit of what
backends prove, and the wire form of what is new.
"""

import base64
import resource
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from legation.change import Put
from legation.collection import undisturbed
from legation.pump import the_time
from legation.workbench import Change, Outcome, Workbench
from translator.objects.kinds import find_kind, name_of
from xds_server.snapshot import Snapshot, changed


class Line(Struct):
    """What is told or asked."""

    do: Literal["begin", "put", "delete", "translate", "dump"]
    object: msgspec.Raw = msgspec.Raw()
    to: str = ""


class Heading(Struct, rename="camel"):
    """What says how to read an object."""

    api_version: str
    kind: str


class Took(Struct):
    """What a translation took, in seconds."""

    processor: float
    wall: float


class Dumped(Struct):
    """How much is served."""

    resources: int
    bytes: int


class Peer:
    """A control plane without its connections."""

    def __init__(self) -> None:
        """Begin with nothing but the time, which comes with the first batch, as after a start."""
        self._workbench = Workbench()
        self._last = Outcome({}, {}, {}, 0.0)
        self._batch: list[Change] = [the_time()]

    def put(self, written: msgspec.Raw, *, gone: bool = False) -> None:
        """Keep an object, or that there is none any more, until the next translation."""
        heading = msgspec.json.decode(written, type=Heading)
        info = find_kind(heading.api_version, heading.kind)
        assert info is not None, heading
        thing = msgspec.json.decode(written, type=info.type)
        self._batch.append(Put(info.type, name_of(thing), None if gone else thing))

    def translate(self) -> Took:
        """Make bytes of what differs."""
        used, began = _processor(), time.monotonic()
        with undisturbed():
            before, self._last = self._last, self._workbench.work(self._batch)
            for group, snapshot in self._last.snapshots.items():
                _frame(before.snapshots.get(group), snapshot)
        assert not self._last.broken, self._last.broken
        took = Took(_processor() - used, time.monotonic() - began)
        self._batch = []
        return took

    def dump(self, to: Path) -> Dumped:
        """Write all that is served."""
        found = Dumped(0, 0)
        with to.open("w") as file:
            for group, snapshot in self._last.snapshots.items():
                for type_url, named in snapshot.entries.items():
                    for name, entry in named.items():
                        body = entry.resource.body
                        found = Dumped(found.resources + 1, found.bytes + len(body))
                        file.write(f"{group}\t{type_url}\t{name}\t{base64.b64encode(body).decode()}\n")
        return found


def _frame(before: Snapshot | None, after: Snapshot) -> None:
    """Make the wire form of what is new, as for the first Envoy that is sent it."""
    for type_url, names in changed(before, after).items():
        for name in names:
            if (entry := after.find(type_url, name)) is not None:
                assert entry.delta_frame


def _processor() -> float:
    """Return what all threads used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Answer on the standard output what is asked on the standard input, until that ends."""
    peer, read = Peer(), msgspec.json.Decoder(Line)
    for line in sys.stdin.buffer:
        asked = read.decode(line)
        match asked.do:
            case "begin":
                peer = Peer()
            case "put":
                peer.put(asked.object)
            case "delete":
                peer.put(asked.object, gone=True)
            case "translate":
                _answer(peer.translate())
            case "dump":
                _answer(peer.dump(Path(asked.to)))


def _answer(answer: Struct) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
