"""CSV and TSV."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import input_files, read, write
from tests.datasets.strategies import (
    any_ids,
    check_kept_or_refused,
    documents,
    qrels,
    queries,
    quick,
    runs,
    write_and_read,
)


def write_file(tmp_path: Path, text: str | bytes, name: str) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", ["csv", "tsv"])
@quick
@given(run=runs(), judgments=qrels())
def test_pairs_written_and_read_are_the_same(
    name: str, run: Run, judgments: Qrels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    assert write_and_read(run, folder / f"a.{name}.gz", "run", name) == run
    assert write_and_read(judgments, folder / f"a.{name}", "qrels", name) == judgments


@pytest.mark.parametrize("name", ["csv", "tsv"])
@quick
@given(run=runs(any_ids), query_table=queries(), document_table=documents())
def test_any_table_is_kept_or_refused(
    name: str,
    run: Run,
    query_table: Queries,
    document_table: Documents,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("csv") / f"a.{name}"
    assert check_kept_or_refused(run, path, "run", name) or name == "tsv"
    check_kept_or_refused(query_table, path, "queries", name)
    check_kept_or_refused(document_table, path, "documents", name)


def test_a_table_of_queries_keeps_every_kind_of_value(tmp_path: Path) -> None:
    query_table = Queries(
        {
            "query_id": ["1", "007"],
            "text": ['say "hi", please\nnow', ""],
            "category": ["faq", None],
            "frequency": [12, None],
            "share": [0.5, 1e-300],
        }
    )
    assert write_and_read(query_table, tmp_path / "q.csv", None, "csv") == query_table


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (["", "x"], "would be read from csv as None"),
        (["1", "2"], "would be read from csv as 1"),
        ([True, False], "would be read from csv as 'True'"),
        ([float("nan"), 1.0], "would be read from csv as 'nan'"),
        ([[1], [2]], r"would be read from csv as '\[1\]'"),
        ([1, "x"], "would be read from csv as '1'"),
    ],
)
def test_a_value_that_would_change_is_not_written(column: list[Any], problem: str, tmp_path: Path) -> None:
    table = Queries({"query_id": ["a", "b"], "extra": column})
    with pytest.raises(InputError, match=f"'extra' holds .*{problem}: write jsonl or parquet instead"):
        write(table, tmp_path / "q.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_would_get_another_name_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'query' would be read as 'text'"):
        write(Queries({"query_id": ["a"], "query": ["x"]}), tmp_path / "q.csv")


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\r"])
def test_a_value_that_tsv_cannot_hold_is_not_written(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be a line of TSV"):
        write(Queries({"query_id": ["q"], "text": [text]}), tmp_path / "q.tsv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "query_id,doc_id,grade\nq,a,1\nq,b,0\n"),
        ("a.csv", "\ufeffquery_id,doc_id,grade\r\nq,a,1\r\n\r\nq,b,0"),
        ("a.csv", '"qid","docno","relevance"\n"q","a","1"\n"q","b","0"\n'),
        ("a.csv", "query_id, doc_id, grade\nq, a, 1\nq, b, 0\n"),
        ("a.csv", "grade;doc_id;query_id;by\n1;a;q;me\n0;b;q;me\n"),
        ("a.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t0\n"),
        ("odd.txt", "Query_ID\tDocID\tLabel\nq\ta\t1\nq\tb\t0.0\n"),
        ("a", "q\ta\t1\nq\tb\t0\n"),
        ("qrels.csv", "query_id,doc_id,score\nq,a,1\nq,b,0\n"),
    ],
)
def test_qrels_are_detected_by_their_columns(name: str, text: str, tmp_path: Path) -> None:
    assert read(write_file(tmp_path, text, name)) == Qrels({"q": {"a": 1, "b": 0}})


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,score\nq,a,2.5\nq,b,1\n",
        "qid,docid,sim,tag\nq,a,2.5,x\nq,b,1,x\n",
        "score\tdoc_id\tquery_id\n2.5\ta\tq\n1e0\tb\tq\n",
    ],
)
def test_a_run_is_detected_by_its_columns(text: str, tmp_path: Path) -> None:
    run = read(write_file(tmp_path, text, "mine.csv"))
    assert isinstance(run, Run)
    assert run == Run({"q": {"a": 2.5, "b": 1.0}})
    assert run.name == "mine"


def test_a_run_may_have_ranks_and_no_scores(tmp_path: Path) -> None:
    run = read(write_file(tmp_path, "query_id,doc_id,rank\nq,b,2\nq,a,1\n", "a.csv"), "run")
    assert run.to_dict() == {"q": {"b": -2.0, "a": -1.0}}


def test_columns_of_other_names_are_mapped(tmp_path: Path) -> None:
    path = write_file(tmp_path, "QueryID,Article,Stars\nq,a,1\n", "a.csv")
    columns = {"query_id": "QueryID", "doc_id": "Article", "grade": "Stars", "score": "Unused"}
    assert read(path, columns=columns, kind="qrels") == Qrels({"q": {"a": 1}})
    with pytest.raises(FormatError, match=r"expected columns query_id, doc_id, grade; no query_id.*columns="):
        read(path, "qrels")


def test_a_mapping_decides_between_qrels_and_a_run(tmp_path: Path) -> None:
    path = write_file(tmp_path, "query_id,doc_id,stars,score\nq,a,1,0.5\n", "a.csv")
    assert read(path, columns={"grade": "stars"}) == Qrels({"q": {"a": 1}})
    assert read(path) == Run({"q": {"a": 0.5}})


def test_columns_without_names_are_mapped_by_position(tmp_path: Path) -> None:
    path = write_file(tmp_path, "7\t42\t1\n7\t43\t2\n", "top.tsv")
    run = read(path, "run", columns={"query_id": "1", "doc_id": "2", "rank": "3"})
    assert run == Run({"7": {"42": -1.0, "43": -2.0}})
    with pytest.raises(FormatError, match="expected columns query_id, doc_id, score; no score"):
        read(path, "run")


def test_numbers_of_queries_are_numbers_and_empty_values_are_none(tmp_path: Path) -> None:
    text = "id,query,category,frequency,zip\n1,how,faq,12,00501\n2,why,,3.5,94301\n"
    query_table = read(write_file(tmp_path, text, "q.csv"))
    assert query_table == Queries(
        {
            "query_id": ["1", "2"],
            "text": ["how", "why"],
            "category": ["faq", None],
            "frequency": [12, 3.5],
            "zip": ["00501", "94301"],
        }
    )


def test_the_queries_of_the_deep_learning_track_have_no_header(shared: Path) -> None:
    query_table = read(shared / "trec_dl2019" / "msmarco-test2019-queries.tsv", "queries")
    assert len(query_table) == 200
    assert (
        query_table.columns["text"][query_table.row_by_id["1108939"]] == "what slows down the flow of blood"
    )
    judgments = read(shared / "trec_dl2019" / "2019qrels-pass.txt", "qrels")
    assert set(judgments.query_ids) <= set(query_table.ids)


def test_a_quote_in_a_tsv_is_only_a_character(tmp_path: Path) -> None:
    query_table = read(write_file(tmp_path, '1\t"how\n2\tsay "x"\n', "q.tsv"))
    assert query_table == Queries({"query_id": ["1", "2"], "text": ['"how', 'say "x"']})


def test_queries_that_look_like_judgments_are_queries_if_the_kind_is_given(tmp_path: Path) -> None:
    path = write_file(tmp_path, "1\tupgrade windows 11\n2\tinstall office 365\n", "q.txt")
    assert read(path, "queries").columns["text"] == ["upgrade windows 11", "install office 365"]


def test_documents_are_detected_by_their_columns(tmp_path: Path) -> None:
    document_table = read(write_file(tmp_path, "doc_id,title,body,year\nd,A,b,1999\n", "a.csv"))
    assert document_table == Documents({"doc_id": ["d"], "title": ["A"], "text": ["b"], "year": [1999]})


def test_a_field_may_be_a_text_of_many_pages(tmp_path: Path) -> None:
    document_table = Documents({"doc_id": ["d"], "text": ["word, " * 200_000]})
    assert write_and_read(document_table, tmp_path / "a.csv", None, "csv") == document_table


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("query_id,doc_id,grade\nq,a,1\nq,b\n", "qrels", "a.csv:3: expected 3 fields .* found 2: q, b"),
        ("query_id,doc_id,grade\nq,a,1,9\n", "qrels", "a.csv:2: expected 3 fields .* found 4"),
        ("query_id,doc_id,grade\nq,a,0.5\n", "qrels", "a.csv:2: expected a whole number as the grade"),
        (
            "query_id,doc_id,grade\nq,a,1e9\n",
            "qrels",
            "a.csv:2: expected a whole number as the grade below 10",
        ),
        ("query_id,grade\nq,1\n", "qrels", "a.csv:1: expected columns query_id, doc_id, grade; no doc_id"),
        ("query_id,doc_id,grade\nq,a,\n", "qrels", "a.csv:2: expected a number as the grade, found ''"),
        ("query_id,doc_id,grade\nq,,1\n", "qrels", "a.csv:2: expected text as doc_id"),
        (
            "query_id,doc_id,grade\nq,a,1\n\nq,a,0\n",
            "qrels",
            "a.csv:4: document 'a' appears twice in query 'q'",
        ),
        ("query_id,doc_id,score\nq,a,nan\n", "run", "a.csv:2: the score is NaN"),
        ("query_id,doc_id,score\nq,a,1_0\n", "run", "a.csv:2: expected a number as the score"),
        ("query_id,doc_id,score\n", "run", "a.csv: expected rows of run, found none"),
        ("query_id,doc_id,doc_id\nq,a,1\n", "run", "a.csv:1: two columns have the name 'doc_id'"),
        ('query_id,text\nq,"a\n', "queries", "a.csv:2: is not valid CSV"),
        ('query_id,text\nq,"a"b\n', "queries", "a.csv:2: is not valid CSV"),
        ('query_id,text\nq,"a\nb"\nq,c\n', "queries", "a.csv:4: query_id 'q' appears twice .first on line 2"),
        ("text,category\na,b\n", "queries", "a.csv:1: no column query_id among text, category"),
        (b"query_id,text\nq,\xff\n", "queries", "a.csv:2: expected UTF-8"),
        ("query_id,doc_id\nq,a\n", None, "cannot tell from the columns"),
        ("query_id,doc_id,grade,score\nq,a,1,2\n", None, "cannot tell from the columns"),
        ("one,two\n1,2\n", None, "cannot tell from the columns"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(
    text: str | bytes, kind: Any, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=problem):
        read(write_file(tmp_path, text, "a.csv"), kind)


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_files, "LARGE_FILE_BYTES", 0)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz", "a.tsv.zst"])
def test_a_large_file_gives_the_same_table(name: str, tmp_path: Path) -> None:
    run = Run({f"q{q}": {f"d {d},{q}": d / (q + 3) for d in range(50)} for q in range(40)})
    write(run, tmp_path / name)
    assert read(tmp_path / name) == run
    judgments = Qrels({f"q{q}": {f"d{d}": d % 4 for d in range(50)} for q in range(40)})
    write(judgments, tmp_path / name)
    assert read(tmp_path / name) == judgments


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("query_id,doc_id,score\nq,a,1\nq,a,1\n", "a.csv:3: document 'a' appears twice"),
        ("query_id,doc_id,score\nq,a,1\nq,b\n", "a.csv:3: expected 3 fields"),
        ("query_id,doc_id,score\nq,a,1\nq,b,1,1\n", "a.csv:3: expected 3 fields"),
        ("query_id,doc_id,score\nq,a,1\nq,b,x\n", "a.csv:3: expected a number"),
        ("query_id,doc_id,score\nq,a,1\nq,b,NaN\n", "a.csv:3: the score is NaN"),
        ("query_id,doc_id,score\nq,a,1\n,b,1\n", "a.csv:3: expected text as query_id"),
    ],
)
def test_a_large_file_that_is_wrong_is_refused_with_its_line(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem):
        read(write_file(tmp_path, text, "a.csv"))


@pytest.mark.usefixtures("small_is_large")
def test_a_large_file_without_a_header_is_read(tmp_path: Path) -> None:
    assert read(write_file(tmp_path, "7\t42\t1\n7\t43\t0\n", "a.tsv")) == Qrels({"7": {"42": 1, "43": 0}})


def test_a_large_file_reads_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.csv"
    for large_from in (0, input_files.LARGE_FILE_BYTES):
        monkeypatch.setattr(input_files, "LARGE_FILE_BYTES", large_from)
        path.write_text("query_id,Query_ID,doc_id,score\nq,r,a,1\n")
        assert read(path, "run").to_dict() == {"q": {"a": 1.0}}
        path.write_text('query_id,doc_id,score\nq,"",1\n')
        with pytest.raises(FormatError, match=r"run.csv:2: expected text as doc_id, found ''"):
            read(path, "run")


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_a_file_without_a_header_is_refused_with_the_options_that_read_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text("q1,d1,0.5\nq1,d2,0.4\n".replace(",", "\t" if name == "a.tsv" else ","))
    with pytest.raises(FormatError, match="add one; or number the columns") as caught:
        read(path, "run")
    options = "--columns run:query_id=1 --columns run:doc_id=2 --columns run:score=3"
    assert options in str(caught.value)
    columns = {"query_id": "1", "doc_id": "2", "score": "3"}
    assert read(path, "run", columns=columns).to_dict() == {"q1": {"d1": 0.5, "d2": 0.4}}
