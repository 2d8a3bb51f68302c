"""The conformance suite: every installed engine follows the protocol, each in its own process."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.core.vectors import InMemoryVectors, Positions
from assay.indexes.hosting.hosted import HostedIndex
from assay.indexes.hosting.worker import BuildResult, EngineDescription
from assay.indexes.index import Setup
from assay.indexes.registry import ENGINES
from assay.indexes.servers.postgres import PostgresServer
from tests.indexes import engines
from tests.indexes.engines import EXAMPLE_TRIALS, Parameters, Trial
from tests.indexes.example_engines import TRIES_LIBRARIES, install_examples

IS_DIVIDED = True  # a case is an engine with a metric
N, D, K, QUERIES = 4000, 32, 10, 100
CONTRACTS = {
    "puck",
    "qdrant",
    "elasticsearch",
    "opensearch",
    "weaviate",
    "vespa",
    "redis",
}  # tested elsewhere
TRIALS = engines.TRIALS | (EXAMPLE_TRIALS if TRIES_LIBRARIES else {})
GUIDE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text()
CASES = [
    (name, metric)
    for name, trial in TRIALS.items()
    for metric in (trial.metrics[:1] if trial.slow else trial.metrics)
]


@cache
def data(metric: str) -> tuple[Any, Any, Any]:
    """Return skewed clusters, queries in them, and queries far from them."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(40, D))
    clustered_rows = centres[rng.zipf(1.5, N + QUERIES) % 40] + rng.normal(size=(N + QUERIES, D))
    tables = [clustered_rows[:N], clustered_rows[N:], 3 * rng.normal(size=(QUERIES, D))]
    if metric == "cosine":
        tables = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in tables]
    base, queries, hard = (rows.astype(np.float32) for rows in tables)
    return base, queries, hard


@cache
def distances(metric: str, far: bool) -> Any:
    """Return all distances of the queries in double precision."""
    base, queries, hard = (rows.astype(np.float64) for rows in data(metric))
    query_rows = hard if far else queries
    products = query_rows @ base.T
    if metric != "l2":
        return -products
    return np.sqrt((query_rows**2).sum(1)[:, None] + (base**2).sum(1)[None] - 2 * products)


def recall(metric: str, answer: Positions, far: bool = False) -> float:
    """Return the recall; a vector as near as the last of the nearest counts."""
    away = distances(metric, far)
    last = np.sort(away, axis=1)[:, answer.shape[1] - 1, None]
    found_distances = np.where(answer < 0, np.inf, np.take_along_axis(away, np.maximum(answer, 0), 1))
    return float((found_distances <= last + 1e-6 * np.abs(last)).mean())


def sound(answer: Positions, n: int) -> bool:
    """Return whether every position is in the base or −1, none is repeated in a row, and −1 comes last."""
    inside = ((answer >= -1) & (answer < n)).all()
    is_unique = all(len(set(row[row >= 0])) == (row >= 0).sum() for row in answer)
    last = all((np.diff((row >= 0).astype(int)) <= 0).all() for row in answer)
    return bool(inside and is_unique and last)


def same(left_answer: Positions, other: Positions) -> float:
    """Return the share of rows with the same positions, in any order."""
    return float((np.sort(left_answer, 1) == np.sort(other, 1)).all(axis=1).mean())


class Record(NamedTuple):
    """The answers of an engine."""

    name: str
    trial: Trial
    metric: str
    description: EngineDescription
    folder: Path
    built: BuildResult
    generous: Positions
    single: Positions
    shared: Positions | None  # by clients that ask at the same time, where they can share the process
    poor: Positions
    smallest: Positions
    busy: tuple[float, float]  # threads at once
    wrong: dict[str, str]
    few_vectors: dict[int, Positions | str]  # of so many vectors


def open_index(name: str, metric: str, folder: Path) -> HostedIndex:
    """Return an engine that may use all processors, so that surplus threads are visible."""
    cpus = tuple(os.sched_getaffinity(0))
    return HostedIndex(name, TRIALS[name].build, metric=metric, d=D, folder=folder, timeout=600, cpus=cpus)


