"""Evaluations as text, Markdown, CSV, HTML and JSON."""

import csv
import io
import re
from collections.abc import Callable

import pytest

from assay.evaluation import Evaluation, evaluate
from assay.views import FORMATS, render_evaluations, render_scores_per_query
from assay.views.evaluation import evaluations_dict
from assay.views.text import render_bar, render_markdown, render_table

QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1}}
QUERIES = {"query_id": ["q1", "q2", "q3"], "team": ["x", "x", "y|z"]}


def two() -> list[Evaluation]:
    runs = {"first": {"q1": ["a", "b"], "q2": ["x", "c"]}, "second": {"q1": ["b", "x"], "q3": ["d"]}}
    made = []
    for name, run in runs.items():
        from assay.core.tables import Run

        made.append(evaluate(QRELS, Run(run, name=name), ["RR@10", "ZeroHit@10"], QUERIES, ["team"]))
    return made


@pytest.mark.parametrize("style", FORMATS)
def test_every_format_names_each_run_measure_and_slice(style: str) -> None:
    shown = render_evaluations(two(), style).replace("\\|", "|").replace("$|$", "|")
    for word in ("first", "second", "RR@10", "ZeroHit@10", "team", "y|z"):
        assert word in shown


@pytest.mark.parametrize("style", FORMATS)
def test_every_format_shows_the_scores_of_each_query(style: str) -> None:
    shown = render_scores_per_query(two(), style)
    for word in ("q1", "q2", "q3", "RR@10", "first", "second"):
        assert word in shown


def test_csv_holds_the_exact_values() -> None:
    rows = list(csv.DictReader(io.StringIO(render_evaluations(two(), "csv"))))
    first = next(r for r in rows if r["run"] == "first" and not r["column"] and r["measure"] == "RR@10")
    assert float(first["value"]) == two()[0].estimates["RR@10"].value
    assert first["n"] == "3"


def test_json_has_the_documented_keys() -> None:
    run = evaluations_dict(two(), per_query=True)["runs"][0]
    assert set(run) == {"name", "counts", "mean", "slices", "per_query"}
    assert set(run["mean"]["RR@10"]) == {"value", "low", "high", "n"}
    assert run["per_query"]["q3"]["RR@10"] == 0.0


def test_json_says_null_for_what_is_undefined() -> None:
    result = evaluate({"q": {"a": 0}}, {"q": ["a"]}, ["ZeroHit@10"])
    run = evaluations_dict([result], per_query=True)["runs"][0]
    assert run["mean"]["ZeroHit@10"] == {"value": None, "low": None, "high": None, "n": 0}
    assert run["per_query"]["q"]["ZeroHit@10"] is None


def test_json_with_unjudged_has_the_range_of_each_mean_slice_and_query() -> None:
    result = evaluate(
        {"q": {"a": 1}},
        {"q": ["x", "a"]},
        ["RR@10"],
        QUERIES | {"query_id": ["q", "r", "s"]},
        ["team"],
        unjudged=True,
    )
    run = evaluations_dict([result], per_query=True)["runs"][0]
    ends = {"irrelevant": 0.5, "relevant": 1.0}
    assert run["mean"]["RR@10"]["unjudged"] == ends
    assert run["slices"][0]["mean"]["RR@10"]["unjudged"] == ends
    assert run["per_query_unjudged"]["q"]["RR@10"] == ends


def test_the_scores_of_each_query_carry_their_range() -> None:
    result = evaluate({"q": {"a": 1}}, {"q": ["x", "a"]}, ["RR@10"], unjudged=True)
    rows = list(csv.reader(io.StringIO(render_scores_per_query([result], "csv"))))
    assert rows[0] == ["query_id", "run", "RR@10", "RR@10 if irrelevant", "RR@10 if relevant"]
    assert rows[1] == ["q", "run", "0.5", "0.5", "1.0"]


def test_the_scores_of_each_query_carry_their_slices() -> None:
    rows = list(csv.reader(io.StringIO(render_scores_per_query(two(), "csv"))))
    assert rows[0][:3] == ["query_id", "run", "team"]
    assert ["q3", "first", "y|z"] in [row[:3] for row in rows]


