"""The workflows `compute_truth` and `audit_truth`."""

from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.datasets.vectors import read_neighbors, write_neighbors, write_vectors
from assay.workflows.truth import AuditTruthRequest, TruthRequest, audit_truth, compute_truth

RNG = np.random.default_rng(5)
BASE = RNG.standard_normal((200, 6)).astype(np.float32)
QUERIES = RNG.standard_normal((10, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_vectors(BASE, "base.fbin")
    write_vectors(QUERIES, "queries.fbin")
    return tmp_path


def truth_request(**options: object) -> TruthRequest:
    fields: dict[str, object] = {"base": "base.fbin", "queries": "queries.fbin", "metric": "l2", "k": 3}
    return TruthRequest(**(fields | options))  # type: ignore[arg-type]


def test_neighbours_are_written_and_summed_up() -> None:
    progress: list[tuple[int, int]] = []
    request = truth_request(output="truth.parquet")
    summary = compute_truth(request, lambda done, total: progress.append((done, total)))
    assert (summary.n, summary.queries, summary.k, summary.output) == (200, 10, 3, "truth.parquet")
    expected = np.argsort(((QUERIES[:, None] - BASE) ** 2).sum(axis=2), axis=1)[:, :3]
    assert np.array_equal(read_neighbors("truth.parquet").positions, expected)
    assert progress[-1] == (2000, 2000)
    assert request.checkpoint == Path("truth.parquet.part")
    assert not request.checkpoint.exists()


def test_without_an_output_nothing_is_written(folder: Path) -> None:
    summary = compute_truth(truth_request())
    assert set(summary.to_dict()) >= {"n", "d", "type", "queries", "k", "metric", "seconds", "ties_at_k"}
    assert sorted(path.name for path in folder.iterdir()) == ["base.fbin", "queries.fbin"]


def test_an_audit_finds_a_damaged_truth() -> None:
    compute_truth(truth_request(output="truth.parquet"))
    request = AuditTruthRequest(
        truth="truth.parquet", base="base.fbin", queries="queries.fbin", metric="l2", sample=10
    )
    assert audit_truth(request).exit_code == 0
    neighbors = read_neighbors("truth.parquet")
    positions = neighbors.positions.copy()
    positions[0, 1] = positions[0, 0]
    write_neighbors(neighbors._replace(positions=positions), "truth.parquet")
    result = audit_truth(request)
    assert (result.exit_code, result.to_dict()["truth"]) == (1, "truth.parquet")


@pytest.mark.parametrize("name", ["k", "threads", "block", "parts"])
def test_counts_below_1_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"-{name} must be 1 or more, found 0"):
        truth_request(**{name: 0})