@pytest.fixture(scope="module", autouse=True)
def examples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make the engines of examples/engines known by their entry points."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_OPT", "0")  # pynndescent compiles in every process; only its answers matter here
        install_examples(tmp_path_factory.mktemp("installed"), patch)
        yield


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a PostgreSQL for indexes of few vectors, which would spend their time on starting one."""
    started = PostgresServer(tmp_path_factory.mktemp("postgres"))
    started.start()
    yield started.url
    started.stop()


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def record(
    request: pytest.FixtureRequest, examples: None, server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Record]:
    """One engine with one metric: built once, searched in all ways, closed."""
    name, metric = request.param
    folder, trial = tmp_path_factory.mktemp("engine"), TRIALS[name]
    base, queries, hard = (InMemoryVectors(rows) for rows in data(metric))
    with open_index(name, metric, folder) as index:
        built = index.build(base)
        smallest = index.search(hard, K, index.description.smallest_search).positions
        poor = index.search(queries, K, trial.poor).positions
        generous = index.search(queries, K, trial.generous).positions
        single = index.search(queries, K, trial.generous, "single")
        assert single.first_error == ""
        shared = None if index.description.holds_gil else search_by_clients(index, queries)
        busy, wrong = busy_threads(index, queries), misspelling_problems(index)
        description = index.description
        build = {**trial.build, "url": server} if name.startswith("pgvector") else trial.build
        few_vectors = search_few_vectors(index, build, metric, tmp_path_factory.mktemp("few"))
    yield Record(
        name,
        trial,
        metric,
        description,
        folder,
        built,
        generous,
        single.positions,
        shared,
        poor,
        smallest,
        busy,
        wrong,
        few_vectors,
    )
    shutil.rmtree(folder)


def search_by_clients(index: HostedIndex, queries: InMemoryVectors) -> Positions:
    """Return what four clients that search at the same time get, in the last of three passes."""
    for _ in range(3):
        index.call("prepare_requests", queries, np.arange(QUERIES), K, 4)
        answer = index.call("search_single")
        assert answer.first_error == ""
    return np.asarray(answer.positions)


def busy_threads(index: HostedIndex, queries: InMemoryVectors) -> tuple[float, float]:
    """Return how many threads searched at once: by the clock, and by their shares of processor time."""
    before, first, begin = index.call("cpu_seconds"), main_thread(index), time.perf_counter()
    while (spent := index.call("cpu_seconds") - before) < 0.2 and time.perf_counter() - begin < 60:
        index.call("search_batch", queries, K)
    main = main_thread(index) - first
    return spent / (time.perf_counter() - begin), spent / max(main, spent - main)


def main_thread(index: HostedIndex) -> float:
    """Return the seconds of processor time of the thread that calls the engine."""
    pid = index.process_ids()[0]
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def misspelling_problems(index: HostedIndex) -> dict[str, str]:
    """Return the problems of parameters with one letter too many, and of lists in place of numbers."""
    build, search = (
        {name + "s": 1 for name in d} for d in (index.description.build, index.description.search)
    )
    listed = {name: [1] for name in index.description.search}
    spelled: dict[str, str] = index.call("problems", index.engine, build, search)
    typed: dict[str, str] = index.call("problems", index.engine, {}, listed)
    return spelled | typed


def test_every_engine_is_tried_here_or_by_a_contract() -> None:
    assert set(ENGINES) - set(TRIALS) == CONTRACTS
    assert set(engines.TRIALS) - set(ENGINES) == {"sample"}


def test_the_guide_tells_what_an_engine_is_set_with_and_whether_it_keeps_its_process(record: Record) -> None:
    (row,) = (line for line in GUIDE.splitlines() if line.startswith(f"| `{record.name}` |"))
    _, needs, _, metrics, settings, to_know = (cell.strip() for cell in row.strip("|").split(" | "))
    names = {setting.partition(":")[0].strip() for setting in settings.split(",")} - {"–"}
    assert names == set(record.description.search)
    assert ("holds the GIL" in to_know) == record.description.holds_gil
    assert metrics in (" ".join(record.description.metrics), "those of the inner engine")
    release = record.description.version.partition(" source ")[0]  # a package of one's own has a digest too
    assert release in needs or not re.search(r"\d", needs)


def test_an_engine_lists_the_metrics_it_is_tried_with(record: Record) -> None:
    assert set(record.description.metrics) == set(record.trial.metrics)


def test_positions_are_in_the_base_and_none_is_returned_twice(record: Record) -> None:
    for answer in (record.generous, record.single, record.poor, record.smallest):
        assert answer.shape == (QUERIES, K)
        assert sound(answer, N)


def test_a_generous_search_finds_nearly_all_and_an_exact_one_all(record: Record) -> None:
    answer = recall(record.metric, record.generous)
    assert answer == 1 if record.description.exact else answer >= 0.9


def test_a_poor_search_finds_no_more_than_a_generous_one(record: Record) -> None:
    poor, generous = recall(record.metric, record.poor), recall(record.metric, record.generous)
    assert poor == generous if record.description.exact else poor < generous


def test_the_least_search_misses_something_unless_it_is_exact(record: Record) -> None:
    answer = recall(record.metric, record.smallest, far=True)
    assert answer == 1 if record.description.exact else answer < 1


def test_a_query_gets_the_same_answer_alone_and_among_others(record: Record) -> None:
    if record.trial.steady:
        assert np.array_equal(record.single, record.generous)
    assert same(record.single, record.generous) >= 0.99


def test_a_query_gets_the_same_answer_while_others_are_asked(record: Record) -> None:
    if record.shared is None:
        pytest.skip("an engine that holds the GIL has a process for each client")
    if record.trial.steady:
        assert np.array_equal(record.shared, record.single)
    assert same(record.shared, record.single) >= 0.99


def test_one_thread_is_kept_to(record: Record) -> None:
    if record.trial.server:
        pytest.skip("the work is done by a server")
    by_clock, by_share = record.busy
    assert by_clock <= 1.3
    assert by_share <= 1.5  # all in the thread that asks, or all in another; a few percent are Python's


def test_a_wrong_parameter_is_refused_with_the_near_name(record: Record) -> None:
    for kind, accepted_parameters in (
        ("build", record.description.build),
        ("search", record.description.search),
    ):
        for name in accepted_parameters:
            assert f"did you mean {name}?" in record.wrong[f"{kind}.{name}s"]
    for parameter in record.description.search.values():
        assert f"expected {parameter.type_names}, found [1]" in record.wrong[f"search.{parameter.name}"]


def test_what_is_saved_has_bytes_and_gives_the_same_answers_in_another_process(
    record: Record, request: pytest.FixtureRequest
) -> None:
    name, metric = request.node.callspec.params["record"]
    assert record.built.seconds > 0
    assert record.built.version
    assert record.built.disk_bytes
    if not record.description.can_load:
        pytest.skip(f"{name} cannot take up what it saved")
    with open_index(name, metric, record.folder) as index:
        index.load()
        answer = index.search(InMemoryVectors(data(metric)[1]), K, record.trial.generous)
    assert same(answer.positions, record.generous) >= 0.99


def test_few_or_equal_vectors_are_answered_or_refused_in_words(record: Record) -> None:
    for n, answer in record.few_vectors.items():
        if isinstance(answer, str):
            assert "the process ended" not in answer
            assert "did not end" not in answer
        else:
            assert sound(answer, n)
            assert (answer[:, 0] >= 0).all()


def search_few_vectors(
    index: HostedIndex, build: Parameters, metric: str, folder: Path
) -> dict[int, Positions | str]:
    """Return what the engine finds in 1, 2, 20 and 300 vectors, the last of 30 kinds, or its refusal."""
    rows, found = data(metric)[0], {}
    for n, times in ((1, 1), (2, 1), (20, 1), (30, 10)):
        own = folder / str(n * times)
        own.mkdir()
        base = np.repeat(rows[:n], times, axis=0)
        found[n * times] = search_or_refusal(index, build, base, Setup(metric, D, 1, own))
    return found


def search_or_refusal(index: HostedIndex, build: Parameters, base: Any, setup: Setup) -> Positions | str:
    """Return what an index of few vectors finds, or why it is refused."""
    trial = TRIALS[index.engine]
    try:
        index.call("open", index.engine, build, setup)
        index.build(InMemoryVectors(base))
        return index.search(InMemoryVectors(base[:5]), min(len(base), 20), trial.generous).positions
    except AssayError as error:
        return str(error)
