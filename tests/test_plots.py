"""Pictures of benchmarks are SVG that anybody's viewer takes."""

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench.peers.found import Beside, Found, Memory, Needs
from bench.peers.same import WHOLE
from bench.plots.chart import HEIGHT, WIDTH, Chart, Line
from bench.plots.peers import builds

CHART = Chart(
    "Time & <space>",
    "routes",
    "times as much",
    [
        Line("steep", [(100, 1), (1_000, 12), (20_000, 480)]),
        Line("a < b", [(100, 0.004), (1_000, 0.004), (20_000, 0.005)], is_dashed=True),
    ],
)


def test_a_chart_is_xml_whatever_its_lines_are_called() -> None:
    texts = {each.strip() for each in ET.fromstring(CHART.svg()).itertext()}  # noqa: S314  our own
    assert {"Time & <space>", "steep", "a < b", "20,000", "0.001", "1000"} <= texts


def test_every_point_is_drawn_within_the_picture_and_more_is_higher() -> None:
    places = [(float(x), float(y)) for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', CHART.svg())]
    assert len(places) == 6
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in places)
    steep = places[:3]
    assert steep == sorted(steep, key=lambda place: (place[0], -place[1]))


def test_one_size_is_drawn_in_the_picture() -> None:
    picture = Chart("one", "routes", "times", [Line("a", [(100, 1)]), Line("b", [(100, 1)])]).svg()
    assert len(re.findall(r'cx="70.0" cy="[\d.]+"', picture)) == 2


def test_a_line_beside_us_is_how_many_times_what_we_need_a_peer_needs() -> None:
    found = [
        Found(routes, gateways, 1, {"A": Beside({WHOLE: Needs(0.5, 9)}, Memory(9, 9))}, {})
        for routes, gateways in ((1000, 1), (100, 1), (100, 50))
    ]
    assert [(line.name, [*line.points]) for line in builds(found).lines] == [
        ("A, in one", [(100, 2), (1000, 2)]),
        ("A, in 50", [(100, 2)]),
        ("Legation", [(100, 1), (1000, 1)]),
    ]


@pytest.mark.tree
def test_the_page_on_performance_shows_every_picture() -> None:
    docs = Path(__file__).parents[1] / "docs"
    pictures = {each.name for each in (docs / "plots").glob("*.svg")}
    shown = re.findall(r"!\[[^\]]{20,}\]\(plots/([a-z]+\.svg)\)", (docs / "performance.md").read_text())
    assert sorted(shown) == sorted(pictures)
    assert all(ET.fromstring((docs / "plots" / each).read_text()).tag.endswith("svg") for each in shown)  # noqa: S314  our own
