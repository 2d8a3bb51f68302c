"""Exact neighbours equal those of brute force in double precision, however the work is cut."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.core.errors import InputError
from assay.core.vectors import METRICS, InMemoryVectors, MappedVectors, Neighbors
from assay.indexes.exact import candidates
from assay.indexes.exact.distances import pair_distances
from assay.indexes.exact.part_search import Task, search_part
from assay.indexes.exact.sharding import ThreadRunner, merge_neighbors
from assay.indexes.exact.truth import truth

Array = NDArray[Any]


def brute(base: Array, queries: Array, k: int, metric: str) -> Neighbors:
    """Every distance, sorted by distance and position."""
    with np.errstate(all="ignore"):
        far = np.array(
            [
                pair_distances(metric, np.repeat(sequential[None], len(base), 0), base)
                for sequential in queries
            ]
        )
    order = np.array([np.lexsort((np.arange(len(base)), row))[:k] for row in far])
    return Neighbors(order, np.take_along_axis(far, order, 1))


def same(sequential: Neighbors, other: Neighbors) -> bool:
    assert sequential.distances is not None
    assert other.distances is not None
    return np.array_equal(sequential.positions, other.positions) and np.array_equal(
        sequential.distances, other.distances
    )


def plain(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d)).astype(np.float32)


def far_off(rng: np.random.Generator, n: int, d: int) -> Array:
    return (rng.standard_normal((n, d)) + 1e4).astype(np.float32)


def copies(rng: np.random.Generator, n: int, d: int) -> Array:
    return plain(rng, 3, d)[rng.integers(0, 3, n)]


def identical(rng: np.random.Generator, n: int, d: int) -> Array:
    return np.repeat(plain(rng, 1, d), n, 0)


def giants(rng: np.random.Generator, n: int, d: int) -> Array:
    values = plain(rng, n, d)
    values[rng.integers(0, n, 3)] *= np.array([[1e30], [1e9], [1e-30]], np.float32)
    return values


def tiny(rng: np.random.Generator, n: int, d: int) -> Array:
    return plain(rng, n, d) * np.float32(1e-28)


def halves(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d)).astype(np.float16)


def doubles(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-80, 80)


def almost_alike(rng: np.random.Generator, n: int, d: int) -> Array:
    """Rows so near to each other that single precision cannot tell them apart."""
    return 1 + rng.standard_normal((n, d)) * 1e-12


def few_values(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.integers(1, 4, (n, d)).astype(np.uint8)


def signed_bytes(rng: np.random.Generator, n: int, d: int) -> Array:
    values = rng.integers(-128, 128, (n, d)).astype(np.int8)
    values[~values.any(axis=1)] = 1
    return values


KINDS: list[Callable[[np.random.Generator, int, int], Array]] = [
    plain, far_off, copies, identical, giants, tiny, halves, doubles, almost_alike, few_values, signed_bytes,
]  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(METRICS),
    st.sampled_from(KINDS),
    st.sampled_from(KINDS),
    st.integers(1, 400),
    st.integers(1, 40),
    st.integers(1, 20),
    st.integers(1, 100),
    st.integers(0, 2**32),
)
def test_the_result_is_that_of_brute_force(
    metric: str, kind: Any, other: Any, n: int, d: int, k: int, block: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    base, queries = kind(rng, n, d), other(rng, 7, d)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "_SPARE_PLACES", 8)  # so that there are soon no places left
        result = search_part(InMemoryVectors(base), queries, Task(0, n, min(k, n), metric, block))
    assert same(result, brute(base, queries, min(k, n), metric))


def test_bytes_of_one_direction_are_tied_under_cosine_in_any_dimension() -> None:
    rng = np.random.default_rng(0)
    for d in (1024, 2048, 4096):
        for _ in range(20):
            row, query = rng.integers(78, 85, d), rng.integers(240, 256, (1, d)).astype(np.uint8)
            result = search_part(
                InMemoryVectors(np.array([3 * row, row], np.uint8)), query, Task(0, 2, 2, "cosine")
            )
            assert result.positions.tolist() == [[0, 1]]


@pytest.mark.parametrize("scale", [1e-120, 1e-80, 1e80, 1e120])
def test_doubles_of_any_size_have_their_cosines(scale: float) -> None:
    rng = np.random.default_rng(0)
    base, queries = rng.standard_normal((200, 8)), rng.standard_normal((5, 8))
    result = search_part(InMemoryVectors(base * scale), queries * scale, Task(0, 200, 10, "cosine"))
    right = brute(base, queries, 10, "cosine")
    assert result.distances is not None
    assert right.distances is not None
    assert np.array_equal(result.positions, right.positions)
    assert np.allclose(result.distances, right.distances)


def test_rows_so_small_that_their_squares_are_nothing_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    query, base_rows, tiny = (rng.standard_normal((n, 32)) for n in (1, 500, 600))
    tiny -= tiny @ query.T * query / (query @ query.T)  # across the query, so that products cancel
    base = np.concatenate([base_rows, -base_rows, tiny * 1e-25])[rng.permutation(1600)].astype(np.float32)
    queries = query.astype(np.float32)
    result = search_part(InMemoryVectors(base), queries, Task(0, len(base), 550, "ip", 200))
    assert same(result, brute(base, queries, 550, "ip"))


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(METRICS), st.sampled_from(KINDS), st.sets(st.integers(1, 299)), st.integers(0, 2**32))
def test_parts_joined_in_any_order_are_the_single_pass(
    metric: str, kind: Any, cuts: set[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    base, queries, ends = InMemoryVectors(kind(rng, 300, 6)), plain(rng, 5, 6), [0, *sorted(cuts), 300]
    parts = [search_part(base, queries, Task(*pair, 9, metric)) for pair in pairwise(ends)]
    rng.shuffle(parts)
    whole = search_part(base, queries, Task(0, 300, 9, metric))
    values = parts[0]
    for part in parts[1:]:
        values = merge_neighbors(values, part)
    assert same(values, whole)


@pytest.mark.parametrize("metric", METRICS)
def test_what_single_precision_cannot_tell_apart_is_told_apart(metric: str) -> None:
    """Directions that have nothing in common, and scores that differ in the ninth digit."""
    rng = np.random.default_rng(4)
    base, query = rng.standard_normal((400, 16)), np.ones((1, 16))
    base -= base.mean(axis=1, keepdims=True)  # at a right angle to the query
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    steps = 1e-9 * rng.permutation(400)[:, None]
    base, query = (base * (1 + steps), 0 * query) if metric == "l2" else (base + 0.1 + steps, query)
    result = search_part(InMemoryVectors(base), query, Task(0, 400, 30, metric, 64))
    assert same(result, brute(base, query, 30, metric))
    assert np.array_equal(result.positions[0], np.argsort(steps[:, 0] * (1 if metric == "l2" else -1))[:30])


@pytest.mark.parametrize("queries", [3, 700])
def test_threads_share_queries_or_rows_and_change_nothing(queries: int) -> None:
    rng = np.random.default_rng(3)
    base, query_vectors = InMemoryVectors(plain(rng, 3000, 12)), InMemoryVectors(plain(rng, queries, 12))
    sequential = truth(base, query_vectors, 20, "l2", threads=1)
    assert same(sequential, truth(base, query_vectors, 20, "l2", threads=2, block=100))
    assert same(sequential, truth(base, query_vectors, 20, "l2", threads=3, parts=4))


def test_bytes_are_exact() -> None:
    rng = np.random.default_rng(5)
    base, queries = (rng.integers(0, 256, (n, 128)).astype(np.uint8) for n in (4000, 40))
    base[1000:1500] = base[:500]
    wide = base.astype(np.int64), queries.astype(np.int64)
    squares = ((wide[1][:, None] - wide[0][None]) ** 2).sum(axis=2)
    order = np.lexsort((np.broadcast_to(np.arange(4000), squares.shape), squares))[:, :100]
    result = truth(InMemoryVectors(base), InMemoryVectors(queries), 100, "l2")
    assert np.array_equal(result.positions, order)
    assert result.distances is not None
    assert np.array_equal(np.rint(result.distances**2), np.take_along_axis(squares, order, 1))


def test_the_nearest_thousand_are_found() -> None:
    rng = np.random.default_rng(6)
    base, queries = plain(rng, 5000, 8), plain(rng, 10, 8)
    assert same(
        truth(InMemoryVectors(base), InMemoryVectors(queries), 1000, "cosine"),
        brute(base, queries, 1000, "cosine"),
    )


def test_all_of_the_base_can_be_asked_for() -> None:
    base = plain(np.random.default_rng(7), 50, 4)
    result = truth(InMemoryVectors(base), InMemoryVectors(base[:3]), 50, "ip", threads=2)
    assert np.array_equal(np.sort(result.positions), np.tile(np.arange(50), (3, 1)))


def test_a_base_sorted_from_far_to_near_is_no_trap() -> None:
    """Every row is nearer than all before it, so every row is a candidate when it comes."""
    base = np.linspace(100, 1, 5000, dtype=np.float32)[:, None]
    result = truth(InMemoryVectors(base), InMemoryVectors(np.zeros((2, 1), np.float32)), 10, "l2", block=1000)
    assert result.positions.tolist() == [list(range(4999, 4989, -1))] * 2


def test_files_and_memory_give_the_same(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    base, queries = plain(rng, 2000, 10), plain(rng, 20, 10)
    lead = np.full((2000, 1), 10, np.int32).view(np.float32)
    (tmp_path / "base.fvecs").write_bytes(np.hstack([lead, base]).tobytes())
    mapped = MappedVectors(str(tmp_path / "base.fvecs"), (2000, 10), np.dtype(np.float32), row_prefix=4)
    assert same(
        truth(mapped, InMemoryVectors(queries), 15, "l2"),
        truth(InMemoryVectors(base), InMemoryVectors(queries), 15, "l2"),
    )


def test_a_pair_has_the_same_distance_whatever_stands_beside_it() -> None:
    rng = np.random.default_rng(9)
    for d in (1, 7, 96, 5000, 8193, 20001):
        a, b = rng.standard_normal((2, 9, d))
        alone = [pair_distances("l2", a[i : i + 1], b[i : i + 1])[0] for i in range(9)]
        assert pair_distances("l2", a, b).tolist() == alone


@pytest.mark.parametrize("metric", METRICS)
def test_memory_that_is_used_again_changes_no_distance(metric: str) -> None:
    a, b = np.random.default_rng(10).integers(1, 99, (2, 5, 40)).astype(np.uint8)
    space = np.full(a.shape, np.nan)
    assert pair_distances(metric, a, b, space).tolist() == pair_distances(metric, a, b).tolist()


@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_limits_drawn_from_many_rows_leave_out_none_of_the_nearest(metric: str) -> None:
    rng = np.random.default_rng(11)
    base, queries = giants(rng, 9000, 6), plain(rng, 300, 6)
    result = truth(InMemoryVectors(base), InMemoryVectors(queries), 4, metric, threads=1)
    assert same(result, brute(base, queries, 4, metric))


def test_numpy_copies_as_much_at_once_as_before() -> None:
    before, rng = np.getbufsize(), np.random.default_rng(12)
    truth(InMemoryVectors(plain(rng, 500, 4)), InMemoryVectors(plain(rng, 400, 4)), 2, "l2", threads=1)
    assert np.getbufsize() == before


def test_progress_ends_at_all_pairs() -> None:
    reports: list[tuple[int, int]] = []
    base, queries = (
        InMemoryVectors(plain(np.random.default_rng(1), 1000, 4)),
        InMemoryVectors(np.ones((600, 4), np.float32)),
    )
    truth(base, queries, 3, "l2", threads=2, block=100, progress=lambda *pair: reports.append(pair))
    assert reports[-1] == (600_000, 600_000)
    assert [count for count, _ in reports] == sorted(count for count, _ in reports)


BASE = np.arange(1, 21, dtype=np.float32).reshape(5, 4)


def with_value(at: tuple[int, ...], value: float) -> Array:
    values = BASE.copy()
    values[at] = value
    return values


TINY = with_value((3,), 0).astype(np.float64)
TINY[3, 0] = 1e-170


@pytest.mark.parametrize(
    ("base", "queries", "k", "metric", "message"),
    [
        (BASE, BASE[:, :3], 2, "l2", "the base has 4 dimensions and the queries have 3"),
        (BASE, BASE, 6, "l2", "k must be at most 5, the number of vectors in the base; found 6"),
        (BASE, BASE, 0, "l2", "k must be 1 or more, found 0"),
        (BASE, BASE, 2, "hamming", "the metric is one of l2, ip, cosine, found 'hamming'"),
        (BASE, BASE[:0], 2, "l2", "queries: expected rows and dimensions, found 0 rows of 4 dimensions"),
        (with_value((3, 1), np.nan), BASE, 2, "l2", "base: the vector at position 3 contains NaN or"),
        (with_value((4, 0), np.inf), BASE, 2, "cosine", "base: the vector at position 4 contains NaN or"),
        (with_value((2,), 0), BASE, 2, "cosine", "base: the vector at position 2 is zero, which has no"),
        (BASE, with_value((1, 1), np.nan), 2, "ip", "queries: 1 of 5 rows hold NaN or infinite numbers"),
        (BASE, with_value((1,), 0), 2, "cosine", "queries: 1 of 5 rows are zero, the first at position 1"),
        (BASE.astype(float) * 1e200, BASE, 2, "l2", "base: the vector at position 0 contains numbers beyond"),
        (BASE, BASE.astype(float) * 1e200, 2, "l2", "queries: 5 of 5 rows hold numbers above 1e+150"),
        (TINY, BASE + 1, 2, "cosine", "base: the vector at position 3 contains no number of 1e-140 or more"),
        (TINY * 1e-150, BASE + 1, 2, "cosine", "base: the vector at position 0 contains no number of 1e-140"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused_by_its_place(
    base: Array, queries: Array, k: int, metric: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        truth(InMemoryVectors(base), InMemoryVectors(queries), k, metric, threads=1, block=2)
    assert message in str(caught.value)


def test_a_thread_that_fails_stops_the_others() -> None:
    base = np.ones((100_000, 4), np.float32)
    base[5, 0] = np.nan
    counts: list[int] = []
    with pytest.raises(InputError, match="position 5 contains"):
        list(ThreadRunner(2)(InMemoryVectors(base), BASE, [Task(0, 100_000, 2, "l2", 10)], counts.append))
    assert sum(counts) < 5 * 50_000


def test_whole_numbers_of_the_same_direction_are_equally_near_under_cosine() -> None:
    rng = np.random.default_rng(8)
    base_rows, queries = rng.integers(-12, 13, (150, 8)), rng.integers(-127, 128, (40, 8))
    base_rows = np.vstack([base_rows * scale for scale in (1, 3, 5, 7, 9)])
    base_rows = base_rows[(base_rows != 0).any(axis=1)]
    result = truth(
        InMemoryVectors(base_rows.astype(np.int8)), InMemoryVectors(queries.astype(np.int8)), 7, "cosine"
    ).positions
    lengths = (base_rows**2).sum(axis=1).tolist()
    for dots, positions in zip((queries @ base_rows.T).tolist(), result.tolist(), strict=True):
        far = [-abs(dot) * Fraction(dot, length) for dot, length in zip(dots, lengths, strict=True)]
        assert positions == sorted(range(len(far)), key=lambda i: (far[i], i))[:7]
