"""assay fuse: run files become one run, on standard output or in a file."""

from pathlib import Path

import pytest

from assay.cli import call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("words.run").write_text("q1 Q0 a 1 9 t\nq1 Q0 b 2 5 t\nq2 Q0 c 1 1 t\n")
    Path("vectors.run").write_text("q1 Q0 b 1 0.7 t\n")
    Path("qrels.txt").write_text("q1 0 b 1\nq2 0 c 1\n")
    return tmp_path


def test_the_run_goes_to_standard_output_and_its_size_to_standard_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["fuse", "words.run", "vectors.run", "--k", "0"]) == 0
    out, err = capsys.readouterr()
    assert out == "q1 Q0 b 1 1.5 fused\nq1 Q0 a 2 1.0 fused\nq2 Q0 c 1 1.0 fused\n"
    assert err.startswith("2 queries, 3 documents\n1 queries are not in all runs")


def test_the_extension_of_the_file_is_its_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--by", "weighted", "--weight", "1", "--weight", "2", "-o", "fused.csv"]
    assert call(["fuse", "words.run", "vectors.run", *argv]) == 0
    assert capsys.readouterr().out == ""
    assert Path("fused.csv").read_text().startswith("query_id,doc_id,score\n")
    assert call(["eval", "qrels.txt", "fused.csv", "-m", "RR"]) == 0


def test_one_run_is_wrong_use(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["fuse", "words.run"]) == 2
    assert "assay fuse: expected at least two runs to fuse, found 1" in capsys.readouterr().err


RANKED = "q1 Q0 a 1 1 t\nq1 Q0 b 2 5 t\n"


def test_scores_that_contradict_ranks_and_constant_scores_are_warned_of(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"q{q} Q0 d{rank} {rank} {rank} t\n" for q in range(9) for rank in (1, 2, 3)]
    Path("distances.run").write_text("".join(rows))
    Path("constant.run").write_text("".join(f"q{q} Q0 d{i} {i} 1 t\n" for q in range(9) for i in (1, 2)))
    assert call(["fuse", "distances.run", "constant.run", "-o", "fused.run"]) == 0
    err = capsys.readouterr().err
    assert "warning: distances: its scores contradict its rank column" in err
    assert "warning: constant: in 9 of 9 queries all documents have the same score" in err


def test_distances_are_fused_from_the_lowest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("distances.run").write_text(RANKED)
    assert call(["fuse", "distances.run", "distances.run", "--lower-is-better", "--name", "f"]) == 2
    Path("again.run").write_text(RANKED)
    capsys.readouterr()
    assert call(["fuse", "distances.run", "again.run", "--lower-is-better"]) == 0
    assert capsys.readouterr().out.startswith("q1 Q0 a 1 ")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-o", "words.run"], "words.run is also read, and would be lost: write to another file"),
        (["-o", "."], "-o .: expected a file to write, found a folder"),
        (["-o", "out.xlsx"], "-o out.xlsx: expected a name that ends in"),
        (["--by", "weighted", "--k", "5"], "--k belongs to reciprocal rank fusion"),
        (["--normalise", "zscore"], "--normalise belongs to weighted fusion"),
    ],
)
def test_what_would_be_lost_or_ignored_is_refused(
    folder: Path, argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Path("words.run").read_text()
    assert call(["fuse", "words.run", "vectors.run", *argv]) == 2
    assert message in capsys.readouterr().err
    assert Path("words.run").read_text() == before


def test_an_infinite_score_is_fused_by_rank_and_cannot_be_normalised(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("infinite.run").write_text("q1 Q0 a 1 inf t\nq1 Q0 b 2 1 t\n")
    assert call(["fuse", "words.run", "infinite.run"]) == 0
    assert call(["fuse", "words.run", "infinite.run", "--by", "weighted"]) == 2
    assert "infinite: document 'a' in query 'q1' has the score inf" in capsys.readouterr().err


def test_the_order_of_rows_does_not_change_the_fused_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"q1 Q0 {doc} 1 1 t\n" for doc in "abc"]
    printed = []
    for number, order in enumerate((rows, rows[::-1])):
        Path(f"tied{number}.run").write_text("".join(order))
        assert call(["fuse", f"tied{number}.run", "vectors.run"]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
