"""A benchmark in settings: everything is read, everything wrong is said, and wrong data are refused early."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import ConfigurationError, FormatError, InputError
from assay.core.vectors import Neighbors
from assay.datasets.vectors import write_neighbors, write_vectors
from assay.indexes.exact.truth import truth
from assay.indexes.sweeps.described import describe
from assay.indexes.sweeps.plan import Asking, Entry, Range
from assay.indexes.sweeps.results import Results
from assay.indexes.sweeps.sweep import Options
from assay.project.bench import Bench, judge_of, measured
from assay.project.bench_settings import bench_in, entry_in, size_of
from benches import clustered

BASE, QUERIES = clustered(n=300, queries=20)
TRUTH = truth(BASE, QUERIES, 15, "l2")
EVERYTHING = """
[data]
base = "base.fbin"
queries = "queries.fbin"
truth = "truth.parquet"
metric = "l2"
k = 5
limit = 10

[run]
modes = ["single"]
rates = [100, 200.5]
objective = { p99_ms = 10, "p99.9_ms" = 50 }
seconds = 2
clients = 3
repetitions = 4
warmup = 7
threads = 2
memory = "1.5 GB"
room = "2 GB"
timeout = 60
seed = 9
ties = "strict"
recall = [0.9, 0.95]

[[index]]
engine = "hnswlib"
build = { M = [8, 16], ef_construction = 100 }
search = { ef = "10..20" }

[[index]]
engine = "puck"
threads = 1
python = "envs/puck/bin/python"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_vectors(BASE, "base.fbin")
    write_vectors(QUERIES, "queries.fbin")
    write_neighbors(TRUTH, "truth.parquet")
    return tmp_path


def bench(**more: Any) -> Bench:
    return replace(Bench("base.fbin", "queries.fbin", metric="l2"), **more)


def test_every_setting_reaches_its_place() -> None:
    made = bench_in(tomllib.loads(EVERYTHING), Path("of"))
    assert made == Bench(
        "of/base.fbin",
        "of/queries.fbin",
        "of/truth.parquet",
        "l2",
        5,
        10,
        (
            Entry("hnswlib", {"M": [8, 16], "ef_construction": [100]}, {"ef": [Range(10, 20)]}, 2),
            Entry("puck", {}, {}, 1, "of/envs/puck/bin/python"),
        ),
        (
            Asking("single", 3),
            Asking("open", 3, 100.0, 2.0),
            Asking("open", 3, 200.5, 2.0),
            Asking("capacity", 3, None, 2.0, 99.0, 10.0),
            Asking("capacity", 3, None, 2.0, 99.9, 50.0),
        ),
        Options(4, 7, 3 << 29, 2 << 30, 60.0, 9, "strict"),
        (0.9, 0.95),
    )
    assert len(made.cases()) == (2 * 2 + 1) * 5


@pytest.mark.parametrize("name", ["five", "glove", "refine"])
def test_the_examples_are_sweeps_of_engines_that_are_here(name: str) -> None:
    path = Path(__file__).parents[1] / "examples" / "bench" / f"{name}.toml"
    bench = bench_in(tomllib.loads(path.read_text()), path.parent)
    assert all(found.version for found in describe(bench.cases()).values())


def test_what_is_not_said_is_the_usual() -> None:
    made = bench_in({"data": {"base": "b.hdf5"}, "index": [{"engine": "annoy"}]}, Path())
    assert made == Bench("b.hdf5", entries=(Entry("annoy"),))
    assert [asking.mode for asking in made.askings] == ["single", "batch"]


def test_no_mode_but_a_rate_is_an_open_loop_and_nothing_else() -> None:
    made = bench_in({"data": {"base": "b.hdf5"}, "run": {"modes": [], "rates": 50}}, Path())
    assert made.askings == (Asking("open", 1, 50.0),)
    with pytest.raises(InputError, match="expected a way to ask, found none: a mode, a rate or an objective"):
        replace(made, askings=(), entries=(Entry("annoy"),)).cases()


