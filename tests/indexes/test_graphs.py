"""What is particular to the libraries of graphs, and to ScaNN: short lists, refusals, and what they hide."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.errors import EngineError, InputError
from assay.core.vectors import InMemoryVectors, Positions
from assay.indexes.hosting.hosted import HostedIndex

N, D = 800, 31
ROWS = np.random.default_rng(3).normal(size=(N, D)).astype(np.float32)
EQUAL = np.concatenate([ROWS[:100], np.repeat(ROWS[100:101], 300, axis=0), ROWS[400:]])

REFUSED = [
    ("scann", {"num_leaves": 0}, {}, "num_leaves must be 1 or more, found 0"),
    ("scann", {}, {"leaves_to_search": 0}, "leaves_to_search must be 1 or more, found 0"),
    ("scann", {"soar_lambda": 1.5}, {}, "soar_lambda needs the metric ip or cosine, found l2"),
    ("scann", {"overretrieve_factor": 2.0}, {}, "overretrieve_factor needs soar_lambda"),
    ("diskann", {}, {"complexity": 0}, "complexity must be 1 or more, found 0"),
    ("diskann.ssd", {}, {"beam_width": 129}, "beam_width must be 128 or less in DiskANN, found 129"),
    ("ngt", {"edge_size_for_creation": 0}, {}, "edge_size_for_creation must be 1 or more, found 0"),
    ("ngt", {}, {"epsilon": -1.5}, "epsilon must be -1 or more, found -1.5"),
    ("svs", {"window_size": 0}, {}, "window_size must be 1 or more, found 0"),
    ("svs", {}, {"search_window_size": 0}, "search_window_size must be 1 or more, found 0"),
    ("vsag.hgraph", {}, {"ef_search": 1001}, "ef_search must be between 1 and 1000 in VSAG, found 1001"),
    ("vsag.diskann", {}, {"io_limit": 0}, "io_limit must be 1 or more, found 0"),
]
LIBRARY = [
    ("scann", {"num_leaves": N + 1}, "Number of points .800. is less than the number of clusters .801."),
    ("diskann", {"alpha": 0.5}, "alpha must be >= 1"),
    ("vsag.hgraph", {"max_degree": 2}, "the process ended .*max_degree.2. must in range"),
]


def search_engine(
    engine: str,
    build: dict[str, Any],
    search: dict[str, Any],
    k: int = 20,
    *,
    rows: Any = ROWS,
    mode: str = "batch",
    metric: str = "l2",
    folder: Path | None = None,
) -> Positions:
    """What an engine finds for the first vectors."""
    with HostedIndex(engine, build, metric=metric, d=rows.shape[1], folder=folder, timeout=60) as index:
        index.build(InMemoryVectors(rows))
        return index.search(InMemoryVectors(rows[:50]), k, search, mode).positions


def themselves(positions: Positions) -> float:
    """The share of the vectors that were found by themselves, in the first place."""
    return float((positions[:, 0] == np.arange(len(positions))).mean())


@pytest.mark.parametrize(("engine", "build", "search", "message"), REFUSED)
def test_a_value_that_makes_no_sense_is_refused_before_the_library_misreads_it(
    engine: str, build: dict[str, Any], search: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        search_engine(engine, build, search)


@pytest.mark.parametrize(("engine", "build", "message"), LIBRARY)
def test_what_a_library_refuses_is_said_in_its_words(
    engine: str, build: dict[str, Any], message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        search_engine(engine, build, {})


@pytest.mark.parametrize("mode", ["batch", "single"])
@pytest.mark.parametrize("engine", ["diskann", "diskann.ssd", "ngt", "svs", "vsag.hgraph", "vsag.diskann"])
def test_a_graph_that_equal_vectors_cut_gives_short_lists_and_no_rubbish(engine: str, mode: str) -> None:
    positions = search_engine(engine, {}, {}, k=N, rows=EQUAL, mode=mode)
    is_found = positions >= 0
    assert (np.diff(is_found.astype(int), axis=1) <= 0).all()
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in positions)
    assert positions.max() < N
    if engine != "vsag.hgraph":  # whose graph may stay connected
        assert not is_found.all()


@pytest.mark.parametrize("engine", ["diskann", "diskann.ssd"])
def test_diskann_is_asked_for_no_more_than_its_graph_can_reach(engine: str) -> None:
    positions = search_engine(engine, {"graph_degree": 16, "complexity": 40}, {}, k=N, rows=EQUAL)
    away = ((EQUAL[:50, None] - EQUAL[None]) ** 2).sum(axis=2)
    for row, row_distances in zip(positions, away, strict=True):
        reached_distances = row_distances[row[row >= 0]]
        assert len(reached_distances) >= N - 300
        assert (np.diff(reached_distances) >= -1e-3).all()  # rubbish would not come in order


def test_the_first_vector_is_not_taken_for_the_zeros_that_svs_leaves() -> None:
    positions = search_engine("svs", {}, {}, k=N, rows=EQUAL)
    assert positions[0, 0] == 0
    assert (positions == 0).sum(axis=1).max() == 1
    assert (positions == -1).any()


@pytest.mark.parametrize("mode", ["batch", "single"])
def test_scann_gives_short_lists_where_its_leaves_hold_too_few(mode: str) -> None:
    search = {"leaves_to_search": 1, "pre_reorder_num_neighbors": 400}
    positions = search_engine("scann", {"num_leaves": 40}, search, k=400, mode=mode)
    lengths = (positions >= 0).sum(axis=1)
    assert 0 < lengths.max() < 400  # a leaf may be empty, and one query at a time may be sent to it
    if mode == "batch":  # where each vector is sent to its own leaf
        assert themselves(positions) == 1
    assert all(
        (row[n:] == -1).all() and len(set(row[:n])) == n for row, n in zip(positions, lengths, strict=True)
    )


@pytest.mark.parametrize("metric", ["ip", "cosine"])
def test_soar_finds_more_in_as_many_leaves_because_vectors_are_in_two(metric: str) -> None:
    search = {"leaves_to_search": 2, "pre_reorder_num_neighbors": 200}
    truth = search_engine("scann", {"num_leaves": 20}, search | {"leaves_to_search": 20}, metric=metric)
    hits = [
        np.mean([len({*mine} & {*best}) for mine, best in zip(found.tolist(), truth.tolist(), strict=True)])
        for soar in ({}, {"soar_lambda": 1.5, "overretrieve_factor": 2.0})
        if (found := search_engine("scann", {"num_leaves": 20, **soar}, search, metric=metric)) is not None
    ]
    assert hits[1] > hits[0]


def test_the_graph_of_ngt_with_its_links_made_anew_takes_the_place_of_the_grown_one(tmp_path: Path) -> None:
    build = {"num_of_outgoings": 10, "num_of_incomings": 40}
    assert themselves(search_engine("ngt", build, {"epsilon": 0.2}, k=1, folder=tmp_path)) >= 0.95
    assert [path.name for path in tmp_path.iterdir()] == ["onng"]


def test_the_graph_on_disk_answers_with_one_thread_and_keeps_no_copy_of_the_vectors(tmp_path: Path) -> None:
    assert themselves(search_engine("diskann.ssd", {}, {}, k=1, folder=tmp_path)) >= 0.95
    assert (tmp_path / "ann_disk.index").exists()
    assert not (tmp_path / "ann_vectors.bin").exists()


def test_vsags_diskann_has_no_inner_product() -> None:
    with pytest.raises(
        InputError, match=r"does not support the metric ip; it supports l2, cosine|is not installed"
    ):
        HostedIndex("vsag.diskann", metric="ip", d=D, timeout=60).close()


def test_links_are_read_as_diskann_writes_them(tmp_path: Path) -> None:
    pytest.importorskip("diskannpy", reason="diskannpy is not installed")
    from assay.indexes.engines.diskann import count_reachable, memory_links

    nodes = [[1, 2], [0], [], [0, 1]]  # nothing leads to the last
    words = [word for links in nodes for word in (len(links), *links)]
    np.array([0, 0, 4, 0, 0, 0, *words], np.uint32).tofile(tmp_path / "graph")
    start, links = memory_links(tmp_path / "graph")
    assert start == 0
    assert [links(node).tolist() for node in range(4)] == nodes
    assert count_reachable(start, links, enough=10) == 3
    assert count_reachable(start, links, enough=2) == 2
