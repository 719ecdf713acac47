"""Measures changes and route tables anew, prints what it found, and draws it.

Beside peers nothing is measured: what `make bench ON=peers` kept is drawn, if there is any.
"""

import asyncio
from collections.abc import Mapping, Sequence

from bench import changes, tables
from bench.changes import Built
from bench.plots import peers
from bench.plots.chart import FOLDER, Chart, Line
from bench.tables import Found, Shape

DRAWN = ("one endpoint", "one policy", "one route", "a route more")


def growth(shapes: Sequence[Sequence[Built]]) -> Chart:
    """Draw how a full build grows."""
    routes = [(each.routes, each.routes) for each in shapes[0]]
    lines = [Line("in proportion", _beside(routes), is_dashed=True)]
    for sizes in shapes:
        place = _gateways(sizes[0].gateways)
        lines.append(Line(f"time, {place}", _beside([(each.routes, each.seconds) for each in sizes])))
        lines.append(Line(f"memory, {place}", _beside([(each.routes, each.memory) for each in sizes])))
    return Chart("A full build", "routes", "times as much as the smallest takes", lines)


def costs(sizes: Sequence[Built]) -> Chart:
    """Draw what changes cost beside a full build."""
    lines = [Line("full build", [(each.routes, each.seconds / sizes[0].seconds) for each in sizes])]
    for title in DRAWN:
        points = [(each.routes, each.changes[title].seconds / sizes[0].seconds) for each in sizes]
        lines.append(Line(title, points))
    title = f"One change beside a full build, {_gateways(sizes[0].gateways)}"
    return Chart(title, "routes", "times a full build of the smallest", lines)


def answers(found: Mapping[Shape, Found]) -> Chart:
    """Draw how long Envoy takes to answer."""
    base, lines = next(iter(found.values())).cost, list[Line]()
    for count in (1, tables.LISTENERS):
        costs = [(shape.routes, each.cost) for shape, each in found.items() if shape.listeners == count]
        name = str(Shape(1, count))
        lines.append(Line(name, [(routes, each.seconds / base.seconds) for routes, each in costs]))
    return Chart("Envoy's answer to one changed route", "routes", "times as long as at first", lines)


def _beside(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(size, value / points[0][1]) for size, value in points]


def _gateways(count: int) -> str:
    return f"{count} Gateways" if count > 1 else "one Gateway"


def main() -> None:
    """Measure once, and write every picture of that."""
    shapes = changes.everything()
    found = asyncio.run(tables.answered())
    tables.report(found)
    FOLDER.mkdir(exist_ok=True)
    pictures = {"growth": growth(shapes), "changes": costs(shapes[0]), "answers": answers(found)}
    for name, chart in pictures.items():
        (FOLDER / f"{name}.svg").write_text(chart.svg())
    peers.draw()


if __name__ == "__main__":
    main()
