"""Draws lines on two logarithmic axes, as SVG that is read on light and on dark pages."""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[2] / "docs" / "plots"
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 210, 50, 50  # around the drawing; names of lines stand at the right
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9")  # told apart by everybody
APART = 17  # between two names
STYLE = """\
<style>
text { font: 13px sans-serif; fill: #333; }
.title { font-size: 15px; font-weight: bold; }
.page { fill: #fff; }
.grid { stroke: #ccc; }
.line { fill: none; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd; }
  .page { fill: #1c1c1e; }
  .grid { stroke: #48484a; }
}
</style>"""

Point = tuple[float, float]


class Line(NamedTuple):
    """What is measured at several sizes."""

    name: str
    points: Sequence[Point]
    is_dashed: bool = False


class Chart(NamedTuple):
    """Some lines, and what their axes say."""

    title: str
    across: str
    up: str
    lines: Sequence[Line]

    def svg(self) -> str:
        """Draw it."""
        parts = "\n".join((*self._frame(), *self._grid(), *self._drawn()))
        size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        said = f'role="img" aria-label="{escape(self.title)}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {said}>\n{STYLE}\n{parts}\n</svg>\n'

    def _frame(self) -> Iterator[str]:
        yield f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        yield f'<text class="title" x="{LEFT}" y="26">{escape(self.title)}</text>'
        middle = (LEFT + WIDTH - RIGHT) / 2
        yield f'<text x="{middle}" y="{HEIGHT - 10}" text-anchor="middle">{escape(self.across)}</text>'
        turned = f'transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)"'
        yield f'<text {turned} text-anchor="middle">{escape(self.up)}</text>'

    def _grid(self) -> Iterator[str]:
        """Mark every power of ten, and every size that was measured."""
        low, high = self._bounds(1)
        for power in range(floor(low), ceil(high) + 1):
            _, y = self._place((self._sizes()[0], 10.0**power))
            yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>'
        for size in self._sizes():
            x, _ = self._place((size, 10.0**low))
            yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            yield f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{size:,.0f}</text>'

    def _drawn(self) -> Iterator[str]:
        """Draw each line, with its name beside its end, names one below the other where ends are close."""
        below = float(TOP - APART)
        coloured = zip(self.lines, COLOURS * len(self.lines), strict=False)
        for line, colour in sorted(coloured, key=lambda each: -each[0].points[-1][1]):
            places = [self._place(point) for point in line.points]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            dashes = ' stroke-dasharray="6 5"' if line.is_dashed else ""
            yield f'<polyline class="line" stroke="{colour}"{dashes} points="{path}"/>'
            yield from (f'<circle fill="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in places)
            below = max(below + APART, places[-1][1] + 4)
            name = f'<tspan fill="{colour}">&#9632;</tspan> {escape(line.name)}'
            yield f'<text x="{WIDTH - RIGHT + 14}" y="{below:.1f}">{name}</text>'

    def _sizes(self) -> list[float]:
        return sorted({x for line in self.lines for x, _ in line.points})

    def _bounds(self, axis: int) -> tuple[float, float]:
        values = [log10(point[axis]) for line in self.lines for point in line.points]
        return (floor(min(values)), ceil(max(values))) if axis else (min(values), max(values))

    def _place(self, point: Point) -> Point:
        (left, right), (low, high) = self._bounds(0), self._bounds(1)
        across = (log10(point[0]) - left) / ((right - left) or 1.0)  # one size has a picture, too
        up = (log10(point[1]) - low) / ((high - low) or 1.0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)