def test_everything_wrong_with_settings_is_said_at_once() -> None:
    wrong = """
    [data]
    queries = 3
    metric = "euclid"
    k = 0
    [run]
    modes = ["singel", "open"]
    rates = [0]
    objective = { q99 = 3 }
    memory = "lots"
    repetitons = 3
    recall = [0.9, 1.1]
    [[index]]
    build = { M = [] }
    search = { ef = { a = 1 }, nprobe = "9..2" }
    """
    with pytest.raises(ConfigurationError) as raised:
        bench_in(tomllib.loads(wrong), Path(), "bench.toml")
    said = raised.value.problems
    assert str(raised.value).startswith("bench.toml: 14 settings are wrong")
    assert said["data.base"] == "expected the path of the vectors, found none"
    assert said["data.queries"] == "expected a path, found 3"
    assert said["data.metric"] == "expected one of l2, ip, cosine, found 'euclid'"
    assert said["data.k"] == "expected a whole number of at least 1, found 0"
    assert said["run.modes"] == "expected single or batch, found 'open'; rates make an open loop"
    assert said["run.rates"] == "expected queries per second, above 0, or a list of them, found [0]"
    assert said["run.objective"] == "expected such as { p99_ms = 10 }, found {'q99': 3}"
    assert said["run.memory"] == "expected a size such as \"4 GB\", found 'lots'"
    assert said["run.recall"].startswith("expected a share above 0 and at most 1, or a list of them, found")
    assert said["index[1].search.nprobe"].startswith("a range goes from the least to the most")
    assert said["run.repetitons"] == "there is no such setting; did you mean repetitions?"
    assert said["index[1].engine"] == "expected the name of an engine, found none"
    assert said["index[1].build.M"] == "expected a value or a list of values, found []"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hnswlib", Entry("hnswlib")),
        ("annoy n_trees=5,10", Entry("annoy", {"n_trees": [5, 10]})),
        ("faiss.hnsw / efSearch=16,64", Entry("faiss.hnsw", {}, {"efSearch": [16, 64]})),
        ("hnswlib M=16 / ef=10..800", Entry("hnswlib", {"M": [16]}, {"ef": [Range(10, 800)]})),
        ("x on=true kind=pq / a=0.5", Entry("x", {"on": [True], "kind": ["pq"]}, {"a": [0.5]})),
        ("x url=http://localhost:1/db", Entry("x", {"url": ["http://localhost:1/db"]})),
        ("x token='12' / a='b, c',\"d\",8", Entry("x", {"token": ["12"]}, {"a": ["b, c", "d", 8]})),
    ],
)
def test_an_index_in_one_line(text: str, expected: Entry) -> None:
    assert entry_in(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected the name of an engine first, such as 'hnswlib M=16 / ef=40', found ''"),
        ("M=16 / ef=40", "expected the name of an engine first"),
        ("hnswlib M", "expected ENGINE NAME=VALUE[,VALUE…] / NAME=VALUE[,VALUE…], found 'hnswlib M'"),
        ("hnswlib M= / ef=4", "expected ENGINE NAME=VALUE"),
        ("hnswlib M=8, / ef=4", "expected ENGINE NAME=VALUE"),
        ("hnswlib M=8,,16", "expected ENGINE NAME=VALUE"),
        ("hnswlib / ef=800..10", "a range goes from the least to the most, such as 8..512; found 800..10"),
        ("hnswlib M=8 M=9", "M is given twice in 'hnswlib M=8 M=9': write its values as M=VALUE,VALUE"),
        ("x uri=my data.db", "text with blanks stands in quotes, as in uri='my data.db'"),
        ("hnswlib M=16/ef=40", "the slash before the parameters of searching stands between blanks"),
    ],
)
def test_a_wrong_line_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        entry_in(text)
    assert said in str(raised.value)


def test_sizes() -> None:
    assert [size_of(text) for text in ("1 KB", "2mb", 5, "0.5 GB")] == [1024, 2 << 20, 5, 1 << 29]
    assert [size_of(text) for text in ("", "-1 GB", 0, "0 GB", "4 XB")] == [None] * 5


