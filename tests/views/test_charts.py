"""Figures from plain rows: what is drawn, and that a real browser draws it without any network."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.bench.selection.tradeoff import TradeoffPlane, TradeoffPoint
from assay.bench.studies.families import FailureRatio
from assay.bench.studies.severity import Severity
from assay.bench.trials import Trial
from assay.core.errors import MissingExtraError
from assay.stats.intervals import Estimate
from assay.views import chart_style, charts, study_charts
from assay.views.bench_chart_rows import (
    line_widths,
    number_rings,
    percentile_rows,
    plane_rows,
    ratio_rows,
    severity_rows,
)
from assay.views.chart_page import PagePart, render_chart_page
from assay.views.sections import Section
from tests.browsers import marks as drawn_marks
from tests.browsers import opened
from tests.studies import trial_with_histogram

GRAPH = {"configuration": "hnsw M=8 / ef=40", "engine": "hnsw", "family": "graph", "colour": "#0072B2"}
PARTITION = {"configuration": "ivf / nprobe=6", "engine": "ivf", "family": "partition", "colour": "#E69F00"}
BOTH = (GRAPH, PARTITION)
SPAN = {"value": 0.5, "low": 0.4, "high": 0.6}


def every() -> dict[str, dict[str, Any]]:
    """Each figure, of two configurations."""
    bar = {"low": 0.45, "high": 0.55, "recall": 0.5, "queries": 7}
    ratio = {"pair": "hnsw over ivf", "low": 2.0, "high": 9.0, "ratio": 4.0, "interval": "2 … 9"}
    plane = {
        "panel": "recall at least 0.9",
        "x": 0.9,
        "y": 1000.0,
        "x_name": "recall",
        "y_name": "qps",
        "best": True,
        "ring": 0,
    }
    setting = {"panel": "hnsw", "parameter": "ef", "setting": "M=8", "place": 0, "recall": 0.9, "y_name": "R"}
    return {
        "histogram": charts.histogram([one | bar for one in BOTH]),
        "curve": charts.curve(
            [one | SPAN | {"delta": d, "width": 2} for one in BOTH for d in (0.1, 0.5, 1.0)]
        ),
        "against": charts.against_recall(
            [
                one | SPAN | {"group": one["engine"], "panel": "Robustness-0.1@10", "recall": 0.9, "ring": at}
                for at, one in enumerate(BOTH)
            ]
        ),
        "information": charts.information([{"measure": "AP@10", "r2": 0.99, "n": 5}]),
        "ratios": charts.ratios(
            [ratio | {"delta": "0.1", "kind": "measured"}, ratio | {"delta": "1", "kind": "at least"}]
        ),
        "severity": charts.severity(
            [
                {"configuration": "a", "band": band, "place": at, "share": 0.5, "low": None, "high": None}
                for at, band in enumerate(("1–10", "beyond 100"))
            ]
        ),
        "planes": charts.planes([one | plane for one in BOTH]),
        "heatmap": study_charts.heatmap(
            [{"measure": "AP", "data": data, "r2": 0.5, "n": 9} for data in ("images", "words")]
        ),
        "side by side": study_charts.curves_side_by_side(
            [
                one | {"panel": panel, "delta": delta, "value": 1 - delta, "width": 2}
                for one in BOTH
                for panel in ("images", "words")
                for delta in (0.1, 0.5, 1.0)
            ]
        ),
        "parameters": study_charts.parameter_lines([setting | SPAN | {"x": ef} for ef in (10, 100)]),
        "frontiers": study_charts.frontiers(
            [
                one | {"panel": panel, "x": 0.9, "y": 100 * at + 100, "ring": 0}
                for at, one in enumerate(BOTH)
                for panel in ("mean recall", "robustness-0.1")
            ]
        ),
        "percentiles": charts.percentiles([one | SPAN | {"percentile": "1 %"} for one in BOTH]),
        "difficulty": charts.difficulty(
            [
                one | SPAN | {"feature": "lid", "quarter": quarter, "n": 9}
                for one in BOTH
                for quarter in (1, 2)
            ]
        ),
    }


def values(figure: Any, *names: str) -> list[Any]:
    """Every value that stands under these names, at any depth."""
    if isinstance(figure, list):
        return [found for inner in figure for found in values(inner, *names)]
    if not isinstance(figure, dict):
        return []
    here = [figure[name] for name in names if name in figure]
    return here + [found for inner in figure.values() for found in values(inner, *names)]


def test_every_figure_is_drawn_by_a_browser_without_network_and_without_complaint(tmp_path: Path) -> None:
    made = every()
    parts = [PagePart(Section(name, ["Said."]), [figure]) for name, figure in made.items()]
    page = tmp_path / "page.html"
    page.write_text(render_chart_page("Figures", parts), encoding="utf-8")
    dom, console = opened(page, tmp_path / "profile")
    assert console == []
    assert {name: drawn_marks(dom, at) > 0 for at, name in enumerate(made)} == dict.fromkeys(made, True)


def test_a_page_loads_nothing_and_forbids_it(tmp_path: Path) -> None:
    page = render_chart_page("Figures", [PagePart(Section("One"), [every()["information"]])])
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?https?:|@import|url\(\s*["']?https?:""", page)
    assert "default-src 'none'" in page.partition("<h1>")[0]


