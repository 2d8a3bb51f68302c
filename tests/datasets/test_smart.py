"""SMART collections such as Cranfield."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import FormatError, InputError
from assay.core.tables import Documents, Qrels, Queries
from assay.datasets import Collection, read, write
from tests.datasets.strategies import check_kept_or_refused, quick


def collection(path: Path) -> Collection:
    result = read(path)
    assert isinstance(result, Collection)
    return result


def test_cranfield_has_its_published_size(shared: Path) -> None:
    queries, qrels, documents = collection(shared / "cranfield")
    assert documents is not None
    assert queries is not None
    assert qrels is not None
    assert (len(documents), len(queries), len(qrels)) == (1400, 225, 1837)
    assert list(documents.columns) == ["doc_id", "title", "author", "source", "text"]
    assert [doc for doc, text in documents.texts().items() if not text] == ["471", "995"]
    assert documents.ids == [str(number) for number in range(1, 1401)]
    assert set(qrels.groups.ids.tolist()) <= set(documents.ids)
    assert list(qrels.query_ids) == queries.ids == [str(number) for number in range(1, 226)]


def test_the_queries_of_cranfield_keep_their_numbers(shared: Path) -> None:
    queries = read(shared / "cranfield" / "cran.qry", "queries")
    assert queries.columns["number"][:5] == [1, 2, 4, 8, 9]
    assert queries.columns["number"][-1] == 365
    assert queries.columns["text"][2].startswith("what problems of heat conduction")
    assert not any(".I" in text or "\r" in text for text in queries.columns["text"])


def test_the_grades_of_cranfield_are_reversed_so_that_higher_is_better(shared: Path) -> None:
    qrels = read(shared / "cranfield" / "cranqrel", "qrels")
    counts = {grade: int((qrels.grades == grade).sum()) for grade in range(5)}
    assert counts == {0: 0, 1: 363, 2: 734, 3: 387, 4: 353}
    assert qrels.to_dict()["1"]["184"] == 3


def test_lines_of_text_that_look_like_markers_are_text(shared: Path) -> None:
    documents = read(shared / "cranfield" / "cran.all.1400", "documents")
    row = documents.row_by_id["240"]
    assert documents.columns["author"][row] == "dean r. chapman"
    assert "\n.A\napplication to turbulent separations" in documents.columns["text"][row]
    assert "\n.W\ncompressor operation" in documents.columns["text"][documents.row_by_id["578"]]


def test_cranfield_written_and_read_is_the_same(shared: Path, tmp_path: Path) -> None:
    cranfield = collection(shared / "cranfield")
    write(cranfield, tmp_path / "again", format="smart")
    assert collection(tmp_path / "again") == cranfield
    write(cranfield, tmp_path / "beir")
    assert collection(tmp_path / "beir") == cranfield


def test_authors_may_have_a_marker_each_and_fields_any_order(tmp_path: Path) -> None:
    path = tmp_path / "cisi.all"
    path.write_text(".I 1\n.T\na title\n.W\nsome text\n.A\none\n.A\ntwo\n.X\n1 5 1\n.I 2\n.T\nother\n")
    assert read(path, "documents").columns == {
        "doc_id": ["1", "2"],
        "title": ["a title", "other"],
        "author": ["one\ntwo", None],
        "references": ["1 5 1", None],
        "text": ["some text", None],
    }


def test_codes_of_no_interest_are_grade_zero(tmp_path: Path) -> None:
    path = tmp_path / "cranqrel"
    path.write_text("1 10 -1\n1  11 5\r\n2 10 4\n")
    assert read(path) == Qrels({"1": {"10": 0, "11": 0}, "2": {"10": 1}})


_lines = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9) | st.sampled_from(
    ("", ".A", ".W", ".I", ".I 3", ".T\n.W", ".X ", "a\r", "\n")
)
_field = st.none() | st.lists(_lines, max_size=3).map("\n".join)


@quick
@given(rows=st.lists(st.tuples(_field, _field, _field), min_size=1, max_size=4))
def test_documents_are_kept_or_refused(rows: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    title, author, text = (list(column) for column in zip(*rows, strict=True))
    names = [str(number) for number in range(len(rows))]
    columns = {"doc_id": names, "title": title, "author": author, "text": text}
    present_columns = {name: values for name, values in columns.items() if any(v is not None for v in values)}
    path = tmp_path_factory.mktemp("smart") / "made.all"
    check_kept_or_refused(Documents(present_columns), path, "documents", "smart")


@quick
@given(numbers=st.lists(st.integers(0, 10**6), min_size=1, max_size=5), data=st.data())
def test_queries_and_qrels_are_kept(
    numbers: list[int], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ids = [str(place + 1) for place in range(len(numbers))]
    plain = st.text("ab .\n", min_size=1)
    texts = data.draw(st.lists(plain, min_size=len(ids), max_size=len(ids)))
    judgments = st.dictionaries(st.sampled_from(("7", "1400")), st.integers(0, 4), min_size=1)
    collection_table = Collection(
        Queries({"query_id": ids, "number": numbers, "text": texts}),
        Qrels({key: data.draw(judgments) for key in ids}),
    )
    path = tmp_path_factory.mktemp("smart") / "folder"
    write(collection_table, path, format="smart")
    assert read(path) == collection_table


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("hello\n", r"made:1: expected \.I and a number, found 'hello'"),
        (".I 1\nhello\n", r"made:2: expected \.T \.A"),
        (".I 1\n.W\na\n.I 1\n.W\nb\n", r"made:4: record '1' appears twice \(first on line 1\)"),
        (b".I 1\n.W\n\xff\n", "made:3: expected UTF-8"),
        ("", "found none"),
    ],
)
def test_wrong_documents_are_refused_with_their_line(text: str | bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError, match=problem):
        read(path, "documents", format="smart")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 184 2\n1 29\n", "made:2: expected 3 whole numbers"),
        ("1 184 2\n1 d29 2\n", "made:2: expected 3 whole numbers"),
        ("1 184 2\n1 184 3\n", "made:2: document '184' appears twice in query '1'"),
        ("1 184 2\n1 29 0\n", "made:2: SMART judgments are 1 .best. to 4"),
        ("\n\n", "found none"),
    ],
)
def test_wrong_judgments_are_refused_with_their_line(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    path.write_text(text)
    with pytest.raises(FormatError, match=problem):
        read(path, "qrels", format="smart")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (Documents({"doc_id": ["a b"], "text": ["x"]}), "cannot have blanks"),
        (Documents({"doc_id": ["a"], "shelf": ["x"]}), "cannot hold shelf"),
        (Documents({"doc_id": ["a"], "text": [3]}), "needs text, found 3"),
        (Queries({"query_id": ["q1"], "text": ["x"]}), "with the ids 1, 2"),
        (Queries({"query_id": ["1"], "number": ["001"], "text": ["x"]}), "column number"),
        (Qrels({"1": {"2": 7}}), "grades 0 to 4"),
        (Qrels({"1": {"d2": 1}}), "whole numbers as ids"),
    ],
)
def test_what_smart_cannot_hold_is_not_written(table: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        write(table, tmp_path / "made", format="smart")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("nothing of the kind")
    with pytest.raises(FormatError, match="found none"):
        read(tmp_path, format="smart")


def test_three_numbers_on_each_line_are_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("1 10 1\n1 11 2\n")
    with pytest.raises(FormatError, match="--from smart"):
        read(tmp_path / "qrels.txt", "qrels")
    assert read(tmp_path / "qrels.txt", "qrels", format="smart").to_dict() == {"1": {"10": 4.0, "11": 3.0}}
