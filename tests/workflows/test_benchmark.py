"""The data of a benchmark: its truth is computed once, and wrong data are refused early."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.bench.sweeps.cases import IndexEntry
from assay.bench.sweeps.folder import SweepFolder
from assay.core.errors import ConfigurationError, FormatError, InputError
from assay.core.vectors import Neighbors
from assay.datasets.vectors import write_neighbors, write_vectors
from assay.indexes.exact.truth import truth
from assay.workflows.bench_settings import parse_index
from assay.workflows.benchmark import Benchmark
from tests.benches import make_clusters

BASE, QUERIES = make_clusters(n=300, queries=20)
TRUTH = truth(BASE, QUERIES, 15, "l2")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_vectors(BASE, "base.fbin")
    write_vectors(QUERIES, "queries.fbin")
    write_neighbors(TRUTH, "truth.parquet")
    return tmp_path


def bench(**more: Any) -> Benchmark:
    return replace(Benchmark("base.fbin", "queries.fbin", metric="l2"), **more)


def test_more_threads_than_processors_are_refused() -> None:
    with pytest.raises(InputError, match=r"threads is 4,096, and there are \d+ processors: ask for at most"):
        bench(entries=(parse_index("faiss.flat", 4096),)).prepare_sweep("out")
    assert not Path("out").exists()


def test_a_truth_is_made_once_deep_enough_for_other_k(folder: Path) -> None:
    first = bench().open_data("out")
    (made,) = Path("out").glob("truth-*.parquet")
    before = made.stat().st_mtime_ns
    assert np.array_equal(first.truth.positions[:, :15], TRUTH.positions)
    assert bench(k=20).open_data("out").truth.k == 100
    assert [path.stat().st_mtime_ns for path in Path("out").iterdir()] == [before]
    assert bench(k=50).open_data("out").truth.k == 250  # how bad a failure is shows beyond K


def test_a_limit_takes_the_first_queries_and_their_truth() -> None:
    opened = bench(truth="truth.parquet", limit=4).open_data("out")
    assert np.array_equal(opened.queries.to_matrix(), QUERIES.to_matrix()[:4])
    assert np.array_equal(opened.truth.positions, TRUTH.positions[:4])
    assert len(bench(limit=1000).open_data("out").queries) == 20


def test_an_hdf5_file_brings_queries_and_metric() -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File("set.hdf5", "w") as file:
        file["train"], file["test"], file.attrs["distance"] = (
            BASE.to_matrix(),
            QUERIES.to_matrix(),
            "euclidean",
        )
    opened = Benchmark("set.hdf5").open_data("out")
    assert (opened.metric, opened.base.shape, opened.queries.shape) == ("l2", (300, 8), (20, 8))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"queries": None}, "base.fbin: only an HDF5 file has both base and queries; give queries as well"),
        ({"metric": None}, "does not say how distance is measured: give the metric (l2, ip, cosine)"),
        ({"base": "none.fbin"}, "none.fbin: cannot be read: No such file or directory"),
        ({"k": 301}, "k is from 1 to 300, the vectors of the base; found 301"),
        ({"truth": "none.ivecs"}, "none.ivecs: cannot be read: No such file or directory"),
        ({"truth": "truth.parquet", "k": 16}, "truth.parquet: has 15 neighbours of each query, expected at"),
        ({"truth": "few.ivecs"}, "few.ivecs: has 3 queries, expected 20; without --truth it is computed"),
        ({"truth": "far.ivecs"}, "the truth contains position 999, but the base has 300 vectors"),
        ({"truth": "ip.ivecs"}, "ip.ivecs: 20 of 20 recomputed queries have other neighbours by l2: "),
        ({"truth": "short.ivecs"}, "short.ivecs: 20 of 20 recomputed queries have other neighbours"),
        ({"truth": "back.ivecs", "k": 15}, "20 of 20 recomputed queries do not have the nearest first"),
        ({"queries": "narrow.npy"}, "the base has 8 dimensions and the queries have 3"),
        ({"base": "nan.npy"}, "position 7 contains NaN or infinite numbers"),
        ({"base": "zero.npy", "metric": "cosine"}, "position 7 is zero, which has no direction under cosine"),
        ({"queries": "zero.npy", "metric": "cosine"}, "under cosine they have no direction"),
    ],
)  # fmt: skip
def test_wrong_data_are_refused_and_nothing_is_left(more: dict[str, Any], said: str) -> None:
    spoilt = BASE.to_matrix().copy()
    spoilt[7] = 0
    write_vectors(spoilt, "zero.npy")
    spoilt[7] = np.nan
    write_vectors(spoilt, "nan.npy")
    write_vectors(QUERIES.to_matrix()[:, :3], "narrow.npy")
    write_neighbors(Neighbors(TRUTH.positions[:3]), "few.ivecs")
    write_neighbors(Neighbors(np.full((20, 15), 999)), "far.ivecs")
    by_product = truth(BASE, QUERIES, 15, "ip").positions[:, ::-1]
    write_neighbors(Neighbors(by_product), "ip.ivecs")
    by_product[:, -1] = -1  # padding makes it no better
    write_neighbors(Neighbors(by_product), "short.ivecs")
    write_neighbors(Neighbors(TRUTH.positions[:, ::-1]), "back.ivecs")
    with pytest.raises(InputError) as raised:
        bench(**more).open_data("out")
    assert said in str(raised.value)
    assert not Path("out").exists()


def test_a_truth_that_breaks_ties_otherwise_is_taken() -> None:
    twice = np.concatenate([BASE.to_matrix()[:150], BASE.to_matrix()[:150]])
    write_vectors(twice, "twice.npy")
    exact = truth(bench(base="twice.npy").open_data("out").base, QUERIES, 10, "l2")
    write_neighbors(Neighbors((exact.positions + 150) % 300), "other.ivecs")
    found = bench(base="twice.npy", truth="other.ivecs").open_data("out")
    assert not np.array_equal(found.truth.positions, exact.positions)


def test_queries_without_truth_do_not_stand_in_the_way() -> None:
    write_neighbors(Neighbors(np.full((20, 15), -1)), "empty.ivecs")
    assert bench(truth="empty.ivecs").open_data("out").truth.positions.max() == -1


def about(**sources: Any) -> None:
    """The folder `out`, as a sweep of the data leaves it."""
    opened = bench().open_data("out")
    paths = {"base": "base.fbin", "queries": "queries.fbin", "truth": None, "limit": None} | sources
    options = {"policy": "ties"}
    SweepFolder("out").put_metadata({"data": opened.summary(), "sources": paths, "options": options})


def test_a_folder_is_of_one_set_of_data() -> None:
    about()
    entries = (IndexEntry("hnswlib"),)
    for more, differ in (
        ({"limit": 3}, "queries"),
        ({"metric": "ip"}, "metric"),
        ({"base": "queries.fbin"}, "base"),
    ):
        said = f"out holds trials of other data: not the same {differ}; name another folder"
        with pytest.raises(InputError, match=said):
            bench(entries=entries, **more).prepare_sweep("out")


def test_what_is_misspelt_is_told_before_the_truth_is_made() -> None:
    with pytest.raises(ConfigurationError, match="did you mean hnswlib"):
        bench(entries=(IndexEntry("hnswlb"),)).prepare_sweep("out")
    assert not Path("out").exists()


def test_a_base_without_vectors_is_refused() -> None:
    np.save("none.npy", np.zeros((0, QUERIES.d), np.float32))
    with pytest.raises(InputError, match=r"none\.npy: there is no vector in it"):
        bench(base="none.npy").open_data("out")


def test_a_damaged_truth_in_the_folder_is_named() -> None:
    bench().open_data("out")
    (made,) = Path("out").glob("truth-*.parquet")
    made.write_bytes(b"PAR1")
    with pytest.raises(FormatError, match=r"truth-.*\.parquet"):
        bench().open_data("out")
