"""A benchmark in settings and in options: everything is read, and all problems are reported at once."""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from assay.bench.sweeps.cases import IndexEntry, ParameterRange, RequestMode
from assay.bench.sweeps.engine_descriptions import describe_engines
from assay.bench.sweeps.options import SweepOptions
from assay.core.errors import ConfigurationError, InputError
from assay.workflows.bench_settings import parse_index, parse_size, read_benchmark
from assay.workflows.benchmark import Benchmark

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


def test_every_setting_reaches_its_place() -> None:
    made = read_benchmark(tomllib.loads(EVERYTHING), Path("of"))
    assert made == Benchmark(
        "of/base.fbin",
        "of/queries.fbin",
        "of/truth.parquet",
        "l2",
        5,
        10,
        (
            IndexEntry(
                "hnswlib", {"M": [8, 16], "ef_construction": [100]}, {"ef": [ParameterRange(10, 20)]}, 2
            ),
            IndexEntry("puck", {}, {}, 1, "of/envs/puck/bin/python"),
        ),
        (
            RequestMode("single", 3),
            RequestMode("open", 3, 100.0, 2.0),
            RequestMode("open", 3, 200.5, 2.0),
            RequestMode("capacity", 3, None, 2.0, 99.0, 10.0),
            RequestMode("capacity", 3, None, 2.0, 99.9, 50.0),
        ),
        SweepOptions(4, 7, 3 << 29, 2 << 30, 60.0, 9, "strict"),
        (0.9, 0.95),
    )
    assert len(made.trial_cases()) == (2 * 2 + 1) * 5


@pytest.mark.parametrize("name", ["five", "glove", "refine"])
def test_the_examples_are_sweeps_of_engines_that_are_here(name: str) -> None:
    path = Path(__file__).parents[2] / "examples" / "bench" / f"{name}.toml"
    bench = read_benchmark(tomllib.loads(path.read_text()), path.parent)
    assert all(found.version for found in describe_engines(bench.trial_cases()).values())


def test_what_is_not_said_is_the_usual() -> None:
    made = read_benchmark({"data": {"base": "b.hdf5"}, "index": [{"engine": "annoy"}]}, Path())
    assert made == Benchmark("b.hdf5", entries=(IndexEntry("annoy"),))
    assert [asking.mode for asking in made.request_modes] == ["single", "batch"]


def test_no_mode_but_a_rate_is_an_open_loop_and_nothing_else() -> None:
    made = read_benchmark({"data": {"base": "b.hdf5"}, "run": {"modes": [], "rates": 50}}, Path())
    assert made.request_modes == (RequestMode("open", 1, 50.0),)
    with pytest.raises(InputError, match="expected a request mode, found none: give a mode, a rate"):
        replace(made, request_modes=(), entries=(IndexEntry("annoy"),)).trial_cases()


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
        read_benchmark(tomllib.loads(wrong), Path(), "bench.toml")
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
        ("hnswlib", IndexEntry("hnswlib")),
        ("annoy n_trees=5,10", IndexEntry("annoy", {"n_trees": [5, 10]})),
        ("faiss.hnsw / efSearch=16,64", IndexEntry("faiss.hnsw", {}, {"efSearch": [16, 64]})),
        ("hnswlib M=16 / ef=10..800", IndexEntry("hnswlib", {"M": [16]}, {"ef": [ParameterRange(10, 800)]})),
        ("x on=true kind=pq / a=0.5", IndexEntry("x", {"on": [True], "kind": ["pq"]}, {"a": [0.5]})),
        ("x url=http://localhost:1/db", IndexEntry("x", {"url": ["http://localhost:1/db"]})),
        ("x token='12' / a='b, c',\"d\",8", IndexEntry("x", {"token": ["12"]}, {"a": ["b, c", "d", 8]})),
    ],
)
def test_an_index_in_one_line(text: str, expected: IndexEntry) -> None:
    assert parse_index(text) == expected


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
        ("hnswlib M=8 M=9", "M appears twice in 'hnswlib M=8 M=9': write its values as M=VALUE,VALUE"),
        ("x uri=my data.db", "text with spaces must be quoted, as in uri='my data.db'"),
        ("hnswlib M=16/ef=40", "the slash before the search parameters needs spaces around it"),
    ],
)
def test_a_wrong_line_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_index(text)
    assert said in str(raised.value)


def test_sizes() -> None:
    assert [parse_size(text) for text in ("1 KB", "2mb", 5, "0.5 GB")] == [1024, 2 << 20, 5, 1 << 29]
    assert [parse_size(text) for text in ("", "-1 GB", 0, "0 GB", "4 XB")] == [None] * 5
