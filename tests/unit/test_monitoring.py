"""Metrics of the dashboard and the alerts: the processes count all of them."""

import json
import re
from pathlib import Path

import pytest

from analytiq.telemetry import metrics

MONITORING = Path(__file__).parents[2] / "docs" / "monitoring"
REFERENCE = MONITORING.parent / "reference" / "metrics.md"
NAME = re.compile(r"\bkb_[a-z_]+\b")


def exposed() -> set[str]:
    text = metrics.exposition(None).decode()
    names = set(re.findall(r"^# TYPE (\S+) ", text, re.MULTILINE))
    histograms = set(re.findall(r"^# TYPE (\S+) histogram", text, re.MULTILINE))
    return names | {f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum")}


@pytest.mark.parametrize("file", ["grafana-dashboard.json", "alert-rules.yml"])
def test_every_metric_that_is_asked_for_exists(file: str) -> None:
    asked = set(NAME.findall((MONITORING / file).read_text()))
    assert asked
    assert asked <= exposed()


def test_every_metric_is_in_the_reference() -> None:
    described = set(NAME.findall(REFERENCE.read_text()))
    counted = {
        name
        for name in exposed()
        if name.startswith("kb_") and not name.endswith(("_bucket", "_count_count", "_sum", "_created"))
    }
    assert counted <= described


def test_panels_of_the_dashboard_do_not_lie_on_each_other() -> None:
    panels = json.loads((MONITORING / "grafana-dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
