"""A whole shop and one change of each kind, side by side; only what one is of another is printed.

`ROUTES=100,1000` and `GATEWAYS=1,50` name other sizes, `ROUNDS=5` how often all take turns.
"""

import os
from collections.abc import Mapping, Sequence

from bench.peers.measure import Run, run, typical
from bench.peers.programs import contour, envoy_gateway, need_go, ourselves
from bench.peers.same import WHOLE, Sent, compared
from bench.peers.shop import CHANGES, Size
from bench.peers.side import Peer

ROUTES = tuple(int(each) for each in os.environ.get("ROUTES", "100,1000,5000").split(","))
GATEWAYS = tuple(int(each) for each in os.environ.get("GATEWAYS", "1,50").split(","))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
FEW = 0.1  # a ratio below is written as a fraction


def measure(size: Size, known: Sequence[Peer]) -> None:
    """Print one size; the peers take turns."""
    peers = [peer for peer in known if size.gateways <= peer.most_gateways]
    sent = compared(peers, size)
    runs: dict[str, list[Run]] = {peer.name: [] for peer in peers}
    for _ in range(ROUNDS):
        for peer in peers:
            runs[peer.name].append(run(peer, size))
    report(size, {name: typical(each) for name, each in runs.items()}, sent)


def report(size: Size, runs: Mapping[str, Run], sent: Mapping[str, Mapping[str, Sent]]) -> None:
    """Print what we need of what each peer needs, and what each one sends of what we send."""
    own, *others = runs
    print(f"\n{size}: what {own} needs of what they need, by processor and by the clock")
    for name in others:
        print(f"  {name}")
        _print_needs(runs[own], runs[name])
    for change in (WHOLE, *CHANGES):
        print(f"  sent for {change}:")
        for name, found in sent.items():
            made = ", ".join(f"{count} {kind}" for kind, count in sorted(found[change].resources.items()))
            print(f"    {name:15} {_ratio(found[change].bytes, sent[own][change].bytes):>8} bytes; {made}")


def _print_needs(ours: Run, theirs: Run) -> None:
    ours_by_change = {WHOLE: ours.build, **ours.changes}
    for change, they in {WHOLE: theirs.build, **theirs.changes}.items():
        we = ours_by_change[change]
        print(f"    {change:32} {_ratio(we.processor, they.processor):>8} {_ratio(we.wall, they.wall):>8}")
    now = _ratio(ours.memory.now, theirs.memory.now)
    print(f"    {'memory':32} {now:>8} {_ratio(ours.memory.peak, theirs.memory.peak):>8} at its highest")


def _ratio(one: float, other: float) -> str:
    ratio = one / other
    return f"1/{1 / ratio:.0f}" if ratio < FEW else f"{ratio:.2f}"


def main() -> None:
    """Print all sizes."""
    need_go()
    known = [ourselves(), envoy_gateway(), contour()]
    for gateways in GATEWAYS:
        for routes in ROUTES:
            measure(Size(routes, gateways), known)


if __name__ == "__main__":
    main()