def test_html_is_one_page_that_fetches_nothing() -> None:
    shown = render_evaluations(two(), "html")
    assert shown.startswith("<!doctype html>")
    assert not re.search(r"(src|href)=|https?://|@import", shown)


def test_html_escapes_names() -> None:
    from assay.core.tables import Run

    shown = render_evaluations([evaluate(QRELS, Run({"q1": ["a"]}, name="<b>"), ["RR@10"])], "html")
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown


def test_a_table_leaves_out_what_is_the_same_for_all_rows() -> None:
    shown = render_evaluations([evaluate(QRELS, {"q1": ["a"]}, ["RR@10"])], "table")
    assert "slice" not in shown.splitlines()[2]
    assert "run " not in shown.splitlines()[2]


def test_the_counts_say_what_is_missing() -> None:
    shown = render_evaluations([evaluate(QRELS, {"q1": ["a"], "zz": ["b"]}, ["RR@10"])], "table")
    assert "3 judged queries, 2 of them missing from the run" in shown
    assert "1 in the run without judgments, left out" in shown


def test_a_bar_shows_the_value_inside_its_interval() -> None:
    drawn = render_bar(0.2, 0.4, 0.9, 0.0, 1.0)
    assert drawn.index("─") < drawn.index("●") < drawn.rindex("─")


def test_a_bar_without_an_interval_is_a_dot_and_without_a_value_nothing() -> None:
    assert render_bar(None, 1.0, None, 0.0, 1.0).count("●") == 1
    assert render_bar(None, None, None, 0.0, 1.0) == ""


def test_wide_and_combining_characters_keep_columns_aligned() -> None:
    shown = render_table(["run", "x", "n"], [["検索", "a", "1"], ["e\u0301", "b", "2"]]).splitlines()
    assert shown[1].index("a") + 2 == shown[0].index("x")
    assert shown[2].index("b") - 1 == shown[0].index("x")


def test_markdown_escapes_bars_in_cells() -> None:
    assert "a\\|b" in render_markdown(["x"], [["a|b"]])


def over_common_queries() -> list[Evaluation]:
    from assay.core.tables import Run

    qrels = {q: {"a": 1} for q in ("q1", "q2", "q3")}
    table = {"query_id": ["q1", "q2", "q3"], "team": ["x", "y", "z"]}
    runs = {"1": {"q2": ["a"]}, "2": {"q1": ["a"], "q3": ["b", "a"]}, "3": {"q1": ["b", "a"], "q3": ["a"]}}
    return [
        evaluate(qrels, Run(run, name=name), "RR", table, ["team"], only_common=True)
        for name, run in runs.items()
    ]


def test_runs_stand_under_their_own_slices_where_each_leaves_out_other_queries() -> None:
    rows = csv.DictReader(io.StringIO(render_evaluations(over_common_queries(), "csv")))
    found = {r["slice"] + r["run"]: r["value"] for r in rows if r["slice"]}
    values = {"x2": "1.0", "x3": "0.5", "y1": "1.0", "z2": "0.5", "z3": "1.0"}
    assert found == values | {"x1": "", "y2": "", "y3": "", "z1": ""}


def test_the_runs_of_a_query_stand_together() -> None:
    rows = csv.DictReader(io.StringIO(render_scores_per_query(over_common_queries(), "csv")))
    assert [r["query_id"] + r["run"] for r in rows] == ["q21", "q12", "q13", "q32", "q33"]


def test_csv_holds_the_exact_value_of_each_query() -> None:
    result = evaluate({"q–": {"a": 1}, "–": {"b": 0}}, {"q–": ["x", "y", "a"]}, ["RR", "ZeroHit@5"])
    rows = list(csv.reader(io.StringIO(render_scores_per_query([result], "csv"))))
    assert rows[1:] == [["q–", "run", repr(1 / 3), "0.0"], ["–", "run", "0.0", ""]]


@pytest.mark.parametrize("draw", [render_table, render_markdown])
def test_a_cell_stays_on_its_line(draw: Callable[[list[str], list[list[str]]], str]) -> None:
    shown = draw(["x", "y"], [["a\nb", "\x1b[31mc"]])
    assert "a b" in shown
    assert "\x1b" not in shown
