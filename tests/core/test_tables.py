"""Tables: checks, digests and the types from which they are created."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.core.errors import (
    AssayError,
    FormatError,
    InputError,
    MeasureError,
    MissingExtraError,
    TableError,
    UndecidableError,
)
from assay.core.tables import Documents, Qrels, Queries, Run, Scores
from assay.datasets import read
from assay.datasets.input_files import InputFile
from assay.datasets.trec import RunFile
from assay.evaluation import evaluate
from tests.reference_measures import QrelsAndRun, QrelsDict, RunDict, qrels_and_runs, quick

MEASURES = ("nDCG@3", "AP", "RR", "bpref", "infAP", "ERR", "RBP", "Judged@2", "Robustness(delta=0.3)@3")


def frame(data: QrelsDict | RunDict, column: str, seed: int | None = None) -> pl.DataFrame:
    """Return the rows as a frame, shuffled if there is a seed."""
    rows = [(query, doc, value) for query, docs in data.items() for doc, value in docs.items()]
    table = pl.DataFrame(rows, schema=["query_id", "doc_id", column], orient="row")
    return table if seed is None else table.sample(fraction=1, shuffle=True, seed=seed)


def write_files(qrels_and_run: QrelsAndRun, folder: Path) -> tuple[Qrels, RunFile]:
    """Write qrels and a run as TREC files and open them (only ids without blanks)."""
    qrels, run = ({q.replace(" ", "_"): docs for q, docs in side.items()} for side in qrels_and_run)
    qrels_path, run_path = folder / "some.qrels", folder / "some.run"
    qrels_path.write_text("".join(f"{q} 0 {d} {g}\n" for q, docs in qrels.items() for d, g in docs.items()))
    run_path.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, docs in run.items() for d, s in docs.items()))
    return read(qrels_path, "qrels"), RunFile(InputFile(run_path), {})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@quick
@given(qrels_and_run=qrels_and_runs(lowest=-1), seed=st.integers(0, 9))
def test_a_dictionary_a_table_and_a_file_give_the_same_digits(
    folder: Path, qrels_and_run: QrelsAndRun, seed: int
) -> None:
    qrels, run = qrels_and_run
    tables = evaluate(Qrels(frame(qrels, "grade", seed)), Run(frame(run, "score", seed)), MEASURES)
    files = evaluate(*write_files(qrels_and_run, folder), MEASURES)
    expected = evaluate(qrels, run, MEASURES).scores.to_dict()
    assert tables.scores.to_dict() == expected
    assert files.scores.to_dict() == {query.replace(" ", "_"): v for query, v in expected.items()}


def test_inputs_of_different_types_may_be_mixed() -> None:
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 0.1, "b": 0.1, "c": 0.1}}
    ways_q: list[Any] = [qrels, Qrels(qrels), frame(qrels, "grade"), Qrels(qrels).frame.to_arrow()]
    ways_r: list[Any] = [run, Run(run), frame(run, "score"), Run(run).frame.to_arrow()]
    digests = {evaluate(q, r, MEASURES).scores.digest for q in ways_q for r in ways_r}
    assert len(digests) == 1


@quick
@given(qrels_and_runs(), st.integers(0, 99))
def test_the_digest_ignores_the_order_of_rows(qrels_and_run: QrelsAndRun, seed: int) -> None:
    qrels, run = qrels_and_run
    assert Qrels(frame(qrels, "grade", seed)).digest == Qrels(qrels).digest
    assert Run(frame(run, "score", seed)).digest == Run(run).digest
    assert Run(frame(run, "score", seed)) == Run(run)
    assert len({Run(run), Run(frame(run, "score", seed))}) == 1


@quick
@given(qrels_and_runs(), qrels_and_runs())
def test_other_rows_have_another_digest(first: QrelsAndRun, second: QrelsAndRun) -> None:
    assume(first[1] != second[1])
    assert Run(first[1]).digest != Run(second[1]).digest


@quick
@given(qrels_and_runs(), st.sampled_from(["query", "doc", "value", "drop", "add", "swap"]))
def test_the_digest_notices_any_change(qrels_and_run: QrelsAndRun, change: str) -> None:
    run = copy.deepcopy(qrels_and_run[1])
    query = next(iter(run))
    doc, score = next(iter(run[query].items()))
    if change == "query":
        run = {q + "'" if q == query else q: docs for q, docs in run.items()}
    elif change == "doc":
        run[query] = {d + "'" if d == doc else d: s for d, s in run[query].items()}
    elif change == "value":
        run[query][doc] = float(np.nextafter(score, 9.0))
    elif change == "drop":
        del run[query][doc]
        assume(any(run.values()))
    elif change == "add":
        run[query]["new"] = 0.0
    else:
        other = list(run[query])[-1]
        assume(run[query][other] != score)
        run[query][doc], run[query][other] = run[query][other], score
    assert Run(run).digest != Run(qrels_and_run[1]).digest


def test_qrels_and_a_run_of_the_same_rows_are_not_the_same() -> None:
    rows = {"q": {"a": 1}}
    assert Qrels(rows).digest != Run(rows).digest
    assert Qrels(rows) != Run(rows)


def test_swapped_values_change_the_digest() -> None:
    digests = {
        Run({"a": {"b": 1.0}, "c": {"d": 2.0}}).digest,
        Run({"b": {"a": 1.0}, "c": {"d": 2.0}}).digest,  # a query for its document
        Run({"a": {"d": 2.0}, "c": {"b": 1.0}}).digest,  # documents between queries
        Run({"a": {"b": 2.0}, "c": {"d": 1.0}}).digest,  # scores between documents
        Run({"a": {"b": 1.0, "d": 2.0}}).digest,
    }
    assert len(digests) == 5


def test_minus_zero_is_zero() -> None:
    assert Run({"q": {"a": 0.0}}) == Run({"q": {"a": -0.0}})


def test_digests_of_scores_and_queries_ignore_the_order_of_rows() -> None:
    first = Scores(["a", "b"], {"RR": np.array([1.0, 0.5])})
    assert first.digest == Scores(["b", "a"], {"RR": np.array([0.5, 1.0])}).digest
    assert first.digest != Scores(["b", "a"], {"RR": np.array([1.0, 0.5])}).digest
    queries = Queries({"query_id": ["a", "b"], "text": ["x", "y"]})
    assert queries == Queries({"text": ["y", "x"], "query_id": ["b", "a"]})
    assert queries != Queries({"query_id": ["a", "b"], "text": ["y", "x"]})


@quick
@given(qrels_and_runs())
def test_inputs_are_not_modified(qrels_and_run: QrelsAndRun) -> None:
    before = copy.deepcopy(qrels_and_run)
    table = frame(qrels_and_run[1], "score")
    evaluate(*qrels_and_run, MEASURES, unjudged=True)
    evaluate(qrels_and_run[0], table, MEASURES)
    assert qrels_and_run == before
    assert [list(docs) for docs in qrels_and_run[1].values()] == [list(docs) for docs in before[1].values()]
    assert table.equals(frame(before[1], "score"))


@quick
@given(qrels_and_runs())
def test_tables_survive_the_round_trip(qrels_and_run: QrelsAndRun) -> None:
    qrels, run = qrels_and_run
    assert Qrels(qrels).to_dict() == qrels
    assert Run(Run(run).frame).to_dict() == run
    assert Run(pa.table(Run(run))).to_dict() == run
    assert Run(pd.DataFrame(Run(run).frame.to_dict(as_series=False))).to_dict() == run


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({}, "expected rows of qrels, found none"),
        ({"q": {}}, "expected rows of qrels, found none"),
        ({"q": {"a": float("nan")}}, "the grade of document 'a' in query 'q' is not a number"),
        ({"q": {"b": 1, "a": 0.5}}, "the grade of 'a' in query 'q' must be a whole number"),
        ({"q": {"a": float("inf")}}, "the grade of 'a' in query 'q' must be a whole number"),
        ({"q": {"a": 1e300}}, "the grade of 'a' in query 'q' must be a whole number"),
        ({"q": {"a": "1"}}, "expected a number for document 'a' of query 'q', found '1'"),
        ({"q": {"b": 1, "a": None}}, "expected a number for document 'a' of query 'q', found None"),
        ({"q": {"a": 10**400}}, "expected a number for document 'a' of query 'q', found 1000"),
        ({"q": 3}, "expected {query: {document: number}}, found int for query 'q'"),
        ({"q": "abc"}, "expected {query: {document: number}}, found str for query 'q'"),
        ({"q": ["a"], "p": "abc"}, "expected {query: {document: number}}, found str for query 'p'"),
        ({1: {"a": 1}}, "expected ids as strings, found 1"),
        ({"q": {1: 1}}, "expected ids as strings, found 1"),
        ({"q": {"a": 1, 2: 1}}, "expected document ids as strings"),
        ({"q": {"a\0b": 1}}, "an id contains a NUL character"),
        ({"q": ["a", "b", "a"]}, "a document appears twice in query 'q'"),
        (3, "expected a table (Polars, pandas, PyArrow, DuckDB, rows) or {query: {document: number}}"),
        (pl.DataFrame({"query_id": ["q"], "doc_id": ["a"]}), "no grade among query_id, doc_id"),
        (pl.DataFrame({"qid": ["q"], "docno": ["a"], "rel": ["x"]}), "must be numbers, found 'x' in row 1"),
        (pl.DataFrame({"qid": ["q"], "docno": [1.5], "rel": [1]}), "ids must be text or whole numbers"),
        (pl.DataFrame({"qid": ["q", None], "docno": ["a", "b"], "rel": [1, 1]}), "the first in row 2"),
        (
            pl.DataFrame({"qid": ["q"] * 2, "docno": ["a"] * 2, "rel": [1, 1]}),
            "'a' appears twice in query 'q'",
        ),
    ],
)
def test_invalid_qrels_are_refused(data: Any, problem: str) -> None:
    with pytest.raises(TableError) as caught:
        Qrels(data)
    assert problem in str(caught.value)


def test_a_run_with_nan_is_refused_with_its_position() -> None:
    with pytest.raises(TableError, match="the score of document 'b' in query 'q' is not a number"):
        Run({"p": {"a": 1.0}, "q": {"a": 1.0, "b": float("nan")}})


def test_a_list_is_a_ranking_in_a_run_and_relevant_documents_in_qrels() -> None:
    assert Run({"q": ["a", "b"], "p": {"a": 0.1, "b": 0.9}}).to_dict() == {
        "q": {"a": 2.0, "b": 1.0},
        "p": {"a": 0.1, "b": 0.9},
    }
    assert Qrels({"q": ["a", "b"]}).to_dict() == {"q": {"a": 1.0, "b": 1.0}}
    assert evaluate({"q": ["b"]}, {"q": ["a", "b"]}, "RR").estimates["RR"].value == 0.5


def test_ids_may_contain_any_character_but_nul() -> None:
    docs = {"a\nb": 1.0, "c\td": 2.0, "": 3.0, " ": 4.0, "é\r\n": 5.0}
    assert Run({"q": docs}).to_dict() == Run(Run({"q": docs}).frame).to_dict() == {"q": docs}
    for rank, doc in enumerate(reversed(docs), 1):
        assert evaluate({"q": {doc: 1}}, {"q": docs}, "RR").scores["RR"].tolist() == [1 / rank]


def test_columns_are_found_by_their_usual_names() -> None:
    rows = {"Topic": ["q"], "docno": ["a"], "Rel": [2]}
    assert Qrels(pl.DataFrame(rows)) == Qrels({"q": {"a": 2}})
    odd = pl.DataFrame({"frage": [7], "text": [3], "punkte": [0.5]})
    run = Run(odd, columns={"query_id": "frage", "doc_id": "text", "score": "punkte"})
    assert run.to_dict() == {"7": {"3": 0.5}}
    with pytest.raises(TableError, match="there is no column 'x' among frage, text, punkte"):
        Run(odd, columns={"query_id": "x"})


def test_ranks_are_used_if_there_are_no_scores() -> None:
    rows = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [2, 1]})
    assert evaluate({"q": {"b": 1}}, Run(rows), "RR").estimates["RR"].value == 1.0


def test_a_table_of_queries_has_each_query_once() -> None:
    with pytest.raises(TableError, match="query_id 'a' appears twice in the table"):
        Queries({"query_id": ["a", "b", "a"]})
    with pytest.raises(TableError, match="expected a column query_id, found text"):
        Queries({"text": ["x"]})
    with pytest.raises(TableError, match="must have the same length"):
        Queries({"query_id": ["a"], "text": []})
    assert Documents({"doc_id": [1], "text": ["x"]}).texts() == {"1": "x"}


def test_undefined_scores_are_none() -> None:
    scores = Scores(["a", "b"], {"RCap@5": np.array([1.0, np.nan])})
    assert scores.to_dict() == {"a": {"RCap@5": 1.0}, "b": {"RCap@5": None}}
    assert scores.frame["value"].to_list() == [1.0, None]
    assert len(scores) == 2


@pytest.mark.parametrize("kind", [FormatError, TableError, MeasureError, MissingExtraError])
def test_input_errors_have_exit_code_2_and_are_value_errors(kind: type[AssayError]) -> None:
    assert issubclass(kind, InputError)
    assert issubclass(kind, ValueError)
    assert kind.exit_code == 2
    assert UndecidableError.exit_code == 3
    assert not issubclass(UndecidableError, InputError)


def test_errors_have_the_location_and_the_remedy() -> None:
    assert str(FormatError("is wrong", "a.run", 3)) == "a.run:3: is wrong"
    assert str(FormatError("is wrong", "a.run")) == "a.run: is wrong"
    assert "pip install 'assay-search[demo]'" in str(MissingExtraError("scikit-learn", "the demo", "demo"))


def test_ids_that_are_true_or_false_are_refused() -> None:
    with pytest.raises(TableError, match="column doc_id holds true and false"):
        Run(pl.DataFrame({"query_id": ["q"], "doc_id": [True], "score": [1.0]}))


def test_a_path_is_not_a_table_and_the_error_says_how_to_read_it() -> None:
    with pytest.raises(TableError, match=r"found str; assay.read\(path\) reads the table of a file"):
        evaluate("qrels.txt", {"q": ["a"]})


def test_a_dictionary_of_columns_is_a_table() -> None:
    run = Run({"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [1, 2]})
    assert run.to_dict() == {"q": {"a": -1.0, "b": -2.0}}


def test_the_id_of_queries_is_found_by_its_usual_names() -> None:
    assert Queries.from_data({"qid": ["q1"], "text": ["how"]}) == Queries(
        {"query_id": ["q1"], "text": ["how"]}
    )


def test_a_query_id_with_nul_is_refused() -> None:
    with pytest.raises(TableError, match="without NUL"):
        Qrels({"a\0b": {"c": 1}})