def test_a_name_cannot_end_the_script_it_stands_in() -> None:
    evil = charts.information([{"measure": "</script><script>alert(1)</script>", "r2": 0.5, "n": 3}])
    page = render_chart_page("Figures", [PagePart(Section("One"), [evil])])
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == 1


def test_text_has_the_colour_of_the_page_so_that_dark_and_print_are_legible() -> None:
    for figure in every().values():
        config = figure["config"]
        assert {config[part]["labelColor"] for part in ("axis", "legend", "header")} == {"currentColor"}
        assert config["background"] == "transparent"


@pytest.mark.parametrize(
    "name", ["curve", "against", "planes", "side by side", "frontiers", "percentiles", "difficulty"]
)
def test_families_differ_in_more_than_colour(name: str) -> None:
    channels = values(every()[name], "shape", "strokeDash")
    scales = [channel["scale"] for channel in channels if isinstance(channel, dict) and "scale" in channel]
    assert scales
    for scale in scales:
        assert scale["domain"] == ["graph", "partition"]
        assert len({json.dumps(value) for value in scale["range"]}) == 2


def test_a_family_looks_the_same_where_it_is_alone() -> None:
    alone = chart_style.shape_by_family([PARTITION]).to_dict()["scale"]
    both = chart_style.shape_by_family(list(BOTH)).to_dict()["scale"]
    assert alone["range"] == both["range"][1:]


def test_a_histogram_of_many_values_has_no_number_on_each_bar() -> None:
    bar = {"low": 0.0, "high": 0.01, "queries": 3}
    few, many = (
        json.dumps(charts.histogram([GRAPH | bar | {"recall": hits / k} for hits in range(k + 1)]))
        for k in (10, 100)
    )
    assert '"type": "text"' in few
    assert '"type": "text"' not in many


def test_without_altair_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    with pytest.raises(MissingExtraError, match=r"needs altair.*assay-search\[report\]"):
        every()


@pytest.mark.parametrize(
    ("found", "kind", "place", "interval"),
    [
        ((4.0, 2.0, 9.0), "measured", 4.0, "2 … 9"),
        ((4.0, 0.0, None), "measured, an end unknown", 4.0, "0 … –"),
        ((4.0, 0.0, 6.0), "measured", 4.0, "0 … 6"),
        ((None, 8.7, None), "at least", 8.7, "8.7 … –"),
        ((0.0, 0.0, 0.3), "at most", 0.3, "0 … 0.3"),
    ],
)
def test_a_ratio_without_an_end_is_drawn_as_such(
    found: tuple[float | None, ...], kind: str, place: float, interval: str
) -> None:
    rate = Estimate(0.1, 0.0, 0.2, 0.95, 100)
    ratio = Estimate(found[0], found[1], found[2], 0.95, 100)
    (row,) = ratio_rows({"a over b": [FailureRatio(0.1, rate, rate, ratio)]})
    assert (row["kind"], row["ratio"], row["interval"]) == (kind, place, interval)


