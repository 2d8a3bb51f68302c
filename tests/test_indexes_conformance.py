"""Every engine that is installed here does what an index must do, each in a process of its own."""

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
from assay.core.vectors import Held, Positions
from assay.indexes.engines import ENGINES
from assay.indexes.hosting.hosted import Hosted
from assay.indexes.hosting.worker import Built, Described
from assay.indexes.index import Setup
from engines import TRIALS, Trial

N, D, K, QUERIES = 4000, 32, 10, 200
CONTRACTS = {
    "puck",
    "qdrant",
    "elasticsearch",
    "opensearch",
    "weaviate",
    "vespa",
    "redis",
}  # tested elsewhere
GUIDE = (Path(__file__).parents[1] / "docs" / "engines.md").read_text()
CASES = [
    (name, metric)
    for name, trial in TRIALS.items()
    for metric in (trial.metrics[:1] if trial.slow else trial.metrics)
]


@cache
def data(metric: str) -> tuple[Any, Any, Any]:
    """Skewed clusters, queries among them, and queries far from them."""
    rng = np.random.default_rng(5)
    centres = rng.normal(size=(40, D))
    near = centres[rng.zipf(1.5, N + QUERIES) % 40] + rng.normal(size=(N + QUERIES, D))
    tables = [near[:N], near[N:], 3 * rng.normal(size=(QUERIES, D))]
    if metric == "cosine":
        tables = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in tables]
    base, queries, hard = (rows.astype(np.float32) for rows in tables)
    return base, queries, hard


@cache
def distances(metric: str, far: bool) -> Any:
    """All distances of the queries, in double precision, larger for what is farther."""
    base, queries, hard = (rows.astype(np.float64) for rows in data(metric))
    asked = hard if far else queries
    products = asked @ base.T
    if metric != "l2":
        return -products
    return np.sqrt((asked**2).sum(1)[:, None] + (base**2).sum(1)[None] - 2 * products)


def recall(metric: str, found: Positions, far: bool = False) -> float:
    """The share of the nearest that was found; what lies as far as the last of them counts."""
    away = distances(metric, far)
    last = np.sort(away, axis=1)[:, found.shape[1] - 1, None]
    theirs = np.where(found < 0, np.inf, np.take_along_axis(away, np.maximum(found, 0), 1))
    return float((theirs <= last + 1e-6 * np.abs(last)).mean())


def sound(found: Positions, n: int) -> bool:
    """Whether every position is in the base or −1, none is twice in a row, and −1 comes last."""
    inside = ((found >= -1) & (found < n)).all()
    once = all(len(set(row[row >= 0])) == (row >= 0).sum() for row in found)
    last = all((np.diff((row >= 0).astype(int)) <= 0).all() for row in found)
    return bool(inside and once and last)


def same(one: Positions, other: Positions) -> float:
    """The share of rows that hold the same positions, in whatever order."""
    return float((np.sort(one, 1) == np.sort(other, 1)).all(axis=1).mean())


class Record(NamedTuple):
    """What an engine answered."""

    name: str
    trial: Trial
    metric: str
    described: Described
    folder: Path
    built: Built
    generous: Positions
    single: Positions
    shared: Positions | None  # by clients that ask at the same time, where they can share the process
    poor: Positions
    least: Positions
    busy: tuple[float, float]  # threads at once
    wrong: dict[str, str]
    few: dict[int, Positions | str]  # of so many vectors


def opened(name: str, metric: str, folder: Path) -> Hosted:
    """An engine with all processors to itself, so that a thread too many can be seen."""
    cpus = tuple(os.sched_getaffinity(0))
    return Hosted(name, TRIALS[name].build, metric=metric, d=D, folder=folder, timeout=600, cpus=cpus)


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def record(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Record]:
    """One engine under one metric: built once, asked everything, closed."""
    name, metric = request.param
    folder, trial = tmp_path_factory.mktemp("engine"), TRIALS[name]
    base, queries, hard = (Held(rows) for rows in data(metric))
    with opened(name, metric, folder) as index:
        built = index.build(base)
        least = index.search(hard, K, index.described.least).positions
        poor = index.search(queries, K, trial.poor).positions
        generous = index.search(queries, K, trial.generous).positions
        single = index.search(queries, K, trial.generous, "single")
        assert single.problem == ""
        shared = None if index.described.holds_gil else asked_by_several(index, queries)
        busy, wrong = occupied(index, queries), misspelled(index)
        described = index.described
        few = of_few(index, metric, tmp_path_factory.mktemp("few"))
    yield Record(
        name,
        trial,
        metric,
        described,
        folder,
        built,
        generous,
        single.positions,
        shared,
        poor,
        least,
        busy,
        wrong,
        few,
    )
    shutil.rmtree(folder)


def asked_by_several(index: Hosted, queries: Held) -> Positions:
    """What four clients get who ask at the same time, in the last of three passes."""
    for _ in range(3):
        index.ask("ready", queries, np.arange(QUERIES), K, 4)
        found = index.ask("single")
        assert found.problem == ""
    return np.asarray(found.positions)


