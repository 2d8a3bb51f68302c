"""Findings as tables: narrow enough, in words, and nothing made up."""

import numpy as np
import pytest

from assay.indexes.study.findings import findings
from assay.indexes.study.observed import Study
from assay.views.sections import WIDTH, Section, render
from assay.views.study import sections
from assay.views.text import width
from studies import asked, plane, reported, stated, study

TRUTH = np.tile(np.arange(100), (40, 1))


def measured() -> Study:
    rng = np.random.default_rng(0)
    far = np.full((40, 10), 150)
    graph = asked(
        [0] * 8 + [10] * 32, ids=np.where(np.arange(40)[:, None] < 8, far, TRUTH[:, :10]), search={"ef": 10}
    )
    lists = asked([2] + [8] * 38 + [10], "faiss.ivfflat", ids=TRUTH[:, 5:15], search={"nprobe": 4})
    third = asked([9] * 40, "faiss.ivfflat", ids=TRUTH[:, 1:11], search={"nprobe": 9})
    return study(
        graph, lists, third, data=plane(TRUTH, rng.normal(size=(200, 4)), rng.normal(size=(40, 4)), k=10)
    )


def by_title(found: Study, **more: float) -> dict[str, Section]:
    return {one.title: one for one in sections(findings(found, **more))}


def test_each_question_has_a_table() -> None:
    found = by_title(measured())
    assert list(found) == [
        "Behind the mean",
        "Robustness-δ@10",
        "At the same mean recall",
        "How bad failures are",
        "What makes queries hard: rank correlation with recall",
        "The share below 0.1, of the quarter of queries with the least of it and with the most",
        "Which queries have recall below 0.1",
        "Which measures tell more than the mean",
        "What to know",
    ]
    assert all(len(row) == len(one.head) for one in found.values() for row in one.rows)


def test_the_tail_stands_beside_the_mean() -> None:
    table = by_title(measured())["Behind the mean"]
    assert list(table.head) == ["index", "family", "R@10", "p1", "p5", "p10", "p50", "below 0.1"]
    assert list(table.rows[0][:2]) == ["hnswlib / ef=10", "graph"]
    assert list(table.rows[0][3:]) == ["0.00", "0.00", "0.00", "1.00", "0.2000 (0.1050 … 0.3476)"]
    assert by_title(measured(), delta=0.5)["Behind the mean"].head[-1] == "no hit"


def test_a_ratio_without_failures_below_it_is_told_by_its_least() -> None:
    row = by_title(measured())["At the same mean recall"].rows[0]
    assert row == [
        "hnswlib / ef=10",
        "0.8000",
        "0.2000",
        "faiss.ivfflat / nprobe=4",
        "0.7900",
        "0.0000",
        "at least 1.4",
    ]


def test_a_ratio_has_its_interval() -> None:
    pair = study(stated([2445, 97555]), stated([2000, 98000], "IVFFlat"))
    assert by_title(pair, delta=1.0)["At the same mean recall"].rows[0][-1] == "1.2 (1.2 … 1.3)"


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
    assert table.rows[0] == ["hnswlib / ef=10", "8", "0", "0", "0", "0", "1.0000 (0.676 … 1.000)", "0"]
    assert table.rows[1][:4] == ["faiss.ivfflat / nprobe=4", "1", "5", "5"]


def test_queries_that_fail_are_named_and_long_lists_cut() -> None:
    rows = by_title(measured(), delta=0.95)["Which queries have recall below 0.95"].rows
    assert rows[0][:2] == ["on every index", "8"]
    assert rows[0][2] == "0 1 2 3 4 5 6 7"
    assert rows[1] == ["on each partition index, and no other", "31", "8 9 10 11 12 13 14 15 16 17 …"]
    assert rows[2][:2] == ["only on faiss.ivfflat / nprobe=9", "1"]


@pytest.mark.parametrize("style", ["table", "md", "html"])
def test_every_style_has_every_number(style: str) -> None:
    shown = render("Robustness", sections(findings(measured())), style)
    assert "0.2000 (0.1050 … 0.3476)" in shown
    assert "Robustness(delta=0.1)@10" in shown


def test_long_labels_are_cut_in_the_middle_so_that_lines_fit() -> None:
    long = {"metric": "angular", "efConstruction": 500, "download": "false", "tree_size": 40_000, "M": 128}
    several = [
        stated(
            [30 + at, *[5] * 8, 30, 900], f"HNSW{at}", build=long, search={"leaves_to_search": 33, "ef": at}
        )
        for at in range(3)
    ]
    other = stated([1, *[8] * 8, 34, 900], "ScaNN")
    shown = render("x", sections(findings(study(*several, other))), "table")
    tables = [line for line in shown.splitlines() if not line.startswith(("-", " "))]
    assert max(map(width, tables)) <= WIDTH
    assert shown.count("ef=2  ") >= 2


def test_what_is_not_known_is_a_dash_or_not_there() -> None:
    found = by_title(
        study(reported({"recall": 0.9, "Robustness(delta=0.5)@10": 0.8}), reported({"recall": 0.5}, "x"))
    )
    first, second = found["Behind the mean"].rows
    assert first[2:] == ["0.9000", "–", "–", "–", "–", "–"]
    assert found["Robustness-δ@10"].rows == [["HNSW", *["–"] * 4, "0.8000", *["–"] * 5]]
    assert second[2] == "0.5000"
    assert "How bad failures are" not in found
    assert len(found["What to know"].notes) == 4


def test_robustness_between_two_recalls_is_that_of_the_next() -> None:
    curve = by_title(study(stated([10, 20, 70])))["Robustness-δ@2"].rows[0]
    assert curve[1:] == ["0.9000"] * 5 + ["0.7000"] * 5
