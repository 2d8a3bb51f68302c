"""Tables from and to dictionaries, pandas, Polars, PyArrow and DuckDB."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given

from assay.core.errors import TableError
from assay.core.tables import Documents, Qrels, Queries, Run
from tests.datasets.strategies import any_ids, qrels, quick, runs

COLUMNS: dict[str, list[Any]] = {
    "query_id": ["q1", "q1", "q2"],
    "doc_id": ["a", "b", "a"],
    "score": [0.5, 0.25, 3.0],
}
NESTED = {"q1": {"a": 0.5, "b": 0.25}, "q2": {"a": 3.0}}
MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pandas": pd.DataFrame,
    "pandas with an index": lambda columns: pd.DataFrame(
        columns, index=[7 * n for n in range(len(columns["query_id"]))]
    ),
    "pandas objects": lambda columns: pd.DataFrame(columns).astype(object),
    "pyarrow": pa.table,
    "pyarrow reader": lambda columns: pa.RecordBatchReader.from_batches(
        pa.table(columns).schema, pa.table(columns).to_batches()
    ),
    "duckdb": lambda columns: duckdb.sql("select * from made", connection=_connection(columns)),
    "rows": lambda columns: pl.DataFrame(columns).to_dicts(),
}


def _connection(columns: dict[str, list[Any]]) -> Any:
    return duckdb.connect().register("made", pa.table(columns))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_run_is_the_same_from_every_kind_of_table(maker: str) -> None:
    assert Run(MAKERS[maker](COLUMNS)) == Run(NESTED)


@pytest.mark.parametrize("maker", MAKERS)
def test_qrels_are_the_same_from_every_kind_of_table(maker: str) -> None:
    judgments: dict[str, list[Any]] = {
        "qid": COLUMNS["query_id"],
        "docno": COLUMNS["doc_id"],
        "rel": [2, 0, 1],
    }
    assert Qrels(MAKERS[maker](judgments | {"query_id": judgments["qid"]})) == Qrels(
        {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    )


@pytest.mark.parametrize("maker", MAKERS)
def test_queries_are_the_same_from_every_kind_of_table(maker: str) -> None:
    columns: dict[str, list[Any]] = {"query_id": ["a", "b"], "text": ["x", None], "n": [1, 2]}
    assert Queries.from_data(MAKERS[maker](columns)) == Queries(columns)


@pytest.mark.parametrize("maker", MAKERS)
def test_whole_numbers_become_ids(maker: str) -> None:
    columns: dict[str, list[Any]] = {"query_id": [1, 1], "doc_id": [10, 9], "score": [1, 2]}
    assert Run(MAKERS[maker](columns)) == Run({"1": {"10": 1.0, "9": 2.0}})


@pytest.mark.parametrize("maker", MAKERS)
def test_fractions_are_refused_as_ids(maker: str) -> None:
    with pytest.raises(TableError, match=r"fractions|whole number"):
        Run(MAKERS[maker]({**COLUMNS, "query_id": [1.0, 2.0, 2.0]}))


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", ["query_id", "doc_id", "score"])
def test_an_empty_value_is_refused(maker: str, name: str) -> None:
    columns = {**COLUMNS, name: [COLUMNS[name][0], None, COLUMNS[name][2]]}
    with pytest.raises(TableError, match=r"empty|not a number"):
        Run(MAKERS[maker](columns))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_missing_column_is_named(maker: str) -> None:
    with pytest.raises(TableError, match=r"no score among query_id, doc_id.*columns="):
        Run(MAKERS[maker]({"query_id": ["q"], "doc_id": ["a"]}))
    with pytest.raises(TableError, match="there is no column 'x' among"):
        Run(MAKERS[maker](COLUMNS), columns={"query_id": "x"})


@pytest.mark.parametrize("maker", MAKERS)
def test_ranks_are_enough_without_scores(maker: str) -> None:
    columns: dict[str, list[Any]] = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [2, 1]}
    assert Run(MAKERS[maker](columns)).to_dict() == {"q": {"a": -2.0, "b": -1.0}}


@pytest.mark.parametrize("maker", MAKERS)
def test_a_document_twice_in_a_query_is_refused(maker: str) -> None:
    columns: dict[str, list[Any]] = {
        "query_id": ["q", "r", "q"],
        "doc_id": ["a", "a", "a"],
        "score": [1, 2, 3],
        "grade": [1, 1, 1],
    }
    for kind in (Run, Qrels):
        with pytest.raises(TableError, match="'a' appears twice in query 'q'"):
            kind(MAKERS[maker](columns))


@pytest.mark.parametrize(
    ("kind", "columns", "problem"),
    [
        (Run, {**COLUMNS, "score": [1.0, float("nan"), 2.0]}, "'b' in query 'q1' is not a number"),
        (Run, {**COLUMNS, "score": ["1", "high", "2"]}, "must be numbers, found 'high' in row 2"),
        (Qrels, {**COLUMNS, "grade": [1, 0.5, 2]}, "'b' in query 'q1' must be a whole number"),
        (Qrels, {**COLUMNS, "grade": [1, 1e12, 2]}, "must be a whole number"),
        (Qrels, {"query_id": [], "doc_id": [], "grade": []}, "expected rows of qrels, found none"),
        (Run, {**COLUMNS, "doc_id": ["a", "b\0", "c"]}, "NUL"),
    ],
)
def test_a_wrong_value_is_refused(kind: type[Run], columns: dict[str, list[Any]], problem: str) -> None:
    with pytest.raises(TableError, match=problem):
        kind(pl.DataFrame(columns, strict=False))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"q": {"a": None}}, "expected a number for document 'a' of query 'q'"),
        ({"q": {"a": "1"}}, "expected a number for document 'a' of query 'q'"),
        ({"q": 3}, "found int for query 'q'"),
        ({1: {"a": 1}}, "ids as strings"),
        ({"q": {1: 1}}, "ids as strings"),
        ({"q": ["a", "a"]}, "appears twice"),
        ({}, "found none"),
        (3, "expected a table"),
        ("qrels.txt", "expected a table"),
        ([(1, 2), 3], "expected"),
    ],
)
def test_a_wrong_dictionary_is_refused(data: Any, problem: str) -> None:
    with pytest.raises(TableError, match=problem):
        Run(data)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"query_id": ["a", None]}, "found None"),
        ({"query_id": ["a", ""]}, "found ''"),
        ({"query_id": [1.5]}, "found 1.5"),
        ({"query_id": [True]}, "found True"),
        ({"query_id": ["a", "a"]}, "'a' appears twice"),
        ({"query_id": ["a"], "text": []}, "same length"),
        ({"text": ["a"]}, "expected a column query_id, found text"),
    ],
)
def test_wrong_queries_are_refused(columns: dict[str, list[Any]], problem: str) -> None:
    with pytest.raises(TableError, match=problem):
        Queries(columns)


def test_arrays_may_be_columns() -> None:
    query_table = Queries({"query_id": np.array([1, 2]), "n": np.array([1, 2]), "x": pd.Series([0.5, 1.0])})  # type: ignore[dict-item]
    assert query_table == Queries({"query_id": ["1", "2"], "n": [1, 2], "x": [0.5, 1.0]})
    assert type(query_table.columns["n"][0]) is int


@quick
@given(runs(any_ids), qrels(any_ids))
def test_every_table_survives_the_round_trip(run: Run, judgments: Qrels) -> None:
    for leave in (pl.DataFrame, pa.table):
        assert Run(leave(run)) == run
        assert Qrels(leave(judgments)) == judgments
    assert Run(run.to_dict()) == run


def test_duckdb_reads_a_table_directly() -> None:
    documents = Documents({"doc_id": ["d"], "text": ["x"]})
    connection = duckdb.connect().register("found", pa.table(documents))
    assert connection.execute("select * from found").fetchall() == [("d", "x")]


_WITHOUT_ARROW = """
import importlib.abc, sys

class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "pyarrow":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Block())
import pandas as pd
from assay import Qrels, Queries, Run
frame = pd.DataFrame({"query_id": ["q", "q"], "doc_id": [1, 2], "score": [0.5, 1.0], "grade": [1, 0]})
assert Run(frame) == Run({"q": {"1": 0.5, "2": 1.0}})
assert Qrels(frame) == Qrels({"q": {"1": 1, "2": 0}})
asked = Queries.from_data(pd.DataFrame({"query_id": ["a", "b"], "text": ["x", None], "n": [1.5, None]}))
assert asked.columns == {"query_id": ["a", "b"], "text": ["x", None], "n": [1.5, None]}
assert "pyarrow" not in sys.modules
"""


def test_pandas_frames_are_read_without_pyarrow() -> None:
    subprocess.run([sys.executable, "-c", _WITHOUT_ARROW], check=True)
