"""TREC qrels and runs."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given

from assay.core.errors import FormatError
from assay.core.groups import ScatteredQueryError
from assay.core.tables import Qrels, Run
from assay.datasets import open_run, read, write
from assay.datasets.trec import RunFile
from tests.datasets.strategies import (
    any_ids,
    check_kept_or_refused,
    qrels,
    quick,
    runs,
    words,
    write_and_read,
)


def write_file(tmp_path: Path, text: str | bytes, name: str = "file.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@quick
@given(table=runs())
def test_a_run_written_and_read_is_the_same_run(table: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("trec") / "a.run.zst"
    assert write_and_read(table, path, None, "trec") == table


@quick
@given(table=qrels())
def test_qrels_written_and_read_are_the_same_qrels(
    table: Qrels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("trec") / "a.qrels.gz"
    assert write_and_read(table, path, "qrels", "trec") == table


@quick
@given(table=runs(any_ids))
def test_an_id_that_is_not_one_field_is_refused_and_any_other_is_kept(
    table: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_kept_or_refused(table, tmp_path_factory.mktemp("trec") / "a.run", "run", "trec")


@pytest.mark.parametrize("doc", ["a b", "a\tb", "", "a\n"])
def test_an_id_with_blanks_is_not_written(doc: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot hold the id"):
        write(Run({"q": {"ok": 2.0, doc: 1.0}}), tmp_path / "a.run")
    assert list(tmp_path.iterdir()) == []


def test_written_ranks_follow_the_ranking_rule(tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    write(Run({"q": {"a": 1.0, "é": 1.0, "z": 0.1, "b": 3.0}}, name="my  run"), path)
    assert path.read_text() == (
        "q Q0 b 1 3.0 my_run\nq Q0 é 2 1.0 my_run\nq Q0 a 3 1.0 my_run\nq Q0 z 4 0.1 my_run\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "q\t0\ta\t1\nq  0   b\t 0\n",
        "q 0 a 1\r\nq 0 b 0\r\n",
        "# judged by hand\n\nq 0 a 1\n   \nq 0 b 0",
        "\ufeffq 0 a 1\nq 0 b 0\n",
        "  q 0 a 1  \nq 0 b 0\n",
        "q 0 a 1\nq\t0 b\t0\n",
    ],
    ids=["tabs and blanks", "CRLF", "comments and empty lines", "BOM", "blanks around", "mixed separators"],
)
def test_irregular_but_valid_lines_are_accepted(text: str, tmp_path: Path) -> None:
    assert read(write_file(tmp_path, text)) == Qrels({"q": {"a": 1, "b": 0}})


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("q Q0 a 1 0.5 t\nq Q0 b 2 0.4\n", 2, "expected 6 fields"),
        ("q Q0 a 1 0.5\nq Q0 b 2 0.4 t\n", 1, "expected 6 fields"),
        ("q Q0 a 1 0.5 t\nq Q0 b 2 NaN t\n", 2, "NaN"),
        ("q Q0 a 1 0.5 t\n\n# x\nq Q0 b 2 high t\n", 4, "expected a number as the score, found 'high'"),
        (
            "q Q0 a 1 0.5 t\nr Q0 a 1 0.5 t\nq Q0 a 2 0.4 t\n",
            3,
            r"'a' appears twice in query 'q' \(first on line 1\)",
        ),
        ("q Q0 a 1 0.5 t\nq Q0 b\x01 2 0.4 t\n", 2, "control character"),
        (b"q Q0 a 1 0.5 t\nq Q0 \xff 2 0.4 t\n", 2, "UTF-8"),
        ("q 0 a 1\n", 1, "expected 6 fields"),
    ],
)
def test_a_wrong_run_is_refused_with_its_line(
    text: str | bytes, line: int, problem: str, tmp_path: Path
) -> None:
    path = write_file(tmp_path, text)
    with pytest.raises(FormatError, match=problem) as caught:
        read(path, "run")
    assert (caught.value.path, caught.value.line) == (str(path), line)


def test_grades_may_be_written_as_decimals(tmp_path: Path) -> None:
    qrels = read(write_file(tmp_path, "q 0 a 1.\nq 0 b 2.0\nq 0 c -1\n"), "qrels")
    assert qrels.to_dict() == {"q": {"a": 1.0, "b": 2.0, "c": -1.0}}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("q 0 a 1\nq 0 b 0.5\n", 2, "expected a whole number as the grade, found '0.5'"),
        ("q 0 a 1\nq 0 b high\n", 2, "expected a whole number"),
        ("q 0 a 1\nq 0 a 0\n", 2, "'a' appears twice in query 'q'"),
        ("q 0 a 1\nq 0 b\n", 2, "expected 4 fields"),
        ("q Q0 a 1 0.5 t\n", 1, "expected 4 fields"),
    ],
)
def test_wrong_qrels_are_refused_with_their_line(text: str, line: int, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=problem) as caught:
        read(write_file(tmp_path, text), "qrels")
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_file_without_rows_is_refused(text: str, tmp_path: Path) -> None:
    path = write_file(tmp_path, text)
    with pytest.raises(FormatError, match=r"empty|no rows"):
        read(path, "run")
    with pytest.raises(FormatError, match="no rows"):
        read(path, "run", format="trec")


def test_an_open_run_is_not_read_until_its_blocks_are_requested(tmp_path: Path) -> None:
    path = write_file(tmp_path, "q Q0 a 1 0.5 t\nr Q0 a 1 0.5 t\nq Q0 b 2 0.4 t\n", "mine.run")
    run = open_run(path)
    assert isinstance(run, RunFile)
    assert run.name == "mine"
    with pytest.raises(ScatteredQueryError):
        list(run.blocks())
    assert sum(len(block) for block in run.blocks_in_memory()) == 3


def test_the_passages_of_the_deep_learning_track_are_all_there(shared: Path) -> None:
    judgments = read(shared / "trec_dl2019" / "2019qrels-pass.txt", "qrels")
    assert (len(judgments.query_ids), len(judgments)) == (43, 9260)
    run = read(shared / "trec_dl2019" / "input.bm25base_p.gz", "run")
    assert (run.name, len(run.query_ids), len(run)) == ("input.bm25base_p", 200, 200_000)
    assert run.digest != judgments.digest


def test_a_real_run_written_again_is_the_same_run(shared: Path, tmp_path: Path) -> None:
    run = read(shared / "trec_dl2019" / "input.ICT-BERT2.gz", "run")
    assert write_and_read(run, tmp_path / "again.run.gz", "run", "trec") == run
    with gzip.open(tmp_path / "again.run.gz") as file:
        assert file.readline().split()[1:4:2] == [b"Q0", b"1"]


def test_the_cases_of_the_oracle_are_read_or_refused_as_decided(shared: Path) -> None:
    refused = {"13_duplicate_docs_run", "20_nan_inf", "21_empty_run", "26_whitespace"}
    for path in sorted((shared / "trec_eval_oracle").glob("*.run")):
        if path.stem in refused:
            with pytest.raises(FormatError):
                read(path, "run")
        else:
            assert isinstance(read(path), Run)
            assert isinstance(read(path.with_suffix(".qrels")), Qrels)


@quick
@given(tag=words)
def test_a_run_keeps_its_name_as_one_word(tag: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("trec") / "a.run"
    write(Run({"q": {"d": 1.0}}, name=f" {tag} run"), path)
    assert len(path.read_text().split()) == 6
