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
