"""CSV and TSV."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import large, read, write
from tables import any_ids, back, documents, kept_or_refused, qrels, queries, quick, runs


def saved(tmp_path: Path, text: str | bytes, name: str) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", ["csv", "tsv"])
@quick
@given(run=runs(), judged=qrels())
def test_pairs_written_and_read_are_the_same(
    name: str, run: Run, judged: Qrels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    assert back(run, folder / f"a.{name}.gz", "run", name) == run
    assert back(judged, folder / f"a.{name}", "qrels", name) == judged


@pytest.mark.parametrize("name", ["csv", "tsv"])
@quick
@given(run=runs(any_ids), asked=queries(), found=documents())
def test_any_table_is_kept_or_refused(
    name: str, run: Run, asked: Queries, found: Documents, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("csv") / f"a.{name}"
    assert kept_or_refused(run, path, "run", name) or name == "tsv"
    kept_or_refused(asked, path, "queries", name)
    kept_or_refused(found, path, "documents", name)


def test_a_table_of_queries_keeps_every_kind_of_value(tmp_path: Path) -> None:
    asked = Queries(
        {
            "query_id": ["1", "007"],
            "text": ['say "hi", please\nnow', ""],
            "category": ["faq", None],
            "frequency": [12, None],
            "share": [0.5, 1e-300],
        }
    )
    assert back(asked, tmp_path / "q.csv", None, "csv") == asked


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (["", "x"], "give back as None"),
        (["1", "2"], "give back as 1"),
        ([True, False], "give back as 'True'"),
        ([float("nan"), 1.0], "give back as 'nan'"),
        ([[1], [2]], r"give back as '\[1\]'"),
        ([1, "x"], "give back as '1'"),
    ],
)
def test_a_value_that_would_come_back_as_another_is_not_written(
    column: list[Any], problem: str, tmp_path: Path
) -> None:
    table = Queries({"query_id": ["a", "b"], "extra": column})
    with pytest.raises(InputError, match=f"'extra' holds .*{problem}: write jsonl or parquet instead"):
        write(table, tmp_path / "q.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_would_get_another_name_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'query' would be read back as 'text'"):
        write(Queries({"query_id": ["a"], "query": ["x"]}), tmp_path / "q.csv")


@pytest.mark.parametrize("text", ["a\tb", "a\nb", "a\r"])
def test_what_does_not_fit_a_line_of_tsv_is_not_written(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not fit a line of TSV"):
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
def test_qrels_are_told_by_their_columns(name: str, text: str, tmp_path: Path) -> None:
    assert read(saved(tmp_path, text, name)) == Qrels({"q": {"a": 1, "b": 0}})


@pytest.mark.parametrize(
    "text",
    [
        "query_id,doc_id,score\nq,a,2.5\nq,b,1\n",
        "qid,docid,sim,tag\nq,a,2.5,x\nq,b,1,x\n",
        "score\tdoc_id\tquery_id\n2.5\ta\tq\n1e0\tb\tq\n",
    ],
)
def test_a_run_is_told_by_its_columns(text: str, tmp_path: Path) -> None:
    run = read(saved(tmp_path, text, "mine.csv"))
    assert isinstance(run, Run)
    assert run == Run({"q": {"a": 2.5, "b": 1.0}})
    assert run.name == "mine"


def test_a_run_may_have_ranks_and_no_scores(tmp_path: Path) -> None:
    run = read(saved(tmp_path, "query_id,doc_id,rank\nq,b,2\nq,a,1\n", "a.csv"), "run")
    assert run.to_dict() == {"q": {"b": -2.0, "a": -1.0}}


def test_columns_of_other_names_are_mapped(tmp_path: Path) -> None:
    path = saved(tmp_path, "QueryID,Article,Stars\nq,a,1\n", "a.csv")
    columns = {"query_id": "QueryID", "doc_id": "Article", "grade": "Stars", "score": "Unused"}
    assert read(path, columns=columns, kind="qrels") == Qrels({"q": {"a": 1}})
    with pytest.raises(FormatError, match=r"expected columns query_id, doc_id, grade; no query_id.*columns="):
        read(path, "qrels")


def test_a_mapping_decides_between_qrels_and_a_run(tmp_path: Path) -> None:
    path = saved(tmp_path, "query_id,doc_id,stars,score\nq,a,1,0.5\n", "a.csv")
    assert read(path, columns={"grade": "stars"}) == Qrels({"q": {"a": 1}})
    assert read(path) == Run({"q": {"a": 0.5}})


def test_columns_without_names_are_mapped_by_their_place(tmp_path: Path) -> None:
    path = saved(tmp_path, "7\t42\t1\n7\t43\t2\n", "top.tsv")
    run = read(path, "run", columns={"query_id": "1", "doc_id": "2", "rank": "3"})
    assert run == Run({"7": {"42": -1.0, "43": -2.0}})
    with pytest.raises(FormatError, match="expected columns query_id, doc_id, score; no score"):
        read(path, "run")


def test_queries_have_their_numbers_as_numbers_and_nothing_as_none(tmp_path: Path) -> None:
    text = "id,query,category,frequency,zip\n1,how,faq,12,00501\n2,why,,3.5,94301\n"
    asked = read(saved(tmp_path, text, "q.csv"))
    assert asked == Queries(
        {
            "query_id": ["1", "2"],
            "text": ["how", "why"],
            "category": ["faq", None],
            "frequency": [12, 3.5],
            "zip": ["00501", "94301"],
        }
    )


def test_the_queries_of_the_deep_learning_track_have_no_header(shared: Path) -> None:
    asked = read(shared / "trec_dl2019" / "msmarco-test2019-queries.tsv", "queries")
    assert len(asked) == 200
    assert asked.columns["text"][asked.row["1108939"]] == "what slows down the flow of blood"
    judged = read(shared / "trec_dl2019" / "2019qrels-pass.txt", "qrels")
    assert set(judged.query_ids) <= set(asked.ids)


def test_a_quote_in_a_tsv_is_only_a_character(tmp_path: Path) -> None:
    asked = read(saved(tmp_path, '1\t"how\n2\tsay "x"\n', "q.tsv"))
    assert asked == Queries({"query_id": ["1", "2"], "text": ['"how', 'say "x"']})


def test_queries_that_look_like_judgments_are_queries_when_said_so(tmp_path: Path) -> None:
    path = saved(tmp_path, "1\tupgrade windows 11\n2\tinstall office 365\n", "q.txt")
    assert read(path, "queries").columns["text"] == ["upgrade windows 11", "install office 365"]


def test_documents_are_told_by_their_columns(tmp_path: Path) -> None:
    found = read(saved(tmp_path, "doc_id,title,body,year\nd,A,b,1999\n", "a.csv"))
    assert found == Documents({"doc_id": ["d"], "title": ["A"], "text": ["b"], "year": [1999]})


def test_a_text_of_many_pages_fits_a_field(tmp_path: Path) -> None:
    found = Documents({"doc_id": ["d"], "text": ["word, " * 200_000]})
    assert back(found, tmp_path / "a.csv", None, "csv") == found


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        ("query_id,doc_id,grade\nq,a,1\nq,b\n", "qrels", "a.csv:3: expected 3 fields .* found 2: q, b"),
        ("query_id,doc_id,grade\nq,a,1,9\n", "qrels", "a.csv:2: expected 3 fields .* found 4"),
        ("query_id,doc_id,grade\nq,a,0.5\n", "qrels", "a.csv:2: expected a whole number as the grade"),
        ("query_id,doc_id,grade\nq,a,1e9\n", "qrels", "a.csv:2: expected a whole number as the grade"),
        ("query_id,grade\nq,1\n", "qrels", "a.csv:1: expected columns query_id, doc_id, grade; no doc_id"),
        ("query_id,doc_id,grade\nq,a,\n", "qrels", "a.csv:2: expected a number as the grade, found ''"),
        ("query_id,doc_id,grade\nq,,1\n", "qrels", "a.csv:2: expected text as doc_id"),
        (
            "query_id,doc_id,grade\nq,a,1\n\nq,a,0\n",
            "qrels",
            "a.csv:4: document 'a' stands twice in query 'q'",
        ),
        ("query_id,doc_id,score\nq,a,nan\n", "run", "a.csv:2: the score is NaN"),
        ("query_id,doc_id,score\nq,a,1_0\n", "run", "a.csv:2: expected a number as the score"),
        ("query_id,doc_id,score\n", "run", "a.csv: expected rows of run, found none"),
        ("query_id,doc_id,doc_id\nq,a,1\n", "run", "a.csv:1: two columns have the name 'doc_id'"),
        ('query_id,text\nq,"a\n', "queries", "a.csv:2: is no CSV"),
        ('query_id,text\nq,"a"b\n', "queries", "a.csv:2: is no CSV"),
        ('query_id,text\nq,"a\nb"\nq,c\n', "queries", "a.csv:4: query_id 'q' stands twice .first on line 2"),
        ("text,category\na,b\n", "queries", "a.csv:1: no column query_id among text, category"),
        (b"query_id,text\nq,\xff\n", "queries", "a.csv:2: expected UTF-8"),
        ("query_id,doc_id\nq,a\n", None, "cannot tell qrels, run, queries and documents apart"),
        ("query_id,doc_id,grade,score\nq,a,1,2\n", None, "cannot tell qrels, run"),
        ("one,two\n1,2\n", None, "cannot tell qrels, run"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(
    text: str | bytes, kind: Any, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=problem):
        read(saved(tmp_path, text, "a.csv"), kind)


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "LARGE", 0)


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.csv.gz", "a.tsv.zst"])
def test_a_large_file_gives_the_same_table(name: str, tmp_path: Path) -> None:
    run = Run({f"q{q}": {f"d {d},{q}": d / (q + 3) for d in range(50)} for q in range(40)})
    write(run, tmp_path / name)
    assert read(tmp_path / name) == run
    judged = Qrels({f"q{q}": {f"d{d}": d % 4 for d in range(50)} for q in range(40)})
    write(judged, tmp_path / name)
    assert read(tmp_path / name) == judged


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("query_id,doc_id,score\nq,a,1\nq,a,1\n", "a.csv:3: document 'a' stands twice"),
        ("query_id,doc_id,score\nq,a,1\nq,b\n", "a.csv:3: expected 3 fields"),
        ("query_id,doc_id,score\nq,a,1\nq,b,1,1\n", "a.csv:3: expected 3 fields"),
        ("query_id,doc_id,score\nq,a,1\nq,b,x\n", "a.csv:3: expected a number"),
        ("query_id,doc_id,score\nq,a,1\nq,b,NaN\n", "a.csv:3: the score is NaN"),
        ("query_id,doc_id,score\nq,a,1\n,b,1\n", "a.csv:3: expected text as query_id"),
    ],
)
def test_a_large_file_that_is_wrong_is_refused_with_its_line(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem):
        read(saved(tmp_path, text, "a.csv"))


@pytest.mark.usefixtures("small_is_large")
def test_a_large_file_without_a_header_is_read(tmp_path: Path) -> None:
    assert read(saved(tmp_path, "7\t42\t1\n7\t43\t0\n", "a.tsv")) == Qrels({"7": {"42": 1, "43": 0}})


def test_a_large_file_reads_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.csv"
    for large_from in (0, large.LARGE):
        monkeypatch.setattr(large, "LARGE", large_from)
        path.write_text("query_id,Query_ID,doc_id,score\nq,r,a,1\n")
        assert read(path, "run").to_dict() == {"q": {"a": 1.0}}
        path.write_text('query_id,doc_id,score\nq,"",1\n')
        with pytest.raises(FormatError, match=r"run.csv:2: expected text as doc_id, found ''"):
            read(path, "run")
