"""Grafana understands every field of the dashboard: it is read and written again by structs of its own."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

Json = dict[str, Any]

WRITTEN: Json = json.loads((Path(__file__).parents[1] / "deploy/grafana/legation.json").read_text())
# Grafana's editor writes this beside the query itself; no schema has it.
BESIDE_THE_SCHEMA = {"templating.list[1].definition", "templating.list[2].definition"}


def understood(dashboard: Json) -> Json:
    """Return what Grafana's structs hold of a dashboard, with what they add by themselves."""
    register_default_plugins()
    held: Json = json.loads(json.dumps(Dashboard.from_json(copy.deepcopy(dashboard)), cls=JSONEncoder))
    return held


def lost(written: object, held: object, at: str = "") -> Iterator[str]:
    """Name every field that is not held as it was written."""
    match written, held:
        case dict(), dict():
            for name, value in written.items():
                yield from lost(value, held.get(name), f"{at}.{name}".lstrip("."))
        case list(), list() if len(written) == len(held):
            for number, (one, other) in enumerate(zip(written, held, strict=True)):
                yield from lost(one, other, f"{at}[{number}]")
        case _ if written != held:
            yield at
        case _:
            pass


def test_every_field_is_one_that_grafana_knows() -> None:
    assert set(lost(WRITTEN, understood(WRITTEN))) == BESIDE_THE_SCHEMA


def _panel(change: Callable[[Json], object]) -> Json:
    mistaken = copy.deepcopy(WRITTEN)
    change(next(panel for panel in mistaken["panels"] if panel["type"] == "timeseries"))
    return mistaken


@pytest.mark.parametrize(
    "change",
    [
        lambda panel: panel.update(heading="Changes"),
        lambda panel: panel["options"].update(legends={}),
        lambda panel: panel["targets"][0].update(expression="up"),
        lambda panel: panel["fieldConfig"]["defaults"].update(units="s"),
        lambda panel: panel["gridPos"].update(width=3),
    ],
    ids=["panel", "options", "target", "field", "place"],
)
def test_a_field_that_grafana_does_not_know_is_found(change: Callable[[Json], object]) -> None:
    mistaken = _panel(change)
    assert len(set(lost(mistaken, understood(mistaken))) - BESIDE_THE_SCHEMA) == 1
