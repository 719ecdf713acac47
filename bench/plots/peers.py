"""Draws what `make bench ON=peers` kept of how a full build compares: `python -m bench.plots.peers`.

`FROM=build/peers.json` names the file that `INTO` named there.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.peers.found import Found, kept
from bench.peers.same import WHOLE
from bench.plots.chart import FOLDER, Chart, Line

FROM = Path(os.environ.get("FROM", "build/peers.json"))
PICTURE = FOLDER / "peers.svg"


def builds(found: Sequence[Found]) -> Chart:
    """Draw how many times our full build each peer's takes."""
    routes = sorted({each.routes for each in found})
    lines = [*_lines(found), Line("Legation", [(each, 1.0) for each in routes], is_dashed=True)]
    return Chart(
        "A full build beside peers, in so many Gateways",
        "routes",
        "times the processor that Legation needs",
        lines,
    )


def _lines(found: Sequence[Found]) -> Iterator[Line]:
    """Give a line to each peer and number of Gateways."""
    for gateways in sorted({each.gateways for each in found}):
        sizes = sorted((each for each in found if each.gateways == gateways), key=lambda each: each.routes)
        for peer in dict.fromkeys(name for each in sizes for name in each.beside):
            measured = [(each.routes, each.beside[peer]) for each in sizes if peer in each.beside]
            points = [(routes, 1 / beside.needs[WHOLE].processor) for routes, beside in measured]
            yield Line(f"{peer}, in {_counted(gateways)}", points)


def _counted(gateways: int) -> str:
    return str(gateways) if gateways > 1 else "one"


def draw() -> None:
    """Write the picture, if there is something to draw."""
    if FROM.exists():
        PICTURE.write_text(builds(kept(FROM)).svg())


if __name__ == "__main__":
    if not FROM.exists():
        sys.exit(f"there is no {FROM}: `INTO={FROM} make bench ON=peers` makes it")
    draw()
