"""The check of an evaluation set, from files and from the store."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assay.core.errors import InputError
from assay.datasets import helpcentre, write
from assay.datasets.formats import Collection
from assay.datasets.vectors import write_vectors
from assay.workflows.dataset_check import CheckDatasetRequest, DatasetCheck, check_dataset, holds_vectors
from assay.workflows.dataset_versions import ImportDatasetRequest, import_dataset
from assay.workflows.evaluation_sets import EvaluationSetFiles
from tests.workflows.small_files import QRELS, write_files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSAY_STORE", raising=False)
    write_files(tmp_path)
    return tmp_path


def check(source: str = "qrels.txt", is_strict: bool = False, **files: object) -> DatasetCheck:
    """Check the small files, or others."""
    return check_dataset(
        CheckDatasetRequest(files=EvaluationSetFiles(source=source, **files), is_strict=is_strict)  # type: ignore[arg-type]
    )


def counts_of(result: DatasetCheck) -> dict[str, int]:
    """Return the count of each kind of finding."""
    return {finding.kind: finding.count for finding in result.findings}


def test_runs_and_queries_are_told_apart_by_their_content() -> None:
    result = check(others=["bm25.run", "queries.tsv", "dense.run"])
    assert result.counts == {"queries": 4, "judged_queries": 4, "labels": 5, "runs": 2}
    assert counts_of(result)["missing_queries"] == 2


def test_the_json_has_findings_counts_and_severities() -> None:
    plain = json.loads(json.dumps(check(runs=["bm25.run"]).to_dict()))
    assert plain.keys() == {"source", "counts", "severities", "findings"}
    assert plain["findings"][0].keys() == {"kind", "severity", "count", "message", "examples", "fix"}


def test_an_error_fails_only_a_strict_check() -> None:
    Path("passages.run").write_text("q1 Q0 a#1 1 2 t\nq1 Q0 b#1 2 1 t\nq2 Q0 c#4 1 1 t\n")
    assert check(runs=["passages.run"]).exit_code == 0
    result = check(runs=["passages.run"], is_strict=True)
    assert result.exit_code == 1
    assert result.findings[0].kind == "unit_mismatch"
    assert check(is_strict=True).exit_code == 0


def test_repeated_rows_are_findings_in_every_format() -> None:
    rows = {"query_id": ["q", "q", "q"], "doc_id": ["a", "a", "b"], "grade": [2, 0, 1]}
    lines = list(zip(*rows.values(), strict=True))
    Path("a.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in lines))
    Path("a.csv").write_text("query_id,doc_id,grade\n" + "".join(f"{q},{d},{g}\n" for q, d, g in lines))
    Path("a.jsonl").write_text(
        "".join(json.dumps(dict(zip(rows, line, strict=True))) + "\n" for line in lines)
    )
    pl.DataFrame(rows).write_parquet("a.parquet")
    for name in ("a.qrels", "a.csv", "a.jsonl", "a.parquet"):
        assert counts_of(check(name))["contradictory_labels"] == 1


def test_repeated_rows_of_a_folder_keep_its_queries() -> None:
    queries, qrels, documents = helpcentre()
    write(Collection(queries, qrels, documents), "set", format="beir")
    path = Path("set/qrels/test.tsv")
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    result = check("set")
    assert counts_of(result)["duplicate_labels"] == 1
    assert result.counts["documents"] == 360


def test_another_error_of_a_file_is_not_a_finding() -> None:
    Path("bad.qrels").write_text("q1 0 a 1\nq1 0 b x\n")
    with pytest.raises(InputError, match=r"bad\.qrels:2"):
        check("bad.qrels")


def test_a_training_set_may_be_a_file_of_queries() -> None:
    Path("train.tsv").write_text("query_id\ttext\nx\tReset\ny\tsomething else\n")
    assert counts_of(check(queries="queries.tsv", train="train.tsv"))["leakage"] == 1


def test_judgments_are_compared_with_the_qrels() -> None:
    Path("labels.csv").write_text("query_id,doc_id,judge,grade\nq1,a,r1,0\nq1,b,r1,1\n")
    assert counts_of(check(judgments=["labels.csv"]))["contradictory_labels"] == 1


def test_a_stored_version_is_compared_with_its_parent() -> None:
    for text in ("old words", "new words"):
        Path("documents.jsonl").write_text(json.dumps({"_id": "a", "text": text}) + "\n")
        import_dataset(ImportDatasetRequest(name="shop", source="qrels.txt", documents="documents.jsonl"))
    result = check("dataset:shop")
    assert counts_of(result)["stale_judgments"] == 1


def test_an_earlier_version_can_be_named() -> None:
    Path("before.qrels").write_text(QRELS)
    assert "stale_judgments" not in counts_of(check(previous="before.qrels"))


def test_wrong_options_are_refused() -> None:
    files = EvaluationSetFiles(source="qrels.txt")
    with pytest.raises(InputError, match="-k expects 1 or more, found 0"):
        CheckDatasetRequest(files=files, k=0)
    with pytest.raises(InputError, match="--margin expects a difference above 0"):
        CheckDatasetRequest(files=files, margin=0)
    with pytest.raises(InputError, match="--grades expects LOWEST:HIGHEST"):
        check_dataset(CheckDatasetRequest(files=files, grades="0-3"))
    with pytest.raises(InputError, match=r"expected a run, queries or documents after qrels\.txt"):
        check(others=["qrels.txt"])


def test_vectors_are_told_from_evaluation_sets() -> None:
    write_vectors(np.eye(3, dtype=np.float32), "vectors.parquet")
    write_vectors(np.eye(3, dtype=np.float32), "vectors.npy")
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [1]}).write_parquet("qrels.parquet")
    assert holds_vectors("vectors.parquet")
    assert holds_vectors("vectors.npy")
    assert not any(map(holds_vectors, ("qrels.parquet", "qrels.txt", "dataset:shop", ".", "missing.txt")))
