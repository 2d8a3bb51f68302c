"""Charts in which people zoom and drag, as Vega-Lite."""

import json
from pathlib import Path

import pytest

from assay.web.plots import Axis
from assay.web.zoom_charts import ChartAxis, line_chart, trend_chart

X = ChartAxis("recall", Axis(0.5, 1.0), 0.9, "recall", "recall")
Y = ChartAxis("queries per second", Axis(1e3, 1e5, is_log=True))
POINTS = [
    {"series": "hnsw", "x": 0.8, "y": 2e4, "order": 0.8, "name": "hnsw"},
    {"series": "hnsw", "x": 0.95, "y": 9e3, "order": 0.95, "chosen": True, "words": "ef=40, chosen"},
]
TREND = [
    {"at": "2026-01-01T00:00:00Z", "value": 0.4, "low": 0.3, "high": 0.5, "segment": 0, "mark": ""},
    {"at": "2026-01-02T00:00:00Z", "value": 0.6, "low": 0.5, "high": 0.7, "segment": 0, "mark": "better"},
    {"at": "2026-01-03T00:00:00Z", "value": 0.1, "low": 0.0, "high": 0.2, "segment": 1, "mark": "break"},
]
CHARTS = [line_chart(X, Y, POINTS, {"hnsw": 3}), trend_chart(TREND, 2, "nDCG@10")]


@pytest.mark.parametrize("chart", CHARTS, ids=["lines", "trend"])
def test_a_chart_is_valid_vega_lite(chart: dict[str, object]) -> None:
    converter = pytest.importorskip("vl_convert")
    assert converter.vegalite_to_vega(chart)["marks"]


def test_only_axes_with_a_floor_can_be_dragged() -> None:
    chart = CHARTS[0]
    assert chart["usermeta"] == {"floors": {"x": "recall"}}
    assert chart["params"] == [{"name": "x_floor", "value": 0.9}, {"name": "y_floor", "value": None}]


def test_colours_are_tokens_of_the_theme() -> None:
    assert "var(--sys-3)" in json.dumps(CHARTS[0])
    assert "#" not in json.dumps(CHARTS)


def test_the_library_is_served_with_its_licence() -> None:
    folder = Path("src/assay/web/static")
    assert "Redistribution" in (folder / "vega.LICENSE").read_text()
    assert "window.vegaEmbed=" in (folder / "vega.min.js").read_text()[-500:]
