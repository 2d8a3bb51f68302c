"""Versions of evaluation sets and their differences, as tables."""

from datetime import UTC, datetime

from assay.core.records import DatasetVersion
from assay.core.tables import Qrels
from assay.judging.dataset_diff import diff_datasets
from assay.views.datasets import render_dataset_diff, render_versions

VERSION = DatasetVersion(
    "shop",
    {"qrels": "a" * 32},
    {"queries": 1200, "labels": 34},
    parent="b" * 32,
    recipe={"sample": {"seed": 3}},
    at=datetime(2026, 1, 31, 12, tzinfo=UTC),
    note="first",
)


def test_one_version_is_shown_with_its_recipe() -> None:
    lines = render_versions([VERSION], "table").splitlines()
    assert lines[1].split() == [
        VERSION.label,
        "2026-01-31",
        "12:00",
        "1,200",
        "34",
        "0",
        "@bbbbbbbb",
        "first",
    ]
    assert lines[-1] == '- sample: {"seed": 3}'


def test_csv_has_plain_numbers_and_the_whole_digest_of_the_parent() -> None:
    row = render_versions([VERSION, VERSION], "csv").splitlines()[1]
    assert row == f"{VERSION.label},2026-01-31T12:00:00+00:00,1200,34,0,{'b' * 32},first"


def test_a_difference_says_how_many_rows_and_shows_the_first() -> None:
    diff = diff_datasets({"qrels": Qrels({"q": {"a": 2}})}, {"qrels": Qrels({"q": {"a": 1, "b": 0}})})
    text = render_dataset_diff("old", "new", diff, 5, "table")
    assert text.startswith("old → new: labels: 1 added, 0 dropped, 1 changed, 0 unchanged")
    assert text.splitlines()[-1].split() == ["labels", "changed", "q", "a", "grade", "2", "1"]
