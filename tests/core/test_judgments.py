"""Judgments: checked at the door, one grade per pair and judge."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from assay.core.errors import TableError
from assay.core.judgments import Judgments
from assay.core.tables import Qrels

ROWS = [("q1", "a", "ann", 2), ("q1", "a", "bob", 1), ("q1", "b", "bob", 0), ("q2", "a", "ann", None)]


def test_the_matrix_has_a_row_for_each_pair_and_a_column_for_each_judge() -> None:
    judgments = Judgments.from_rows(ROWS)
    assert judgments.judges == ["ann", "bob"]
    assert judgments.pairs.rows() == [("q1", "a"), ("q1", "b"), ("q2", "a")]
    np.testing.assert_array_equal(judgments.matrix(), [[2, 1], [np.nan, 0], [np.nan, np.nan]])


def test_the_order_of_rows_does_not_change_the_digest_and_a_grade_does() -> None:
    assert Judgments.from_rows(ROWS) == Judgments.from_rows(ROWS[::-1])
    assert Judgments.from_rows(ROWS) != Judgments.from_rows([*ROWS[:3], ("q2", "a", "ann", 1)])


def test_columns_are_recognised_by_other_names() -> None:
    judgments = Judgments({"qid": [1], "docno": [7], "rater": ["ann"], "rel": ["3"], "comment": ["clear"]})
    assert judgments.frame.row(0) == ("1", "7", "ann", 3.0, None, "", "clear")


def test_times_are_read_in_every_zone_and_without_one() -> None:
    times = ["2026-01-31T12:00:00+02:00", "2026-01-31T10:00:00", "", None]
    columns = {"query_id": ["q"] * 4, "doc_id": ["a", "b", "c", "d"], "judge": ["j"] * 4, "grade": [1] * 4}
    judgments = Judgments({**columns, "at": times})
    assert judgments.frame["at"].to_list() == [datetime(2026, 1, 31, 10, tzinfo=UTC)] * 2 + [None] * 2
    assert Judgments(judgments.frame) == judgments
    naive = Judgments({**columns, "at": [datetime(2026, 1, 31, 10)] * 4})
    assert naive.frame["at"][0] == datetime(2026, 1, 31, 10, tzinfo=UTC)


def test_qrels_are_the_judgments_of_one_judge() -> None:
    judgments = Judgments.from_qrels(Qrels({"q1": {"a": 1, "b": 0}}), "ann", "book")
    assert judgments.frame.select("judge", "grade", "source").rows() == [
        ("ann", 1.0, "book"),
        ("ann", 0.0, "book"),
    ]


def test_some_judgments_can_be_taken() -> None:
    assert len(Judgments.from_rows(ROWS).take(pl.col("judge") == "bob")) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grade": ["x"]}, "column grade must be finite numbers, found 'x' in row 1"),
        ({"grade": [float("nan")]}, "column grade must be finite numbers, found nan in row 1"),
        ({"judge": [""]}, "column judge is empty in row 1"),
        ({"at": ["yesterday"]}, "found 'yesterday' in row 1"),
        ({"at": [17]}, "found numbers"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(change: dict[str, list[object]], message: str) -> None:
    with pytest.raises(TableError, match=message):
        Judgments({"query_id": ["q"], "doc_id": ["d"], "judge": ["j"], "grade": [1], **change})


def test_a_missing_column_is_named() -> None:
    with pytest.raises(TableError, match="no judge among query_id, doc_id, grade"):
        Judgments({"query_id": ["q"], "doc_id": ["d"], "grade": [1]})


def test_a_pair_that_a_judge_judged_twice_is_refused() -> None:
    with pytest.raises(TableError, match="judge 'ann' judged document 'a' of query 'q1' twice"):
        Judgments.from_rows([*ROWS, ("q1", "a", "ann", 0)])


def test_no_rows_are_refused() -> None:
    with pytest.raises(TableError, match="found none"):
        Judgments({"query_id": [], "doc_id": [], "judge": [], "grade": []})
