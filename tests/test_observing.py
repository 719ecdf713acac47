"""What operators are given to look at speaks of what there is: alerts, their runbooks, and the dashboard."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.changing.kiosk import opened, visited
from tests.real_envoy import running_envoy

pytestmark = pytest.mark.tree

ROOT = Path(__file__).parents[1]
RULES = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "legation.json").read_text())
RUNBOOKS = (ROOT / "docs" / "alerts.md").read_text()
METRIC = re.compile(r"\b(?:legation|process)_\w+")
SELECTOR = re.compile(r"\b(?:legation|process)_\w+(?:\{([^}]*)\})?")
OF_ENVOYS = re.compile(r'__name__=~"(envoy_[^"]+)"')
PARTS = ("_bucket", "_sum", "_count")  # of a histogram


def documented() -> dict[str, str]:
    """Return every metric with its type."""
    page = (ROOT / "docs" / "metrics.md").read_text()
    return dict(re.findall(r"^\| `(\w+)(?:\{[\w,]+\})?` \| (\w+) \|", page, re.MULTILINE))


def queries() -> Iterator[str]:
    """Give every query of the dashboard, those of its variables included."""
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    yield from (each["definition"] for each in DASHBOARD["templating"]["list"] if each["type"] == "query")


def unknown(expression: str) -> set[str]:
    """Name what an expression asks for and nobody tells."""
    types = documented()
    histograms = {name + part for name, kind in types.items() if kind == "histogram" for part in PARTS}
    plain = {name for name, kind in types.items() if kind != "histogram"}
    return set(METRIC.findall(expression)) - plain - histograms


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert_asks_for_metrics_that_there_are_and_has_a_runbook(rule: dict[str, Any]) -> None:
    assert unknown(rule["expr"]) == set()
    name, notes = rule["alert"], rule["annotations"]
    assert f"\n## {name}\n\n" in RUNBOOKS
    assert notes["runbook"] == f"docs/alerts.md#{name.lower()}"
    assert notes["summary"]
    assert notes["description"]
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}


async def test_an_envoy_tells_what_an_alert_asks_of_envoys(tmp_path: Path) -> None:
    asked = {name for rule in RULES for name in OF_ENVOYS.findall(rule["expr"])}
    async with (
        opened(tmp_path) as (kiosk, plane),
        running_envoy(await plane.bootstrap()) as envoy,
        visited(kiosk),
    ):
        _, body = await envoy.get("/stats/prometheus")
    told = re.findall(r"^# TYPE (\w+) counter$", body, re.MULTILINE)
    found = {name for name in told for pattern in asked if re.fullmatch(pattern, name)}
    parts = ("cluster_manager_cds", "cluster", "sds", "listener_manager_lds", "http_rds")
    assert found >= {f"envoy_{part}_init_fetch_timeout" for part in parts}


def test_there_is_no_runbook_for_what_never_fires() -> None:
    assert re.findall(r"^## (\w+)$", RUNBOOKS, re.MULTILINE) == [rule["alert"] for rule in RULES]


def test_the_dashboard_asks_for_metrics_that_there_are_and_shows_nearly_all() -> None:
    asked = " ".join(queries())
    assert unknown(asked) == set()
    shown = {name.removesuffix("_bucket") for name in METRIC.findall(asked)}
    assert documented().keys() - shown == {
        "legation_query_results",
        "legation_watch_last_change_timestamp_seconds",
        "process_virtual_memory_bytes",
        "process_max_fds",
        "process_start_time_seconds",
    }


def test_every_panel_of_the_dashboard_can_be_narrowed_and_explains_itself() -> None:
    for panel in DASHBOARD["panels"]:
        if panel["type"] == "row":
            continue
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        for target in panel["targets"]:
            assert (
                target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            )
            for labels in SELECTOR.findall(target["expr"]):
                assert labels.startswith('job=~"$job", instance=~"$instance"')


def test_counters_are_shown_as_rates() -> None:
    for query in queries():
        for name in re.findall(r"\w+(?:_total|_bucket)\b", query):
            assert f"rate({name}{{" in query


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (place["x"] + x, place["y"] + y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["w"])
        for y in range(place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
