"""Files of judgments: tables, qrels and the exports of annotation tools."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError
from assay.core.judgments import Judgments
from assay.datasets.judgment_files import JUDGMENT_FORMATS, read_judgments, write_judgments
from assay.datasets.query_list import query_id

ROWS = [("q1", "d1", "ann", 2.0), ("q1", "d1", "bob", 1.0), ("q1", "d2", "ann", 0.0)]
EXPECTED = Judgments.from_rows(ROWS)
LONG = "query_id,doc_id,judge,grade\nq1,d1,ann,2\nq1,d1,bob,1\nq1,d2,ann,0\n"
WIDE = "query_id,doc_id,ann,bob\nq1,d1,2,1\nq1,d2,0,\n"
ARGILLA = [
    {
        "id": "1",
        "fields": {"text": "…"},
        "metadata": {"query_id": "q1", "doc_id": "d1"},
        "suggestions": {"grade": {"value": 0, "score": 0.9, "agent": "model"}},
        "responses": {"grade": [{"value": 2, "user_id": "ann"}, {"value": 1, "user_id": "bob"}]},
    },
    {
        "id": "2",
        "fields": {"text": "…"},
        "metadata": {"query_id": "q1", "doc_id": "d2"},
        "responses": {"grade": [{"value": 0, "user_id": "ann"}]},
    },
]
FIRST_ARGILLA = [
    {
        "external_id": "1",
        "fields": {"query": "…", "query_id": "q1", "doc_id": "d1"},
        "responses": [
            {"user_id": "ann", "status": "submitted", "values": {"relevance": {"value": 2}}},
            {"user_id": "bob", "status": "submitted", "values": {"relevance": {"value": 1}}},
            {"user_id": "eve", "status": "draft", "values": {"relevance": {"value": 0}}},
        ],
    },
    {
        "external_id": "2",
        "fields": {"query": "…", "query_id": "q1", "doc_id": "d2"},
        "responses": [{"user_id": "ann", "status": "submitted", "values": {"relevance": {"value": 0}}}],
    },
]


def write_text(folder: Path, content: Any, name: str = "labels") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def annotation(judge: Any, kind: str, value: Any, **others: Any) -> dict[str, Any]:
    result = [{"from_name": "grade", "to_name": "text", "type": kind, "value": {kind: value}}]
    return {"completed_by": judge, "was_cancelled": False, "result": result, **others}


LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"query_id": "q1", "doc_id": "d1"},
        "annotations": [annotation({"email": "ann"}, "rating", 2), annotation("bob", "choices", ["1"])],
        "predictions": [{"result": []}],
    },
    {
        "id": 2,
        "data": {"query_id": "q1", "doc_id": "d2"},
        "annotations": [annotation("ann", "number", 0)],
    },
]
JSON_MIN = [
    {"query_id": "q1", "doc_id": "d1", "relevance": "2", "annotator": "ann", "id": 1, "lead_time": 2.5},
    {"query_id": "q1", "doc_id": "d1", "relevance": "1", "annotator": "bob", "id": 1, "lead_time": 1.5},
    {"query_id": "q1", "doc_id": "d2", "relevance": "0", "annotator": "ann", "id": 2, "lead_time": 0.5},
]


@pytest.mark.parametrize(
    "content",
    [
        LONG,
        WIDE,
        WIDE.replace(",", ";"),
        LONG.replace(",", "\t"),
        "query_id doc_id judge grade\nq1 d1 ann 2\nq1 d1 bob 1\nq1 d2 ann 0\n",
        "qid,docno,rater,label,text\nq1,d1,ann,2,x\nq1,d1,bob,1.0,\nq1,d2,ann,0,x\n",
        "\ufeffquery_id,doc_id,title,ann,bob,comment\nq1,d1,10,2,1,\nq1,d2,11,0,NA,3\n",
        "q1,d1,ann,2\nq1,d1,bob,1\nq1,d2,ann,0\n",
        [dict(zip(("query_id", "doc_id", "judge", "grade"), row, strict=True)) for row in ROWS],
        '{"qid": "q1", "docid": "d1", "ann": 2, "bob": 1}\n{"qid": "q1", "docid": "d2", "ann": 0}',
        ARGILLA,
        FIRST_ARGILLA,
        LABEL_STUDIO,
        JSON_MIN,
    ],
)
def test_judgments_are_read_from_every_layout(content: Any, tmp_path: Path) -> None:
    assert read_judgments(write_text(tmp_path, content)) == EXPECTED


def test_a_quepid_book_names_queries_by_their_texts(tmp_path: Path) -> None:
    judgements = [
        {
            "rating": 3.0,
            "unrateable": False,
            "judge_later": False,
            "user_email": "ann",
            "explanation": "exact",
        },
        {"rating": None, "unrateable": True, "judge_later": False, "user_email": "bob", "explanation": "?"},
        {"rating": None, "unrateable": False, "judge_later": True, "user_email": "cy", "explanation": ""},
    ]
    pair = {"query_text": "star  wars", "doc_id": "11", "position": 1, "judgements": judgements}
    book = {"name": "films", "query_doc_pairs": [pair, {"query_text": "trek", "doc_id": "2"}]}
    judgments = read_judgments(write_text(tmp_path, book))
    assert judgments.frame.select("query_id", "judge", "grade", "note").rows() == [
        (query_id("star wars"), "ann", 3.0, "exact"),
        (query_id("star wars"), "bob", None, "?"),
    ]


def test_a_skipped_task_and_a_discarded_response_are_judgments_without_a_grade(tmp_path: Path) -> None:
    skipped = {"completed_by": 7, "was_cancelled": True, "result": [], "created_at": "2026-01-02T03:04:05Z"}
    tasks = [
        {"id": 5, "data": {"text": "…"}, "annotations": [skipped, annotation(8, "choices", ["Relevant"])]}
    ]
    judgments = read_judgments(write_text(tmp_path, tasks))
    assert judgments.frame.select("query_id", "doc_id", "judge", "grade").rows() == [
        ("5", "5", "7", None),
        ("5", "5", "8", 1.0),
    ]
    assert judgments.frame["at"].to_list() == [datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), None]
    answers = [
        {"user_id": "ann", "status": "discarded", "values": {"grade": {"value": 2}}},
        {"user_id": "bob", "status": "submitted", "values": {"grade": {"value": "highly relevant"}}},
    ]
    records = [{"id": "r", "fields": {"text": "…"}, "responses": answers}]
    assert read_judgments(write_text(tmp_path, records)).frame["grade"].to_list() == [None, 2.0]


def test_qrels_are_the_judgments_of_one_judge(tmp_path: Path) -> None:
    expected = [("q1", "a", "mine", 2.0), ("q1", "b", "mine", 0.0)]
    for name, content in {
        "mine.qrels": "q1 0 a 2\nq1 0 b 0\n",
        "mine.txt": "q1\tQ0\ta\t2\nq1\tQ0\tb\t0\n",
        "mine.tsv": "query-id\tcorpus-id\tscore\nq1\ta\t2\nq1\tb\t0\n",
        "mine.json": '{"q1": {"a": 2, "b": 0}}',
        "mine.jsonl": '{"qid": "q1", "docid": "a", "grade": 2}\n{"qid": "q1", "docid": "b", "grade": 0}\n',
    }.items():
        path = write_text(tmp_path, content, name)
        assert read_judgments(path).frame.select("query_id", "doc_id", "judge", "grade").rows() == expected


def test_a_table_of_items_has_a_pair_for_each_item(tmp_path: Path) -> None:
    path = write_text(tmp_path, "item,ann,bob\nx,1,0\ny,,2\n")
    assert read_judgments(path).frame.select("query_id", "doc_id", "judge", "grade").rows() == [
        ("x", "x", "ann", 1.0),
        ("x", "x", "bob", 0.0),
        ("y", "y", "bob", 2.0),
    ]


def test_columns_name_what_the_file_names_otherwise(tmp_path: Path) -> None:
    path = write_text(tmp_path, "thing,who,old,new\nx,ann,1,2\nx,bob,0,2\n")
    columns = {"doc_id": "thing", "judge": "who", "grade": "new"}
    assert read_judgments(path, columns=columns).frame["grade"].to_list() == [2.0, 2.0]
    numbered = write_text(tmp_path, "1 x 2\n2 x 2\n")
    columns = {"doc_id": "2", "judge": "1", "grade": "3"}
    assert read_judgments(numbered, columns=columns).judges == ["1", "2"]
    wide = write_text(tmp_path, "thing,rank,a,b\nx,1,2,3\n")
    assert read_judgments(wide, columns={"doc_id": "thing", "judges": "a,b"}).judges == ["a", "b"]


def test_labels_give_the_grades_of_texts(tmp_path: Path) -> None:
    path = write_text(tmp_path, "item,ann,bob\nx,Good,bad\ny,good,\n")
    labels = {"good": 3.0, "bad": 0.0}
    assert read_judgments(path, columns={"judges": "ann,bob"}, labels=labels).grades.tolist() == [3, 0, 3]


def test_the_reviewers_of_the_times_are_read_with_both_rounds(shared: Path) -> None:
    path = shared / "nyt_reviewers" / "reviewers_independent_judgments_deidentified.csv"
    first, second = read_judgments(path), read_judgments(path, columns={"grade": "new_relevance"})
    assert (len(first.pairs), first.judges) == (120, ["r1", "r2", "r3"])
    assert [(table.grades == 2).sum() for table in (first, second)] == [100, 90]


def test_a_crowd_file_without_a_header_is_item_rater_and_grade(shared: Path) -> None:
    judgments = read_judgments(shared / "web_crowd" / "web_crowd.txt")
    assert (len(judgments.pairs), len(judgments.judges), len(judgments)) == (2665, 177, 15567)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file is empty"),
        ("query_id,doc_id,judge,grade\n", "expected rows of judgments, found none"),
        (LONG + "q1,d1,bob,0\n", r"labels:5: judge 'bob' judged document 'd1' .* twice: first in line 3"),
        (WIDE + "q1,d1,,3\n", r"labels:4: judge 'bob' judged .* twice: first in line 2"),
        (LONG + "q1,,bob,0\n", "labels:5: expected text as doc_id, found ''"),
        (LONG + "q1,d9,,0\n", "labels:5: expected text as judge, found ''"),
        (LONG + "q1,d9,bob,good\n", r"labels:5: expected a number as the grade \(grade\), found 'good'"),
        (WIDE + "q1,d9,1,x\n", r"labels:4: expected a number as the grade \(bob\), found 'x'"),
        (LONG + "q1,d9,bob\n", r"labels:5: expected 4 fields .*, found 3"),
        (LONG + 'q1,"d9,bob,1\n', "labels:5: is not valid CSV"),
        ("query_id,query_id,ann\nq,d,1\n", "two columns have the name 'query_id'"),
        ("query_id,doc_id,judge\nq,d,ann\n", "expected columns query_id, doc_id, judge, grade, or one"),
        ("thing,ann,bob\nx,1,2\n", "expected columns query_id and doc_id, or one such as item"),
        ("query_id,doc_id,grade,other\nq,d,1,2\n", "found also numbers in other: say which it is"),
        ("a b 1\nc d 2\n", "expected a header with names such as query_id"),
        ("query_id,doc_id,ann,bob\nq,d,,\n", "expected columns query_id, doc_id, judge, grade"),
        ("[]", "expected rows of judgments, found none"),
        ("q1 Q0 d1 1 2.5 bm25\n", "expected judgments, found a run"),
        ("[1]", "record 1: expected an object, found 1"),
        ('[{"qid": "q", "doc_id": [1], "judge": "a", "grade": 1}]', r"record 1: expected text .* doc_id"),
        ('[{"qid": "q", "doc_id": "d", "judge": "a", "grade": 1, "at": 5}]', "record 1: expected a time"),
        ('{"query_id": "q", "doc_id": "d", "judge": "a", "grade": 1}\n{"query_id"', "labels:2: is not valid"),
        ('{"query_doc_pairs": [{"query_text": " ", "doc_id": "d"}]}', "pair 1: expected the text of a query"),
        ('{"query_doc_pairs": [{"query_text": "x", "judgements": 3}]}', "pair 1: expected a list of objects"),
        ('[{"fields": {"a": 1}, "responses": {"grade": [3]}}]', "record 1: expected responses as in"),
        ('[{"data": {"a": 1}, "annotations": [3]}]', "record 1: expected a list of objects as annotations"),
        ('[{"data": {"a": 1}, "annotations": [{"result": [3]}]}]', "record 1: expected results as in"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_with_its_place(content: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem):
        read_judgments(write_text(tmp_path, content))


def test_two_questions_that_can_hold_the_grade_must_be_told_apart(tmp_path: Path) -> None:
    answers = {name: [{"value": 1, "user_id": "ann"}] for name in ("fluent", "useful")}
    path = write_text(tmp_path, [{"id": "1", "fields": {"text": "…"}, "responses": answers}])
    with pytest.raises(
        FormatError, match="expected one of the questions to hold the grade, found fluent, useful"
    ):
        read_judgments(path)
    assert len(read_judgments(path, columns={"grade": "useful"})) == 1


IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6)
GRADES = st.one_of(st.none(), st.integers(-3, 5).map(float), st.floats(0, 4, width=32))


@st.composite
def tables(draw: st.DrawFn, ids: st.SearchStrategy[str] = IDS) -> Judgments:
    keys = draw(st.lists(st.tuples(ids, ids, ids), min_size=1, max_size=6, unique=True))
    times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
    rows = [
        (*key, draw(GRADES), draw(st.none() | times), draw(st.just("") | IDS), draw(st.just("") | IDS))
        for key in keys
    ]
    names = ("query_id", "doc_id", "judge", "grade", "at", "source", "note")
    return Judgments(pl.DataFrame(rows, schema=list(names), orient="row", infer_schema_length=None))


@pytest.mark.parametrize("name", ["csv", "jsonl", "json", "parquet", "arrow"])
@settings(max_examples=30)
@given(judgments=tables())
def test_a_table_is_read_as_it_was_written(name: str, judgments: Judgments, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.getbasetemp() / f"round_trip.{name}"
    write_judgments(judgments, path)
    assert read_judgments(path) == judgments


PLAIN_IDS = st.text("abcxyz0123456789-:/é", min_size=1, max_size=8).filter(
    lambda text: text.isascii() or True
)


@pytest.mark.parametrize("name", ["tsv", "argilla", "label-studio"])
@settings(max_examples=30)
@given(judgments=tables(PLAIN_IDS))
def test_an_export_keeps_pairs_judges_and_grades(
    name: str, judgments: Judgments, tmp_path_factory: Any
) -> None:
    judgments = judgments.take(pl.lit(value=True))
    judgments.frame = judgments.frame.with_columns(note=pl.lit(""), source=pl.lit(""))
    path = tmp_path_factory.getbasetemp() / "round_trip.out"
    write_judgments(judgments, path, name)
    names = ["query_id", "doc_id", "judge", "grade"]
    read = read_judgments(path, "tsv" if name == "tsv" else None)
    assert read.frame.select(names).sort(names).equals(judgments.frame.select(names).sort(names))


def test_a_quepid_book_is_read_as_it_was_written(tmp_path: Path) -> None:
    key = query_id("vpn")
    judgments = Judgments.from_rows([(key, "d1", "ann", 2), (key, "d1", "bob", None), (key, "d2", "ann", 0)])
    write_judgments(judgments, tmp_path / "book.json", "quepid")
    assert read_judgments(tmp_path / "book.json") == judgments
    assert json.loads((tmp_path / "book.json").read_text())["name"] == "book"


def test_qrels_are_written_for_one_judge_only(tmp_path: Path) -> None:
    one = EXPECTED.take(pl.col("judge") == "ann")
    write_judgments(one, tmp_path / "ann.qrels")
    assert read_judgments(tmp_path / "ann.qrels") == one
    with pytest.raises(InputError, match="qrels hold one grade for each pair, found 2 judges"):
        write_judgments(EXPECTED, tmp_path / "both.qrels")


def test_a_format_is_named_or_told_by_the_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected one of csv, .* found 'cvs'; did you mean csv"):
        read_judgments(tmp_path / "x.csv", "cvs")
    with pytest.raises(InputError, match=r"the format cannot be told from the name \(\.csv"):
        write_judgments(EXPECTED, tmp_path / "labels")
    with pytest.raises(FormatError, match="found a folder"):
        read_judgments(tmp_path)
    with pytest.raises(FormatError, match="expected a book of Quepid as JSON, found other JSON"):
        read_judgments(write_text(tmp_path, ARGILLA), "quepid")
    assert set(JUDGMENT_FORMATS) >= {"csv", "quepid", "argilla", "label-studio"}