def occupied(index: Hosted, queries: Held) -> tuple[float, float]:
    """How many threads searched at once: by the clock, and by who worked (others may keep the processors)."""
    before, first, begin = index.ask("cpu"), main_thread(index), time.perf_counter()
    while (spent := index.ask("cpu") - before) < 0.2 and time.perf_counter() - begin < 60:
        index.ask("batch", queries, K)
    main = main_thread(index) - first
    return spent / (time.perf_counter() - begin), spent / max(main, spent - main)


def main_thread(index: Hosted) -> float:
    """The seconds of processor time of the thread that asks the engine."""
    pid = index.family()[0]
    fields = Path(f"/proc/{pid}/task/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def misspelled(index: Hosted) -> dict[str, str]:
    """What is said of parameters with a letter too many, and of lists where there should be none."""
    build, search = ({name + "s": 1 for name in d} for d in (index.described.build, index.described.search))
    listed = {name: [1] for name in index.described.search}
    spelled: dict[str, str] = index.ask("problems", index.engine, build, search)
    typed: dict[str, str] = index.ask("problems", index.engine, {}, listed)
    return spelled | typed


def test_every_engine_is_tried_here_or_by_a_contract() -> None:
    assert set(ENGINES) - set(TRIALS) == CONTRACTS


def test_the_guide_tells_what_an_engine_is_set_with_and_whether_it_keeps_its_process(record: Record) -> None:
    (row,) = (line for line in GUIDE.splitlines() if line.startswith(f"| `{record.name}` |"))
    _, needs, _, metrics, settings, to_know = (cell.strip() for cell in row.strip("|").split(" | "))
    told = {setting.partition(":")[0].strip() for setting in settings.split(",")} - {"–"}
    assert told == set(record.described.search)
    assert ("holds the GIL" in to_know) == record.described.holds_gil
    assert metrics in (" ".join(record.described.metrics), "those of the engine inside")
    assert record.described.version in needs or not re.search(r"\d", needs)


def test_an_engine_lists_the_metrics_it_is_tried_with(record: Record) -> None:
    assert set(record.described.metrics) == set(record.trial.metrics)


def test_positions_are_in_the_base_and_none_is_returned_twice(record: Record) -> None:
    for found in (record.generous, record.single, record.poor, record.least):
        assert found.shape == (QUERIES, K)
        assert sound(found, N)


def test_a_generous_search_finds_nearly_all_and_an_exact_one_all(record: Record) -> None:
    found = recall(record.metric, record.generous)
    assert found == 1 if record.described.exact else found >= 0.9


def test_a_poor_search_finds_no_more_than_a_generous_one(record: Record) -> None:
    poor, generous = recall(record.metric, record.poor), recall(record.metric, record.generous)
    assert poor == generous if record.described.exact else poor < generous


def test_the_least_search_misses_something_unless_it_is_exact(record: Record) -> None:
    found = recall(record.metric, record.least, far=True)
    assert found == 1 if record.described.exact else found < 1


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
    for kind, known in (("build", record.described.build), ("search", record.described.search)):
        for name in known:
            assert f"did you mean {name}?" in record.wrong[f"{kind}.{name}s"]
    for parameter in record.described.search.values():
        assert f"expected {parameter.expected}, found [1]" in record.wrong[f"search.{parameter.name}"]


def test_what_is_saved_has_bytes_and_gives_the_same_answers_in_another_process(
    record: Record, request: pytest.FixtureRequest
) -> None:
    name, metric = request.node.callspec.params["record"]
    assert record.built.seconds > 0
    assert record.built.version
    assert record.built.disk_bytes
    if not record.described.loads:
        pytest.skip(f"{name} cannot take up what it saved")
    with opened(name, metric, record.folder) as index:
        index.load()
        found = index.search(Held(data(metric)[1]), K, record.trial.generous)
    assert same(found.positions, record.generous) >= 0.99


def test_few_or_equal_vectors_are_answered_or_refused_in_words(record: Record) -> None:
    for n, found in record.few.items():
        if isinstance(found, str):
            assert "the process ended" not in found
            assert "did not end" not in found
        else:
            assert sound(found, n)
            assert (found[:, 0] >= 0).all()


def of_few(index: Hosted, metric: str, folder: Path) -> dict[int, Positions | str]:
    """What the engine finds among 1, 2, 20 vectors and 30 that are there ten times, or why it refuses."""
    rows = data(metric)[0]
    bases = (np.repeat(rows[:n], times, axis=0) for n, times in ((1, 1), (2, 1), (20, 1), (30, 10)))
    return {len(base): answered(index, metric, base, folder / str(len(base))) for base in bases}


def answered(index: Hosted, metric: str, base: Any, folder: Path) -> Positions | str:
    """What an index of few vectors finds, or why it is refused."""
    trial = TRIALS[index.engine]
    folder.mkdir()
    try:
        index.ask("open", index.engine, trial.build, Setup(metric, D, 1, folder))
        index.build(Held(base))
        return index.search(Held(base[:5]), min(len(base), 20), trial.generous).positions
    except AssayError as error:
        return str(error)
