"""A small benchmark of an engine that searches some of the rows, for tests of workflows."""

from pathlib import Path

import pytest

from assay.datasets.vectors import write_vectors
from assay.workflows.bench import BenchRequest
from tests.benches import install_test_engines, make_clusters


def prepare_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write vectors into a folder, make it the current one, and install the engines of `tests/others`."""
    install_test_engines(folder, monkeypatch)
    monkeypatch.chdir(folder)
    for vectors, path in zip(make_clusters(), ("base.fbin", "queries.fbin"), strict=True):
        write_vectors(vectors, path)


def bench_request(out: str = "swept", **options: object) -> BenchRequest:
    """A request of two trials with two passes each."""
    fields: dict[str, object] = {
        "base": "base.fbin",
        "queries": "queries.fbin",
        "metric": "l2",
        "k": 5,
        "indexes": ["misbehaving / rows=200,1500"],
        "modes": ["batch"],
        "repetitions": 2,
        "warmup": 0,
    }
    return BenchRequest(out=out, **(fields | options))  # type: ignore[arg-type]
