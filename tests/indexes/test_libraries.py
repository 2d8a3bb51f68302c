"""What is particular to one library: what it refuses, and what it does with a budget below k."""

from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.vectors import InMemoryVectors, Positions
from assay.indexes.hosting.hosted import HostedIndex

D, N = 31, 600
ROWS = np.random.default_rng(3).normal(size=(N, D)).astype(np.float32)

REFUSED = [
    ("faiss.hnsw", {"M": 1}, {}, "M must be 2 or more, found 1"),
    ("faiss.hnsw", {}, {"efSearch": 0}, "efSearch must be 1 or more, found 0"),
    ("faiss.ivfflat", {"nlist": 601}, {}, "nlist must be at most 600, the number of vectors; found 601"),
    ("faiss.ivfflat", {"nlist": 8, "train_points": 7}, {}, "train_points must be 8 or more, found 7"),
    ("faiss.ivfpq", {"nlist": 8, "m": 4}, {}, "m must divide 31, the number of dimensions; found 4"),
    ("faiss.fastscan", {"nlist": 8}, {"k_factor": 0.5}, "k_factor must be 1 or more, found 0.5"),
    ("faiss.ivfsq", {"nlist": 8, "qtype": "9bit"}, {}, "qtype must be one of .*8bit.*, found '9bit'"),
    ("faiss.rabitq", {"nlist": 8}, {"nprobe": 0}, "nprobe must be 1 or more, found 0"),
    ("hnswlib", {"M": 0}, {}, "M must be 2 or more, found 0"),
    ("usearch", {"dtype": "f31"}, {}, "dtype must be one of f32, bf16, f16, i8, found 'f31'"),
    ("usearch", {}, {"expansion_search": 0}, "expansion_search must be 1 or more, found 0"),
    ("annoy", {"n_trees": -5}, {}, "n_trees must be 1 or more, found -5"),
    ("annoy", {}, {"search_k": 0}, "search_k must be 1 or more, found 0"),
]


def search_engine(engine: str, build: dict[str, Any], search: dict[str, Any], k: int = 20) -> Positions:
    """What an engine finds for the first vectors."""
    with HostedIndex(engine, build, metric="l2", d=D, timeout=60) as index:
        index.build(InMemoryVectors(ROWS))
        return index.search(InMemoryVectors(ROWS[:50]), k, search).positions


@pytest.mark.parametrize(("engine", "build", "search", "message"), REFUSED)
def test_a_value_that_makes_no_sense_is_refused_before_the_library_crashes_on_it(
    engine: str, build: dict[str, Any], search: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        search_engine(engine, build, search)


@pytest.mark.parametrize(
    ("engine", "search"),
    [("hnswlib", {"ef": 1}), ("usearch", {"expansion_search": 1})],
)
def test_a_graph_that_holds_fewer_candidates_than_k_finds_k_all_the_same(
    engine: str, search: dict[str, Any]
) -> None:
    assert (search_engine(engine, {}, search) >= 0).all()


@pytest.mark.parametrize("engine", ["faiss.ivfpq", "faiss.fastscan"])
def test_an_odd_number_of_dimensions_needs_no_choice_of_m(engine: str) -> None:
    build = {"nlist": 4} | ({"nbits": 4} if engine == "faiss.ivfpq" else {})
    positions = search_engine(engine, build, {"nprobe": 4, "k_factor": 5}, k=1)
    assert (positions[:, 0] == np.arange(50)).mean() >= 0.98


def test_the_graph_of_nsg_starts_from_descent_as_well() -> None:
    positions = search_engine("faiss.nsg", {"R": 24, "GK": 32, "build_type": 1}, {"search_L": 60}, k=1)
    assert (positions[:, 0] == np.arange(50)).mean() >= 0.98


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "i8"])
def test_usearch_keeps_numbers_in_the_types_it_names(dtype: str) -> None:
    positions = search_engine("usearch", {"dtype": dtype}, {}, k=1)
    assert (positions[:, 0] == np.arange(50)).mean() >= 0.9
