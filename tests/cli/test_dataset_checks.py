"""assay dataset check of an evaluation set, at the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.cli import call as run
from assay.datasets.vectors import write_vectors
from tests.workflows.small_files import write_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    Path("passages.run").write_text("q1 Q0 a#1 1 2 t\nq1 Q0 b#1 2 1 t\nq2 Q0 c#4 1 1 t\n")
    return tmp_path


def call_check(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run(["dataset", "check", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_fault_is_printed_with_its_fix_and_fails_a_strict_check(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_check(capsys, "qrels.txt", "--run", "passages.run", "bm25.run")
    assert (code, err) == (0, "")
    assert "error: unit mismatch" in out
    assert "fix: cut the ids in run passages" in out
    assert call_check(capsys, "qrels.txt", "--run", "passages.run", "--strict")[0] == 1


def test_json_has_the_findings(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call_check(capsys, "qrels.txt", "passages.run", "--format", "json")
    first = json.loads(out)["findings"][0]
    assert (code, first["kind"], first["severity"], first["count"]) == (0, "unit_mismatch", "error", 3)
    assert first["examples"][0] == {"passage": "a#1", "document": "a"}


@pytest.mark.parametrize("style", ["csv", "md", "html", "latex"])
def test_every_style_names_the_finding(capsys: pytest.CaptureFixture[str], style: str) -> None:
    code, out, _ = call_check(capsys, "qrels.txt", "--queries", "queries.tsv", "--format", style)
    assert code == 0
    assert "benchmark" in out


def test_options_of_both_kinds_do_not_go_together(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call_check(capsys, "qrels.txt", "--run", "bm25.run", "--metric", "l2")
    assert code == 2
    assert "--metric is for vectors, and --run for evaluation sets" in err


def test_vectors_keep_their_check(capsys: pytest.CaptureFixture[str]) -> None:
    write_vectors(np.eye(3, dtype=np.float32), "base.fbin")
    code, out, _ = call_check(capsys, "base.fbin", "--metric", "cosine", "--format", "json")
    assert code == 0
    assert json.loads(out)["files"][0]["rows"] == 3
    code, _, err = call_check(capsys, "base.fbin", "base.fbin", "base.fbin")
    assert code == 2
    assert "expected vectors and their queries, found 3 files" in err


def test_a_missing_file_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call_check(capsys, "missing.qrels")
    assert (code, out) == (2, "")
    assert "missing.qrels" in err