def test_more_threads_than_processors_are_refused() -> None:
    with pytest.raises(InputError, match=r"threads is 4,096, and there are \d+ processors: ask for at most"):
        bench(entries=(entry_in("faiss.flat", 4096),)).sweep("out")
    assert not Path("out").exists()


def test_a_truth_is_made_once_deep_enough_for_other_k(folder: Path) -> None:
    first = bench().opened("out")
    (made,) = Path("out").glob("truth-*.parquet")
    before = made.stat().st_mtime_ns
    assert np.array_equal(first.truth.positions[:, :15], TRUTH.positions)
    assert bench(k=20).opened("out").truth.k == 100
    assert [path.stat().st_mtime_ns for path in Path("out").iterdir()] == [before]
    assert bench(k=50).opened("out").truth.k == 250  # how bad a failure is shows beyond K


def test_a_limit_takes_the_first_queries_and_their_truth() -> None:
    opened = bench(truth="truth.parquet", limit=4).opened("out")
    assert np.array_equal(opened.queries.whole(), QUERIES.whole()[:4])
    assert np.array_equal(opened.truth.positions, TRUTH.positions[:4])
    assert len(bench(limit=1000).opened("out").queries) == 20


def test_an_hdf5_file_brings_queries_and_metric() -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File("set.hdf5", "w") as file:
        file["train"], file["test"], file.attrs["distance"] = BASE.whole(), QUERIES.whole(), "euclidean"
    opened = Bench("set.hdf5").opened("out")
    assert (opened.metric, opened.base.shape, opened.queries.shape) == ("l2", (300, 8), (20, 8))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"queries": None}, "base.fbin: only an HDF5 file has both base and queries; give queries as well"),
        ({"metric": None}, "does not say how distance is measured: give the metric (l2, ip, cosine)"),
        ({"base": "none.fbin"}, "none.fbin: cannot be read: No such file or directory"),
        ({"k": 301}, "k is from 1 to 300, the vectors of the base; found 301"),
        ({"truth": "none.ivecs"}, "none.ivecs: cannot be read: No such file or directory"),
        ({"truth": "truth.parquet", "k": 16}, "truth.parquet: has 15 neighbours of each query, and 16 are"),
        ({"truth": "few.ivecs"}, "few.ivecs: is of 3 queries, and there are 20; leave this truth out"),
        ({"truth": "far.ivecs"}, "the truth names position 999, and the base has 300 vectors"),
        ({"truth": "ip.ivecs"}, "ip.ivecs: 20 of 20 queries computed anew have other neighbours by l2: "),
        ({"truth": "short.ivecs"}, "short.ivecs: 20 of 20 queries computed anew have other neighbours"),
        ({"truth": "back.ivecs", "k": 15}, "20 of 20 queries computed anew do not have the nearest first"),
        ({"queries": "narrow.npy"}, "the base has 8 dimensions and the queries have 3"),
        ({"base": "nan.npy"}, "position 7 holds NaN or infinite numbers; leave it out"),
        ({"base": "zero.npy", "metric": "cosine"}, "position 7 is zero, and under cosine it has no"),
        ({"queries": "zero.npy", "metric": "cosine"}, "under cosine they have no direction"),
    ],
)  # fmt: skip
def test_wrong_data_are_refused_and_nothing_is_left(more: dict[str, Any], said: str) -> None:
    spoilt = BASE.whole().copy()
    spoilt[7] = 0
    write_vectors(spoilt, "zero.npy")
    spoilt[7] = np.nan
    write_vectors(spoilt, "nan.npy")
    write_vectors(QUERIES.whole()[:, :3], "narrow.npy")
    write_neighbors(Neighbors(TRUTH.positions[:3]), "few.ivecs")
    write_neighbors(Neighbors(np.full((20, 15), 999)), "far.ivecs")
    by_product = truth(BASE, QUERIES, 15, "ip").positions[:, ::-1]
    write_neighbors(Neighbors(by_product), "ip.ivecs")
    by_product[:, -1] = -1  # padding makes it no better
    write_neighbors(Neighbors(by_product), "short.ivecs")
    write_neighbors(Neighbors(TRUTH.positions[:, ::-1]), "back.ivecs")
    with pytest.raises(InputError) as raised:
        bench(**more).opened("out")
    assert said in str(raised.value)
    assert not Path("out").exists()


