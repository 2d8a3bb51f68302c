"""BEIR folders."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.datasets import Collection, helpcentre, read, write
from tests.datasets.strategies import documents, is_infinite, qrels, queries, quick

QUERIES = [
    {"_id": "q1", "text": "how", "metadata": {"category": "faq", "n": 3}},
    {"_id": "q2", "text": "why", "metadata": {}},
]
CORPUS = [
    {"_id": "d1", "title": "A", "text": "one", "metadata": {"url": "x"}},
    {"_id": "d2", "title": "", "text": "two", "metadata": {}},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "scifact"
    (target / "qrels").mkdir(parents=True)
    (target / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUERIES))
    (target / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CORPUS))
    for split, grade in (("test", 2), ("dev", 1)):
        (target / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\nq1\td1\t{grade}\n")
    return target


def test_a_folder_gives_all_three_tables(folder: Path) -> None:
    assert read(folder) == Collection(
        Queries(
            {"query_id": ["q1", "q2"], "text": ["how", "why"], "category": ["faq", None], "n": [3, None]}
        ),
        Qrels({"q1": {"d1": 2}}),
        Documents({"doc_id": ["d1", "d2"], "title": ["A", ""], "text": ["one", "two"], "url": ["x", None]}),
    )


def test_each_table_can_be_read_separately(folder: Path) -> None:
    assert read(folder, "qrels") == Qrels({"q1": {"d1": 2}})
    assert len(read(folder, "queries")) == len(read(folder, "documents")) == 2


def test_a_split_is_read_by_its_file(folder: Path) -> None:
    assert read(folder / "qrels" / "dev.tsv") == Qrels({"q1": {"d1": 1}})
    (folder / "qrels" / "test.tsv").unlink()
    assert read(folder, "qrels") == Qrels({"q1": {"d1": 1}})


def test_a_file_of_the_folder_is_detected_by_content_and_name(folder: Path) -> None:
    assert isinstance(read(folder / "queries.jsonl"), Queries)
    assert isinstance(read(folder / "corpus.jsonl"), Documents)


def test_the_rows_and_their_metadata_survive_the_round_trip(folder: Path, tmp_path: Path) -> None:
    write(read(folder), tmp_path / "again")
    for name, rows in (("queries", QUERIES), ("corpus", CORPUS)):
        lines = (tmp_path / "again" / f"{name}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == rows
    assert (tmp_path / "again/qrels/test.tsv").read_text() == "query-id\tcorpus-id\tscore\nq1\td1\t2\n"
    assert read(tmp_path / "again") == read(folder)


def test_metadata_with_the_name_of_a_field_keeps_both(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"_id": "q", "text": "a", "metadata": {"text": "b", "_id": "c"}}\n')
    queries = read(path, "queries")
    assert queries.columns == {
        "query_id": ["q"], "text": ["a"], "metadata.text": ["b"], "metadata._id": ["c"],
    }  # fmt: skip
    write(queries, tmp_path / "again", format="beir")
    assert read(tmp_path / "again", "queries") == queries


@quick
@given(query_table=queries(), judgments=qrels(), document_table=documents())
def test_a_collection_written_and_read_is_the_same(
    query_table: Queries,
    judgments: Qrels,
    document_table: Documents,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("beir") / "folder"
    collection = Collection(query_table, judgments, document_table)
    infinite = any(
        is_infinite(value)
        for part in (query_table, document_table)
        for v in part.columns.values()
        for value in v
    )
    with pytest.raises(FormatError, match="JSON cannot hold") if infinite else nullcontext():
        write(collection, path)
    if infinite:
        assert not [place for place in path.rglob("*") if place.is_file()]
    else:
        assert read(path) == collection


def test_the_help_centre_is_complete() -> None:
    query_table, judgments, document_table = helpcentre()
    assert set(judgments.query_ids) <= set(query_table.ids)
    assert set(judgments.groups.ids.tolist()) <= set(document_table.ids)
    assert {"category", "frequency"} <= set(query_table.columns)
    assert all(isinstance(count, int) for count in query_table.columns["frequency"])


def test_metadata_may_be_missing_or_null(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"_id": "a", "text": "x", "metadata": null}\n{"_id": "b", "text": "y"}\n')
    assert read(path) == Queries({"query_id": ["a", "b"], "text": ["x", "y"]})


def test_compressed_files_are_found(folder: Path, tmp_path: Path) -> None:
    collection = read(folder)
    write(read(folder, "documents"), folder / "corpus.jsonl.gz")
    (folder / "corpus.jsonl").unlink()
    assert read(folder) == collection


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("queries.jsonl", '{"_id": "q"}\n{"_id": "q"}\n', r"queries\.jsonl:2: query_id 'q' appears twice"),
        ("queries.jsonl", '{"text": "x"}\n', r"queries\.jsonl:1: no column query_id"),
        ("queries.jsonl", '{"_id": "q", "text": 3}\n', r"queries\.jsonl:1: expected text as text"),
        ("corpus.jsonl", '{"_id": "q"\n', r"corpus\.jsonl:1: is not valid JSON at column 12"),
        ("corpus.jsonl", "", r"corpus\.jsonl: expected rows of documents"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\n", r"test\.tsv:2: expected 3 fields"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t0.5\n", r"test\.tsv:2: .*whole number"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\nq\td\t1\n", r"test\.tsv:3: .*twice"),
        ("qrels/test.tsv", "query-id\tcorpus-id\tscore\n", r"test\.tsv: expected rows of qrels, found none"),
    ],
)
def test_problems_in_a_folder_are_reported_with_the_file(
    folder: Path, name: str, text: str, problem: str
) -> None:
    (folder / name).write_text(text)
    with pytest.raises(FormatError, match=problem):
        read(folder)


def test_the_error_of_another_folder_lists_its_files(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# notes")
    with pytest.raises(FormatError, match=r"expected a BEIR folder .* found notes\.md"):
        read(tmp_path)
    with pytest.raises(FormatError, match=r"expected corpus\.jsonl.* found notes\.md"):
        read(tmp_path, format="beir")
    with pytest.raises(FormatError, match="expected a BEIR folder"):
        read(tmp_path / "notes.md", format="beir")


def test_a_missing_part_is_named(folder: Path) -> None:
    (folder / "corpus.jsonl").unlink()
    with pytest.raises(FormatError, match=r"expected corpus\.jsonl"):
        read(folder, "documents")


@pytest.mark.parametrize(
    ("table", "name", "problem"),
    [
        (Run({"q": {"d": 1.0}}), "made", "beir cannot hold run"),
        (Collection(), "made", "an empty one"),
        (Collection(qrels=Qrels({"q": {"d": 1}})), "file", "is a file"),
        (Collection(qrels=Qrels({"q": {"d": 1}})), "none/made", "no folder"),
        (Collection(qrels=Qrels({"q\t": {"d": 1}})), "made", "TSV"),
    ],
)
def test_what_cannot_be_written_is_refused(table: Any, name: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=problem):
        write(table, tmp_path / name, format="beir")


def test_a_folder_of_several_splits_without_test_is_not_guessed_at(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "train.tsv")
    with pytest.raises(FormatError, match=r"expected qrels/test\.tsv, found only dev, train; give the file"):
        read(folder, "qrels")
