"""What tests of sweeps share: small data, and an engine of somebody else that can misbehave."""

from pathlib import Path

import numpy as np
import pytest

from assay.core.vectors import InMemoryVectors
from assay.indexes.exact.truth import truth
from assay.indexes.vector_data import VectorData, build_vector_data

OTHERS = Path(__file__).parent / "others"


def install_test_engines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the engines of `tests/others` known by entry points, as an installed package does."""
    about = folder / "others-0.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 0.1\n")
    (about / "entry_points.txt").write_text(
        "[assay.indexes]\nmisbehaving = misbehaving:Misbehaving\npretending = misbehaving:Pretending\n"
        "holding = misbehaving:Holding\nunloadable = misbehaving:Unloadable\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{OTHERS}")
    monkeypatch.syspath_prepend(folder)


def make_clusters(
    n: int = 1500, d: int = 8, queries: int = 40, seed: int = 0
) -> tuple[InMemoryVectors, InMemoryVectors]:
    """A base of a few clusters, and queries from it."""
    rng = np.random.default_rng(seed)
    middles = rng.normal(0, 3, (10, d))
    base = middles[rng.integers(0, 10, n)] + rng.normal(0, 1, (n, d))
    query_rows = middles[rng.integers(0, 10, queries)] + rng.normal(0, 1, (queries, d))
    return InMemoryVectors(base.astype(np.float32)), InMemoryVectors(query_rows.astype(np.float32))


def small_data(k: int = 5, metric: str = "l2") -> VectorData:
    """Data of a small sweep."""
    base, queries = make_clusters()
    return build_vector_data(base, queries, truth(base, queries, 20, metric), metric, k)
