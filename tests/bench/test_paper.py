"""What the paper found (arXiv 2507.00379): two indexes of one mean recall fail in different ways."""

from pathlib import Path
from typing import Any

import pytest

from assay.bench.studies.findings import StudyFindings, collect_findings
from assay.core.vectors import InMemoryVectors
from assay.datasets.generate import generate
from assay.datasets.vectors import read_vectors, write_vectors
from assay.datasets.vectors.convert import VectorSlice
from assay.workflows.bench_settings import parse_index
from assay.workflows.benchmark import Benchmark
from assay.workflows.study import open_study


def measure_study(bench: Benchmark, *indexes: str) -> StudyFindings:
    """What a sweep of these indexes shows."""
    entries = tuple(parse_index(text, 1) for text in indexes)
    folder = Path(bench.base).parent / "bench"
    result = Benchmark(
        bench.base, bench.queries, metric="l2", entries=entries, request_modes=bench.request_modes[1:]
    )
    result.prepare_sweep(folder).run()
    return collect_findings(open_study(folder))


def test_on_mnist_the_graph_leaves_eleven_queries_with_nothing_and_the_partition_none(
    shared: Path, tmp_path: Path
) -> None:
    images = read_vectors(shared / "mnist" / "t10k-images-idx3-ubyte.gz")
    write_vectors(VectorSlice(images, 0, 9000), tmp_path / "base.u8bin")
    write_vectors(VectorSlice(images, 9000, 10_000), tmp_path / "queries.u8bin")
    result = measure_study(
        Benchmark(str(tmp_path / "base.u8bin"), str(tmp_path / "queries.u8bin")),
        "faiss.hnsw M=8 efConstruction=40 / efSearch=10",
        "faiss.ivfflat nlist=256 / nprobe=5",
    )
    trials: dict[str, Any] = {trial.family: trial for trial in result.trials}
    graph, partition = trials["graph"], trials["partition"]
    assert (graph.histogram[0], partition.histogram[0]) == (11, 0)
    assert graph.recall.value == pytest.approx(0.904, abs=5e-4)
    assert partition.recall.value == pytest.approx(0.909, abs=5e-4)
    assert dict(graph.curve)[0.9].value == 0.786
    assert dict(partition.curve)[0.9].value == 0.766
    assert graph.failure.low > partition.failure.high  # the intervals at δ = 0.1 do not touch


def test_queries_from_elsewhere_fail_on_the_graph_more_often_and_worse(tmp_path: Path) -> None:
    result = generate("shifted", 20_000, 48, queries=2_000, seed=0)
    write_vectors(InMemoryVectors(result.base.to_matrix()), tmp_path / "base.fbin")
    write_vectors(InMemoryVectors(result.queries.to_matrix()), tmp_path / "queries.fbin")
    second_result = measure_study(
        Benchmark(str(tmp_path / "base.fbin"), str(tmp_path / "queries.fbin")),
        "faiss.hnsw M=8 efConstruction=40 / efSearch=80,96,112",
        "faiss.ivfflat nlist=256 / nprobe=5,6,7",
    )
    nearest: Any = max(second_result.matched, key=lambda trial: trial.recalls[0].value or 0)
    assert nearest.families == ("graph", "partition")
    assert nearest.ratio.ratio.low > 2
    worst: dict[str, Any] = {
        trial.family: trial.severity.outside.value for trial in second_result.trials if trial.severity
    }
    assert worst["graph"] > 0.05
    assert worst["partition"] < 0.02
