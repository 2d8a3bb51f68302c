"""What is particular to one library: what it refuses, and what it does with a budget below k."""

from typing import Any

import numpy as np
import pytest

from assay.core.errors import InputError
from assay.core.vectors import Held, Positions
from assay.indexes.hosting.hosted import Hosted

D, N = 31, 600
ROWS = np.random.default_rng(3).normal(size=(N, D)).astype(np.float32)

REFUSED = [
    ("faiss.hnsw", {"M": 1}, {}, "M is 2 or more, found 1"),
    ("faiss.hnsw", {}, {"efSearch": 0}, "efSearch is 1 or more, found 0"),
    ("faiss.ivfflat", {"nlist": 601}, {}, "nlist is at most the number of vectors, 600; found 601"),
    ("faiss.ivfflat", {"nlist": 8, "train_points": 7}, {}, "train_points is 8 or more, found 7"),
    ("faiss.ivfpq", {"nlist": 8, "m": 4}, {}, "m divides the number of dimensions, 31; found 4"),
    ("faiss.fastscan", {"nlist": 8}, {"k_factor": 0.5}, "k_factor is 1 or more, found 0.5"),
    ("faiss.ivfsq", {"nlist": 8, "qtype": "9bit"}, {}, "qtype is one of .*8bit.*, found '9bit'"),
    ("faiss.rabitq", {"nlist": 8}, {"nprobe": 0}, "nprobe is 1 or more, found 0"),
    ("hnswlib", {"M": 0}, {}, "M is 2 or more, found 0"),
    ("usearch", {"dtype": "f31"}, {}, "dtype is one of f32, bf16, f16, i8, found 'f31'"),
    ("usearch", {}, {"expansion_search": 0}, "expansion_search is 1 or more, found 0"),
    ("voyager", {"storage_data_type": "f32"}, {}, "storage_data_type is one of Float32, .*, found 'f32'"),
    ("nmslib", {}, {"efSearch": -1}, "efSearch is 1 or more, found -1"),
    ("annoy", {"n_trees": -5}, {}, "n_trees is 1 or more, found -5"),
    ("annoy", {}, {"search_k": 0}, "search_k is 1 or more, found 0"),
]


def found(engine: str, build: dict[str, Any], search: dict[str, Any], k: int = 20) -> Positions:
    """What an engine finds for the first vectors."""
    with Hosted(engine, build, metric="l2", d=D, timeout=60) as index:
        index.build(Held(ROWS))
        return index.search(Held(ROWS[:50]), k, search).positions


@pytest.mark.parametrize(("engine", "build", "search", "said"), REFUSED)
def test_a_value_that_makes_no_sense_is_refused_before_the_library_crashes_on_it(
    engine: str, build: dict[str, Any], search: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        found(engine, build, search)


@pytest.mark.parametrize(
    ("engine", "search"),
    [("hnswlib", {"ef": 1}), ("usearch", {"expansion_search": 1}), ("voyager", {"query_ef": 1})],
)
def test_a_graph_that_holds_fewer_candidates_than_k_finds_k_all_the_same(
    engine: str, search: dict[str, Any]
) -> None:
    assert (found(engine, {}, search) >= 0).all()


def test_nmslib_with_fewer_candidates_than_k_gives_a_short_list() -> None:
    positions = found("nmslib", {"M": 4}, {"efSearch": 1}, k=300)
    lengths = (positions >= 0).sum(axis=1)
    assert lengths.min() > 0
    assert lengths.max() < 300
    assert all((row[length:] == -1).all() for row, length in zip(positions, lengths, strict=True))


@pytest.mark.parametrize("engine", ["faiss.ivfpq", "faiss.fastscan"])
def test_an_odd_number_of_dimensions_needs_no_choice_of_m(engine: str) -> None:
    build = {"nlist": 4} | ({"nbits": 4} if engine == "faiss.ivfpq" else {})
    positions = found(engine, build, {"nprobe": 4, "k_factor": 5}, k=1)
    assert (positions[:, 0] == np.arange(50)).mean() >= 0.98


def test_the_graph_of_nsg_starts_from_descent_as_well() -> None:
    positions = found("faiss.nsg", {"R": 24, "GK": 32, "build_type": 1}, {"search_L": 60}, k=1)
    assert (positions[:, 0] == np.arange(50)).mean() >= 0.98


@pytest.mark.parametrize("kept", ["f32", "bf16", "f16", "i8"])
def test_usearch_keeps_numbers_in_the_types_it_names(kept: str) -> None:
    positions = found("usearch", {"dtype": kept}, {}, k=1)
    assert (positions[:, 0] == np.arange(50)).mean() >= 0.9
