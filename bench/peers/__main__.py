"""A whole shop and one change of each kind, side by side; only what one is of another is printed.

`ROUTES=100,1000` and `GATEWAYS=1,50` name other sizes, `ROUNDS=5` how often all take turns, `TURNS=1` how
often each makes every kind of change then. With `INTO=build/peers.json` what is found is kept there, too,
beside what the file has of other sizes.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from bench.peers.found import Found, compare, keep
from bench.peers.measure import Run, run, typical
from bench.peers.programs import contour, envoy_gateway, need_go, ourselves
from bench.peers.same import compared
from bench.peers.shop import Size
from bench.peers.side import Peer

ROUTES = tuple(int(each) for each in os.environ.get("ROUTES", "100,1000,5000").split(","))
GATEWAYS = tuple(int(each) for each in os.environ.get("GATEWAYS", "1,50").split(","))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
INTO = os.environ.get("INTO")


def measure(size: Size, known: Sequence[Peer]) -> Found:
    """Measure one size; the peers take turns."""
    peers = [peer for peer in known if size.gateways <= peer.most_gateways]
    sent = compared(peers, size)
    runs: dict[str, list[Run]] = {peer.name: [] for peer in peers}
    for _ in range(ROUNDS):
        for peer in peers:
            runs[peer.name].append(run(peer, size))
    return compare(size, {name: typical(each) for name, each in runs.items()}, sent, ROUNDS)


def main() -> None:
    """Print all sizes, each as soon as it was measured."""
    need_go()
    known = [ourselves(), envoy_gateway(), contour()]
    for gateways in GATEWAYS:
        for routes in ROUTES:
            new = measure(Size(routes, gateways), known)
            new.tell()
            if INTO:
                keep(new, Path(INTO))


if __name__ == "__main__":
    main()
