"""Findings as tables: narrow enough, in words, and nothing made up."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.bench.studies.findings import FindingSettings, collect_findings
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from assay.views.sections import WIDTH, Section, render_sections
from assay.views.study import finding_sections
from assay.views.text import display_width
from tests.studies import make_data, make_study, trial_with_figures, trial_with_histogram, trial_with_hits

TRUTH = np.tile(np.arange(100), (40, 1))


def measured() -> Study:
    rng = np.random.default_rng(0)
    far = np.full((40, 10), 150)
    graph = trial_with_hits(
        [0] * 8 + [10] * 32, ids=np.where(np.arange(40)[:, None] < 8, far, TRUTH[:, :10]), search={"ef": 10}
    )
    lists = trial_with_hits([2] + [8] * 38 + [10], "faiss.ivfflat", ids=TRUTH[:, 5:15], search={"nprobe": 4})
    third = trial_with_hits([9] * 40, "faiss.ivfflat", ids=TRUTH[:, 1:11], search={"nprobe": 9})
    more = [trial_with_hits([at] * 8 + [10] * 32, ids=TRUTH[:, :10], search={"ef": 10 * at}) for at in (3, 5)]
    return make_study(
        graph,
        lists,
        third,
        *more,
        data=make_data(TRUTH, rng.normal(size=(200, 4)), rng.normal(size=(40, 4)), k=10),
    )


def by_title(found: Study, style: str = "md", **more: Any) -> dict[str, Section]:
    return {
        one.title: one for one in finding_sections(collect_findings(found, FindingSettings(**more)), style)
    }


def test_each_question_has_a_table() -> None:
    found = by_title(measured())
    assert list(found) == [
        "Behind the mean",
        "Robustness-δ@10",
        "At the same mean recall",
        "Families at the same mean recall",
        "How bad failures are",
        "What makes queries hard: rank correlation with recall",
        "The share below 0.1 in the quarters with the lowest and the highest values",
        "Which queries have recall below 0.1",
        "Which measures say more than the mean",
        "hnswlib by ef",
        "faiss.ivfflat by nprobe",
        "Which family serves which δ",
        "What else could raise the tail",
        "Notes",
    ]
    assert all(len(row) == len(one.head) for one in found.values() for row in one.rows)


def test_the_tail_stands_beside_the_mean() -> None:
    table = by_title(measured())["Behind the mean"]
    assert list(table.head) == ["index", "family", "R@10", "p1", "p5", "p10", "p50", "below 0.1"]
    assert list(table.rows[0][:2]) == ["hnswlib / ef=10", "graph"]
    assert list(table.rows[0][4:]) == [
        "0.00 (0.00 … 0.00)",
        "0.00 (0.00 … 1.00)",
        "1.00 (1.00 … 1.00)",
        "0.2000 (0.0905 … 0.3565)",
    ]
    assert table.notes[-1] == "intervals are of 95 %, over 40 queries"
    assert by_title(measured(), delta=0.5)["Behind the mean"].head[-1] == "no hit"


def test_a_ratio_without_failures_below_it_is_told_by_its_least() -> None:
    """Both have their intervals, and the family that they are of."""
    first, second = by_title(measured())["At the same mean recall"].rows[:2]
    assert first[:2] == ["hnswlib / ef=10", "graph"]
    assert first[2].startswith("0.8000 (0.64")
    assert first[3:] == ["0.2000 (0.0905 … 0.3565)", "at least 1.21", "0.008"]
    assert second[:2] == ["against faiss.ivfflat / nprobe=4", "partition"]
    assert second[3:] == ["0.0000 (0.0000 … 0.0881)", "", ""]


def test_engines_of_one_family_are_compared_too() -> None:
    pair = make_study(
        trial_with_hits([0] * 8 + [9] * 92, "faiss.hnsw"), trial_with_hits([8] * 70 + [9] * 30, "hnswlib")
    )
    first, second = by_title(pair)["At the same mean recall"].rows
    assert (first[0], first[1], second[0], second[1]) == (
        "faiss.hnsw",
        "graph",
        "against hnswlib",
        "graph",
    )
    assert first[-2].startswith("at least")


def test_quarters_have_intervals_where_any_query_fails() -> None:
    title = "The share below 0.1 in the quarters with the lowest and the highest values"
    rows = by_title(measured())[title].rows
    assert [row[:2] for row in rows] == [
        ["hnswlib / ef=10", name] for name in ("relative_contrast", "lid", "hubness", "outlyingness")
    ]
    assert all(" … " in cell for row in rows if row[1] != "hubness" for cell in row[2:])


def test_of_failed_trials_alone_there_are_no_tables() -> None:
    failed = ScoredTrial(replace(trial_with_hits([9]).trial, status="failed"))
    assert list(by_title(make_study(failed))) == ["Notes"]


def test_a_ratio_has_its_interval() -> None:
    pair = make_study(trial_with_histogram([2445, 97555]), trial_with_histogram([2000, 98000], "IVFFlat"))
    assert by_title(pair, delta=1.0)["At the same mean recall"].rows[0][-1] == "1.22 (1.15 … 1.30)"


def test_severity_is_told_in_bands_of_the_truth() -> None:
    table = by_title(measured())["How bad failures are"]
    assert list(table.head) == [
        "index",
        "queries",
        "1–10",
        "11–20",
        "21–50",
        "51–100",
        "outside 100",
        "missing",
    ]
    assert table.rows[0] == ["hnswlib / ef=10", "8", "0", "0", "0", "0", "1.0000 (0.631 … 1.000)", "0"]
    assert table.rows[1][:4] == ["faiss.ivfflat / nprobe=4", "1", "5", "5"]


def test_queries_that_fail_are_named_and_long_lists_cut() -> None:
    rows = by_title(measured(), delta=0.95)["Which queries have recall below 0.95"].rows
    assert rows[0][:2] == ["on every index", "8"]
    assert rows[0][2] == "0 1 2 3 4 5 6 7"
    assert rows[1] == ["on each partition index, and no other", "31", "8 9 10 11 12 13 14 15 16 17 …"]
    assert rows[2][:2] == ["only on faiss.ivfflat / nprobe=9", "1"]


@pytest.mark.parametrize("style", ["table", "md", "html"])
def test_every_style_has_every_number(style: str) -> None:
    shown = render_sections("Robustness", finding_sections(collect_findings(measured()), style), style)
    assert "0.2000 (0.0905 … 0.3565)" in shown
    assert "Robustness(delta=0.1)@10" in shown


def test_long_labels_are_cut_in_the_middle_so_that_lines_fit() -> None:
    long = {"metric": "angular", "efConstruction": 500, "download": "false", "tree_size": 40_000, "M": 128}
    several = [
        trial_with_histogram(
            [30 + at, *[5] * 8, 30, 900], f"HNSW{at}", build=long, search={"leaves_to_search": 33, "ef": at}
        )
        for at in range(3)
    ]
    other = trial_with_histogram([1, *[8] * 8, 34, 900], "ScaNN")
    found = collect_findings(make_study(*several, other), FindingSettings(delta=0.5))
    shown = render_sections("x", finding_sections(found), "table")
    tables = [line for line in shown.splitlines() if not line.startswith(("-", " "))]
    assert max(map(display_width, tables)) <= WIDTH
    assert shown.count("ef=2  ") >= 2
    assert "…" in shown
    for style in ("md", "html"):
        in_full = render_sections("x", finding_sections(found, style), style)
        assert (
            in_full.count("HNSW2 metric=angular efConstruction=500 download=false tree_size=40000 M=128") >= 3
        )


def test_what_is_not_known_is_a_dash_or_not_there() -> None:
    found = by_title(
        make_study(
            trial_with_figures({"recall": 0.9, "Robustness(delta=0.5)@10": 0.8}),
            trial_with_figures({"recall": 0.5}, "x"),
        )
    )
    first, second = found["Behind the mean"].rows
    assert (first[2:], second[2:]) == (["0.9000"], ["0.5000"])
    assert found["Behind the mean"].notes == []
    assert (list(found["Robustness-δ@10"].head), found["Robustness-δ@10"].rows) == (
        ["δ", "0.5"],
        [["HNSW", "0.8000"]],
    )
    assert "How bad failures are" not in found
    assert len(found["Notes"].notes) == 4


def test_robustness_between_two_recalls_is_that_of_the_next() -> None:
    """Of 15, a recall of .1 is reached by 2 and .2 by 3."""
    curve = by_title(make_study(trial_with_histogram([10, 20, 30, *[0] * 12, 40])))["Robustness-δ@15"]
    assert list(curve.head[:3]) == ["δ", "0.1", "0.2"]
    assert [cell[:6] for cell in curve.rows[0][1:3]] == ["0.7000", "0.4000"]


def test_a_curve_of_few_steps_has_a_column_for_each() -> None:
    curve = by_title(make_study(trial_with_histogram([10, 20, 0, 0, 70])))["Robustness-δ@4"]
    assert list(curve.head) == ["δ", "0.25", "0.5", "0.75", "1"]
    assert [cell[:6] for cell in curve.rows[0][1:]] == ["0.9000", "0.7000", "0.7000", "0.7000"]


def test_in_a_terminal_intervals_stand_below_and_a_curve_has_plus_and_minus() -> None:
    found = by_title(measured(), "table")
    values, ends = found["Behind the mean"].rows[:2]
    assert (values[-1], ends[-1]) == ("0.2000", "0.0905…0.3565")
    values, ends = found["Robustness-δ@10"].rows[:2]
    assert (values[1], ends[1]) == ("0.8000", "±0.156")
    assert "± is the distance to the farther bound of the interval" in found["Robustness-δ@10"].notes
