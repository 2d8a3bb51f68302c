"""Vectors from a seed: always the same, and each kind has the property it is made for."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.vectors import METRICS, TYPES, Matrix, Vectors
from assay.core.vectors_check import faults
from assay.core.vectors_digest import digest
from assay.datasets.generate import CHUNK, KINDS, Clusters, Duplicates, generate


def near(base: Matrix, queries: Matrix, k: int, metric: str = "l2") -> Matrix:
    """The positions of the k nearest, by brute force."""
    if metric == "cosine":
        base, queries = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (base, queries))
    far = -(queries @ base.T) + (0.5 * (base**2).sum(axis=1) if metric == "l2" else 0)
    return np.argpartition(far, k, axis=1)[:, :k]


def skew(counts: Matrix) -> float:
    return float(((counts - counts.mean()) ** 3).mean() / counts.std() ** 3)


def times_near(base: Vectors, queries: Vectors, metric: str) -> Matrix:
    """How often each of the base is among the ten nearest."""
    found = near(base.whole(), queries.whole(), 10, metric)
    return np.bincount(found.ravel(), minlength=len(base))


@pytest.mark.parametrize("kind", KINDS)
@given(start=st.integers(0, 9000), size=st.integers(0, 9000), rows=st.integers(500, 9000))
@settings(max_examples=8, deadline=None)
def test_rows_are_the_same_whatever_is_asked_for_at_a_time(
    kind: str, start: int, size: int, rows: int
) -> None:
    base = generate(kind, 9000, 4, seed=3).base
    whole = base.whole()
    stop = min(9000, start + size)
    assert np.array_equal(base.block(start, stop), whole[start:stop])
    assert np.array_equal(np.concatenate([block for _, block in base.blocks(rows)]), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_same_in_another_process_and_differ_with_the_seed(kind: str) -> None:
    made, same, other = (generate(kind, 5000, 8, seed=seed) for seed in (1, 1, 2))
    assert digest(pickle.loads(pickle.dumps(made.base))) == digest(same.base) != digest(other.base)
    assert digest(made.queries) == digest(same.queries) != digest(other.queries)
    assert np.array_equal(made.base.take(np.array([4999, 0])), made.base.whole()[[4999, 0]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_kind_comes_in_every_type_without_faults(kind: str, dtype: str) -> None:
    made = generate(kind, 300, 12, queries=20, dtype=dtype)
    for vectors, n in ((made.base, 300), (made.queries, 20)):
        assert (vectors.shape, vectors.dtype.name) == ((n, 12), dtype)
        assert vectors.whole().dtype.name == dtype
        assert faults(vectors).problems() == []
    cut = (
        np.isin(made.base.whole(), (np.iinfo(dtype).min, np.iinfo(dtype).max))
        if "int" in dtype
        else np.zeros(1)
    )
    assert cut.mean() < 0.01


def test_clusters_have_sizes_that_fall_as_one_over_rank() -> None:
    base = generate("clusters", 40_000, 24, seed=5).base
    kind = base.kind  # type: ignore[attr-defined]
    assert isinstance(kind, Clusters)
    sizes = np.bincount(near(kind.centres, base.whole(), 1)[:, 0], minlength=200)
    shares = 1 / np.arange(1, 201) / (1 / np.arange(1, 201)).sum()
    assert len(kind.centres) == 200
    assert np.abs(sizes / 40_000 - shares).max() < 0.01
    assert sizes[0] > 50 * sizes[-20:].mean()


def outside(base: Vectors, queries: Vectors) -> tuple[float, float]:
    """The share of the variation that the directions which make up a base leave out, of it and of queries."""
    rows = base.whole()
    _, values, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    kept = axes[: int(np.searchsorted(np.cumsum(values**2) / (values**2).sum(), 0.95)) + 1]
    shares = []
    for some in (rows, queries.whole()):
        moved = some - rows.mean(axis=0)
        shares.append(1 - float(((moved @ kept.T) ** 2).sum() / (moved**2).sum()))
    return shares[0], shares[1]


def test_queries_of_shifted_lie_off_the_base() -> None:
    made = generate("shifted", 4000, 32, queries=500)
    base, queries = outside(*made)
    assert base < 0.05
    assert queries > 0.4
    inside = outside(*generate("clusters", 4000, 32, queries=500))
    assert inside[1] < 0.1


def test_queries_of_shifted_lie_to_one_side_and_far_from_what_is_nearest() -> None:
    made = generate("shifted", 4000, 32, queries=300)
    base, queries = made.base.whole(), made.queries.whole()
    to_queries = np.linalg.norm(queries - base[near(base, queries, 1)[:, 0]], axis=1)
    among = base[:300] - base[300:][near(base[300:], base[:300], 1)[:, 0]]
    assert np.median(to_queries) > 3 * np.median(np.linalg.norm(among, axis=1))
    assert np.linalg.norm(queries.mean(axis=0) - base.mean(axis=0)) > 2


@pytest.mark.parametrize("metric", METRICS)
def test_hubs_are_near_to_many_and_most_to_none(metric: str) -> None:
    made = generate("hubs", 5000, 96, queries=1000, metric=metric)
    counts = times_near(made.base, made.queries, metric)
    assert skew(counts) > 5
    assert counts.max() > 50
    assert (counts == 0).mean() > 0.6


def test_rows_without_hubs_are_near_to_few() -> None:
    made = generate("clusters", 5000, 16, queries=1000)
    assert skew(times_near(made.base, made.queries, "l2")) < 4


@pytest.mark.parametrize(("n", "dtype"), [(300, "float32"), (3 * CHUNK, "float32"), (10_000, "uint8")])
def test_a_fifth_of_duplicates_are_exact_copies(n: int, dtype: str) -> None:
    base = generate("duplicates", n, 24, dtype=dtype).base.whole()
    distinct = len(np.unique(base, axis=0))
    assert 1 - distinct / n == pytest.approx(Duplicates.share, abs=0.01)


def test_copies_are_found_across_the_whole_base_and_queries_are_not_among_them() -> None:
    made = generate("duplicates", 4 * CHUNK, 8)
    rows, places, counts = np.unique(made.base.whole(), axis=0, return_index=True, return_counts=True)
    assert counts.max() > 2
    assert (places[counts > 1] // CHUNK).max() > 0
    both = np.concatenate([rows, made.queries.whole()])
    assert len(np.unique(both, axis=0)) == len(both)


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(InputError, match="no kind 'cubes'; there are clusters, shifted, hubs, duplicates"):
        generate("cubes", 10, 4)
    with pytest.raises(InputError, match="dimensions must be 2 or more, found 1"):
        generate("hubs", 10, 1)
    with pytest.raises(InputError, match="found 'int32'"):
        generate("hubs", 10, 4, dtype="int32")
    with pytest.raises(InputError, match="the metric is one of"):
        generate("hubs", 10, 4, metric="hamming")
