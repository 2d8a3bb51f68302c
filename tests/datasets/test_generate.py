"""Generated vectors: reproducible, and each kind with its property."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.vector_digest import digest_vectors
from assay.core.vector_faults import find_faults
from assay.core.vectors import METRICS, TYPES, Matrix, Vectors
from assay.datasets.generate import CHUNK_ROWS, KINDS, Clusters, Duplicates, generate


def nearest_rows(base: Matrix, queries: Matrix, k: int, metric: str = "l2") -> Matrix:
    """Return the positions of the k nearest rows, by brute force."""
    if metric == "cosine":
        base, queries = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (base, queries))
    far = -(queries @ base.T) + (0.5 * (base**2).sum(axis=1) if metric == "l2" else 0)
    return np.argpartition(far, k, axis=1)[:, :k]


def skew(counts: Matrix) -> float:
    return float(((counts - counts.mean()) ** 3).mean() / counts.std() ** 3)


def times_near(base: Vectors, queries: Vectors, metric: str) -> Matrix:
    """Return how often each row of the base is among the ten nearest."""
    neighbors = nearest_rows(base.to_matrix(), queries.to_matrix(), 10, metric)
    return np.bincount(neighbors.ravel(), minlength=len(base))


@pytest.mark.parametrize("kind", KINDS)
@given(start=st.integers(0, 9000), size=st.integers(0, 9000), rows=st.integers(500, 9000))
@settings(max_examples=8, deadline=None)
def test_rows_do_not_depend_on_the_size_of_requests(kind: str, start: int, size: int, rows: int) -> None:
    base = generate(kind, 9000, 4, seed=3).base
    whole = base.to_matrix()
    stop = min(9000, start + size)
    assert np.array_equal(base.block(start, stop), whole[start:stop])
    assert np.array_equal(np.concatenate([block for _, block in base.blocks(rows)]), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_same_in_another_process_and_differ_with_the_seed(kind: str) -> None:
    data, same, other = (generate(kind, 5000, 8, seed=seed) for seed in (1, 1, 2))
    assert (
        digest_vectors(pickle.loads(pickle.dumps(data.base)))
        == digest_vectors(same.base)
        != digest_vectors(other.base)
    )
    assert digest_vectors(data.queries) == digest_vectors(same.queries) != digest_vectors(other.queries)
    assert np.array_equal(data.base.take(np.array([4999, 0])), data.base.to_matrix()[[4999, 0]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_kind_and_type_has_no_faults(kind: str, dtype: str) -> None:
    data = generate(kind, 300, 12, queries=20, dtype=dtype)
    for vectors, n in ((data.base, 300), (data.queries, 20)):
        assert (vectors.shape, vectors.dtype.name) == ((n, 12), dtype)
        assert vectors.to_matrix().dtype.name == dtype
        assert find_faults(vectors).problems() == []
    cut = (
        np.isin(data.base.to_matrix(), (np.iinfo(dtype).min, np.iinfo(dtype).max))
        if "int" in dtype
        else np.zeros(1)
    )
    assert cut.mean() < 0.01


def test_cluster_sizes_decrease_as_one_over_rank() -> None:
    base = generate("clusters", 40_000, 24, seed=5).base
    kind = base.kind  # type: ignore[attr-defined]
    assert isinstance(kind, Clusters)
    sizes = np.bincount(nearest_rows(kind.centres, base.to_matrix(), 1)[:, 0], minlength=200)
    shares = 1 / np.arange(1, 201) / (1 / np.arange(1, 201)).sum()
    assert len(kind.centres) == 200
    assert np.abs(sizes / 40_000 - shares).max() < 0.01
    assert sizes[0] > 50 * sizes[-20:].mean()


def outside(base: Vectors, queries: Vectors) -> tuple[float, float]:
    """Return the share of the variance outside the main axes of the base, for the base and the queries."""
    rows = base.to_matrix()
    _, values, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    main_axes = axes[: int(np.searchsorted(np.cumsum(values**2) / (values**2).sum(), 0.95)) + 1]
    shares = []
    for vectors in (rows, queries.to_matrix()):
        moved = vectors - rows.mean(axis=0)
        shares.append(1 - float(((moved @ main_axes.T) ** 2).sum() / (moved**2).sum()))
    return shares[0], shares[1]


def test_shifted_queries_are_off_the_subspace_of_the_base() -> None:
    data = generate("shifted", 4000, 32, queries=500)
    base, queries = outside(*data)
    assert base < 0.05
    assert queries > 0.4
    inside = outside(*generate("clusters", 4000, 32, queries=500))
    assert inside[1] < 0.1


def test_shifted_queries_are_on_one_side_and_far_from_their_neighbours() -> None:
    data = generate("shifted", 4000, 32, queries=300)
    base, queries = data.base.to_matrix(), data.queries.to_matrix()
    to_queries = np.linalg.norm(queries - base[nearest_rows(base, queries, 1)[:, 0]], axis=1)
    among = base[:300] - base[300:][nearest_rows(base[300:], base[:300], 1)[:, 0]]
    assert np.median(to_queries) > 3 * np.median(np.linalg.norm(among, axis=1))
    assert np.linalg.norm(queries.mean(axis=0) - base.mean(axis=0)) > 2


@pytest.mark.parametrize("metric", METRICS)
def test_hubs_are_near_to_many_and_most_to_none(metric: str) -> None:
    data = generate("hubs", 5000, 96, queries=1000, metric=metric)
    counts = times_near(data.base, data.queries, metric)
    assert skew(counts) > 5
    assert counts.max() > 50
    assert (counts == 0).mean() > 0.6


def test_rows_without_hubs_are_near_to_few() -> None:
    data = generate("clusters", 5000, 16, queries=1000)
    assert skew(times_near(data.base, data.queries, "l2")) < 4


@pytest.mark.parametrize(("n", "dtype"), [(300, "float32"), (3 * CHUNK_ROWS, "float32"), (10_000, "uint8")])
def test_a_fifth_of_duplicates_are_exact_copies(n: int, dtype: str) -> None:
    base = generate("duplicates", n, 24, dtype=dtype).base.to_matrix()
    distinct = len(np.unique(base, axis=0))
    assert 1 - distinct / n == pytest.approx(Duplicates.share, abs=0.01)


def test_copies_are_found_across_the_whole_base_and_queries_are_not_among_them() -> None:
    data = generate("duplicates", 4 * CHUNK_ROWS, 8)
    rows, places, counts = np.unique(data.base.to_matrix(), axis=0, return_index=True, return_counts=True)
    assert counts.max() > 2
    assert (places[counts > 1] // CHUNK_ROWS).max() > 0
    both = np.concatenate([rows, data.queries.to_matrix()])
    assert len(np.unique(both, axis=0)) == len(both)


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(InputError, match=r"no kind 'cubes'; did you mean hubs\?"):
        generate("cubes", 10, 4)
    with pytest.raises(InputError, match=r"no kind 'x'; choose one of clusters, shifted, hubs, duplicates"):
        generate("x", 10, 4)
    with pytest.raises(InputError, match="dimensions must be 2 or more, found 1"):
        generate("hubs", 10, 1)
    with pytest.raises(InputError, match="found 'int32'"):
        generate("hubs", 10, 4, dtype="int32")
    with pytest.raises(InputError, match="the metric is one of"):
        generate("hubs", 10, 4, metric="hamming")
