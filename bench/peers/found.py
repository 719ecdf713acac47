"""What was found of one size: what we need of what each peer needs, told to a reader and kept in a file."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.peers.changes import CHANGES
from bench.peers.measure import Run
from bench.peers.same import WHOLE, Sent
from bench.peers.shop import Size

FEW = 0.1  # a ratio below is written as a fraction


class Needs(Struct, frozen=True):
    """What we need for one thing, as multiples of what a peer needs."""

    processor: float
    clock: float


class Memory(Struct, frozen=True):
    """What we keep, as multiples of what a peer keeps."""

    now: float
    peak: float


class Beside(Struct, frozen=True):
    """Legation beside one peer, for everything and for each kind of change that the peer can make."""

    needs: Mapping[str, Needs]
    memory: Memory


class Found(Struct, frozen=True):
    """All that one run found of one size."""

    routes: int
    gateways: int
    rounds: int
    beside: Mapping[str, Beside]  # by peer
    sent: Mapping[str, Mapping[str, Sent]]  # by control plane, ours first, and what was changed

    @property
    def size(self) -> Size:
        """Name the size."""
        return Size(self.routes, self.gateways)

    def tell(self) -> None:
        """Print everything."""
        own = next(iter(self.sent))
        print(f"\n{self.size}: what {own} needs of what they need, by processor and by the clock")
        for name, beside in self.beside.items():
            print(f"  {name}")
            for change in (WHOLE, *CHANGES):
                _tell_needs(change, beside.needs.get(change))
            now, peak = map(_ratio, (beside.memory.now, beside.memory.peak))
            print(f"    {'memory':36} {now:>8} {peak:>8} at its highest")
        for change, ours in self.sent[own].items():
            print(f"  sent for {change}:")
            for name, sent in self.sent.items():
                _tell_sent(name, sent.get(change), ours)


def compare(
    size: Size, runs: Mapping[str, Run], sent: Mapping[str, Mapping[str, Sent]], rounds: int
) -> Found:
    """Compare the first who ran with each of the others."""
    own, *others = runs
    beside = {name: _beside(runs[own], runs[name]) for name in others}
    return Found(size.routes, size.gateways, rounds, beside, sent)


def keep(new: Found, path: Path) -> None:
    """Add what was found to a file, in the place of what it had of this size."""
    every = {each.size: each for each in (kept(path) if path.exists() else [])} | {new.size: new}
    path.parent.mkdir(parents=True, exist_ok=True)
    written = msgspec.json.encode([every[size] for size in sorted(every)])
    path.write_bytes(msgspec.json.format(written) + b"\n")


def kept(path: Path) -> list[Found]:
    """Read what earlier runs found."""
    return msgspec.json.decode(path.read_bytes(), type=list[Found])


def _beside(ours: Run, theirs: Run) -> Beside:
    we, they = ({WHOLE: run.build, **run.changes} for run in (ours, theirs))
    needs = {
        change: Needs(we[change].processor / took.processor, we[change].wall / took.wall)
        for change, took in they.items()
    }
    now, peak = (our / their for our, their in zip(ours.memory, theirs.memory, strict=True))
    return Beside(needs, Memory(now, peak))


def _tell_needs(change: str, needs: Needs | None) -> None:
    if needs is None:
        print(f"    {change:36} cannot be done: one process serves no other Gateway")
    else:
        print(f"    {change:36} {_ratio(needs.processor):>8} {_ratio(needs.clock):>8}")


def _tell_sent(name: str, sent: Sent | None, ours: Sent) -> None:
    if sent is not None:
        removed = f"; {_counted(sent.removed)} removed" if sent.removed else ""
        print(
            f"    {name:15} {_ratio(sent.bytes / ours.bytes):>8} bytes; {_counted(sent.resources)}{removed}"
        )


def _counted(types: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(types.items()))


def _ratio(ratio: float) -> str:
    return f"1/{1 / ratio:.0f}" if 0 < ratio < FEW else f"{ratio:.2f}"