def test_a_truth_that_breaks_ties_otherwise_is_taken() -> None:
    twice = np.concatenate([BASE.whole()[:150], BASE.whole()[:150]])
    write_vectors(twice, "twice.npy")
    exact = truth(bench(base="twice.npy").opened("out").base, QUERIES, 10, "l2")
    write_neighbors(Neighbors((exact.positions + 150) % 300), "other.ivecs")
    found = bench(base="twice.npy", truth="other.ivecs").opened("out")
    assert not np.array_equal(found.truth.positions, exact.positions)


def test_queries_without_truth_do_not_stand_in_the_way() -> None:
    write_neighbors(Neighbors(np.full((20, 15), -1)), "empty.ivecs")
    assert bench(truth="empty.ivecs").opened("out").truth.positions.max() == -1


def about(**sources: Any) -> None:
    """The folder `out`, as a sweep of the data leaves it."""
    opened = bench().opened("out")
    paths = {"base": "base.fbin", "queries": "queries.fbin", "truth": None, "limit": None} | sources
    options = {"policy": "ties"}
    Results("out").put_about({"data": opened.about(), "sources": paths, "options": options})


def test_a_folder_is_of_one_set_of_data() -> None:
    about()
    entries = (Entry("hnswlib"),)
    for more, differ in (
        ({"limit": 3}, "queries"),
        ({"metric": "ip"}, "metric"),
        ({"base": "queries.fbin"}, "base"),
    ):
        said = f"out holds trials of other data: not the same {differ}; keep these in a folder of their own"
        with pytest.raises(InputError, match=said):
            bench(entries=entries, **more).sweep("out")


def test_what_is_misspelt_is_told_before_the_truth_is_made() -> None:
    with pytest.raises(ConfigurationError, match="did you mean hnswlib"):
        bench(entries=(Entry("hnswlb"),)).sweep("out")
    assert not Path("out").exists()


def test_a_judge_by_another_k_or_policy() -> None:
    about()
    judge = judge_of("out", k=3, policy="strict")[1]
    assert (judge.k, judge.policy) == (3, "strict")
    assert judge_of("out")[1].policy == "ties"
    with pytest.raises(InputError, match="k is from 1 to 300"):
        judge_of("out", k=0)


def test_a_folder_without_its_data_says_what_to_do() -> None:
    with pytest.raises(
        InputError, match=r"out is not the folder of a sweep.*`assay bench … -o out` makes one"
    ):
        measured("out")
    about(base="gone.fbin")
    with pytest.raises(
        InputError, match=r"gone\.fbin; if it was moved, run the same benchmark with the new path"
    ):
        measured("out")


def test_a_base_without_vectors_is_refused() -> None:
    np.save("none.npy", np.zeros((0, QUERIES.d), np.float32))
    with pytest.raises(InputError, match=r"none\.npy: there is no vector in it"):
        bench(base="none.npy").opened("out")


def test_a_sweep_of_vectors_in_memory_cannot_be_opened_from_its_folder() -> None:
    about()
    said = json.loads(Path("out/sweep.json").read_text())
    Path("out/sweep.json").write_text(json.dumps(said | {"sources": {}}))
    with pytest.raises(InputError, match="out: the vectors came from memory, not from files"):
        measured("out")


def test_data_that_changed_since_are_refused() -> None:
    about()
    changed = QUERIES.whole().copy()
    changed[0] += 1
    write_vectors(changed, "queries.fbin")
    with pytest.raises(
        InputError, match=r"the queries are not those that were searched: queries\.fbin changed"
    ):
        measured("out")


def test_a_damaged_truth_in_the_folder_is_named() -> None:
    bench().opened("out")
    (made,) = Path("out").glob("truth-*.parquet")
    made.write_bytes(b"PAR1")
    with pytest.raises(FormatError, match=r"truth-.*\.parquet"):
        bench().opened("out")