def test_two_that_never_fail_have_no_ratio_to_draw() -> None:
    none = Estimate(0.0, 0.0, 0.03, 0.95, 100)
    assert (
        ratio_rows({"a over b": [FailureRatio(0.1, none, none, Estimate(None, None, None, 0.95, 100))]}) == []
    )


def test_trials_of_one_label_are_all_drawn() -> None:
    """One index asked by one thread and by two."""
    one, two = (
        replace(trial_with_histogram([1, 9]), trial=Trial(key, "hnsw", threads=at))
        for at, key in enumerate("ab", 1)
    )
    points = tuple(TradeoffPoint("hnsw", 0.9, float(at), True, key) for at, key in enumerate("ab"))
    plane = TradeoffPlane("recall", 0.9, "robustness-0.1", "qps", points)
    made = plane_rows([plane], [one, two], {"hnsw": "#0072B2"})
    assert [row["y"] for row in made] == [0.0, 1.0]


def test_a_percentile_is_drawn_with_its_interval() -> None:
    made = {
        row["percentile"]: row
        for row in percentile_rows([trial_with_histogram([20, 0, 180])], {"HNSW": "#0072B2"})
    }
    assert [made["10 %"][name] for name in ("value", "low", "high")] == [1.0, 0.0, 1.0]
    assert [made["25 %"][name] for name in ("value", "low", "high")] == [1.0, 1.0, 1.0]


def test_the_shares_of_a_severity_add_up_and_its_interval_ends_where_the_last_band_begins() -> None:
    found = Severity(4, (6, 6, 0, 0), (0, 10, 20, 50, 100), Estimate(0.4, 0.3, 0.6, 0.95, 4), 0)
    made = severity_rows([(trial_with_histogram([1, 0, 9]), found)])
    assert [row["share"] for row in made] == pytest.approx([0.3, 0.3, 0, 0, 0.4])
    assert made[-1]["band"] == "beyond 100"
    assert (made[-1]["low"], made[-1]["high"]) == pytest.approx((0.4, 0.7))


def test_an_engine_has_the_same_colour_in_every_report() -> None:
    paper = chart_style.engine_colours(["HNSW", "DiskANN", "Zilliz", "IVFFlat", "ScaNN", "Puck"])
    assert len(set(paper.values())) == 6
    alone = chart_style.engine_colours(["scann", "faiss.ivfflat"])
    assert (alone["scann"], alone["faiss.ivfflat"]) == (paper["ScaNN"], paper["IVFFlat"])


def test_two_engines_of_one_colour_are_told_apart_where_both_are() -> None:
    colours = chart_style.engine_colours(["faiss.hnsw", "milvus.hnsw"])
    assert len(set(colours.values())) == 2


def test_marks_of_two_engines_at_one_place_are_a_point_and_a_ring() -> None:
    rows = [
        {"engine": engine, "panel": "a", "x": 0.90001, "y": 0.5} for engine in ("hnsw", "ivf", "hnsw")
    ] + [{"engine": "ivf", "panel": "b", "x": 0.9, "y": 0.5}]
    assert [row["ring"] for row in number_rings(rows, "x", "y")] == [0, 1, 0, 0]


def test_a_line_that_another_covers_is_wider() -> None:
    assert line_widths([[1.0, 0.5], [1.0, 0.5], [1.0, 0.4], [1.0001, 0.5]]) == [8.0, 5.0, 2.0, 2.0]
