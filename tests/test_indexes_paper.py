"""What the paper found (arXiv 2507.00379): two indexes of one mean recall fail in different ways."""

from pathlib import Path
from typing import Any

import pytest

from assay.core.vectors import Held
from assay.datasets.generate import generate
from assay.datasets.vectors import read_vectors, write_vectors
from assay.datasets.vectors.convert import Some
from assay.indexes.study.findings import Findings, findings
from assay.project.bench import Bench
from assay.project.bench_settings import entry_in
from assay.project.study import open_study


def studied(bench: Bench, *indexes: str) -> Findings:
    """What a sweep of these indexes shows."""
    entries = tuple(entry_in(text, 1) for text in indexes)
    folder = Path(bench.base).parent / "bench"
    made = Bench(bench.base, bench.queries, metric="l2", entries=entries, askings=bench.askings[1:])
    made.sweep(folder).run()
    return findings(open_study(folder))


def test_on_mnist_the_graph_leaves_eleven_queries_with_nothing_and_the_partition_none(
    shared: Path, tmp_path: Path
) -> None:
    images = read_vectors(shared / "mnist" / "t10k-images-idx3-ubyte.gz")
    write_vectors(Some(images, 0, 9000), tmp_path / "base.u8bin")
    write_vectors(Some(images, 9000, 10_000), tmp_path / "queries.u8bin")
    found = studied(
        Bench(str(tmp_path / "base.u8bin"), str(tmp_path / "queries.u8bin")),
        "faiss.hnsw M=8 efConstruction=40 / efSearch=10",
        "faiss.ivfflat nlist=256 / nprobe=5",
    )
    trials: dict[str, Any] = {one.family: one for one in found.trials}
    graph, partition = trials["graph"], trials["partition"]
    assert (graph.histogram[0], partition.histogram[0]) == (11, 0)
    assert graph.recall.value == pytest.approx(0.904, abs=5e-4)
    assert partition.recall.value == pytest.approx(0.909, abs=5e-4)
    assert dict(graph.curve)[0.9].value == 0.786
    assert dict(partition.curve)[0.9].value == 0.766
    assert graph.failure.low > partition.failure.high  # the intervals at δ = 0.1 do not touch


def test_queries_from_elsewhere_fail_on_the_graph_more_often_and_worse(tmp_path: Path) -> None:
    made = generate("shifted", 20_000, 48, queries=2_000, seed=0)
    write_vectors(Held(made.base.whole()), tmp_path / "base.fbin")
    write_vectors(Held(made.queries.whole()), tmp_path / "queries.fbin")
    found = studied(
        Bench(str(tmp_path / "base.fbin"), str(tmp_path / "queries.fbin")),
        "faiss.hnsw M=8 efConstruction=40 / efSearch=80,96,112",
        "faiss.ivfflat nlist=256 / nprobe=5,6,7",
    )
    nearest: Any = max(found.matched, key=lambda one: one.recalls[0].value or 0)
    assert nearest.families == ("graph", "partition")
    assert nearest.ratio.ratio.low > 2
    worst: dict[str, Any] = {one.family: one.severity.outside.value for one in found.trials if one.severity}
    assert worst["graph"] > 0.05
    assert worst["partition"] < 0.02
