"""Faults and digests of vectors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import vector_faults
from assay.core.errors import InputError
from assay.core.vector_digest import digest_vectors
from assay.core.vector_faults import FaultyRows, VectorFaults, find_faults, refuse_faults, refuse_mismatch
from assay.core.vectors import InMemoryVectors


@given(st.lists(st.sampled_from(["good", "nan", "inf", "zero"]), min_size=1, max_size=40))
def test_faults_have_their_number_and_the_position_of_the_first(kinds: list[str]) -> None:
    rows = {"good": [1.0, -2.0], "nan": [np.nan, 0.0], "inf": [0.0, -np.inf], "zero": [0.0, -0.0]}
    faults = find_faults(InMemoryVectors(np.array([rows[kind] for kind in kinds], np.float32)))
    not_finite = [at for at, kind in enumerate(kinds) if kind in ("nan", "inf")]
    zero = [at for at, kind in enumerate(kinds) if kind == "zero"]
    assert faults.not_finite == FaultyRows(len(not_finite), not_finite[0] if not_finite else None)
    assert faults.zero == FaultyRows(len(zero), zero[0] if zero else None)


def test_faults_do_not_depend_on_the_size_of_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrix = np.ones((1000, 3), np.float32)
    matrix[[7, 700]], matrix[[512, 999], 1] = 0, np.nan
    whole = find_faults(InMemoryVectors(matrix))
    one_by_one = vector_faults.row_blocks
    monkeypatch.setattr(vector_faults, "row_blocks", lambda vectors: one_by_one(vectors, 1))
    assert (
        find_faults(InMemoryVectors(matrix))
        == whole
        == VectorFaults(1000, FaultyRows(2, 512), FaultyRows(2, 7))
    )


def test_whole_numbers_can_be_zero_but_not_infinite() -> None:
    assert find_faults(InMemoryVectors(np.array([[0, 0], [255, 1]], np.uint8))) == VectorFaults(
        2, FaultyRows(), FaultyRows(1, 0)
    )


def test_a_large_number_is_not_an_infinite_one() -> None:
    assert find_faults(InMemoryVectors(np.full((1, 2), 3e38, np.float32))) == VectorFaults(1)


def test_zero_vectors_are_refused_only_under_cosine() -> None:
    zero = InMemoryVectors(np.array([[1, 1], [0, 0]], np.float32))
    refuse_faults(zero, "l2", "base")
    refuse_faults(zero, "ip", "base")
    with pytest.raises(InputError, match="base: 1 of 2 rows are zero, the first at position 1"):
        refuse_faults(zero, "cosine", "base")


def test_nan_is_refused_under_every_metric() -> None:
    vectors = InMemoryVectors(np.array([[1, np.nan]], np.float16))
    for metric in ("l2", "ip", "cosine"):
        with pytest.raises(InputError, match="1 of 1 rows hold NaN or infinite numbers"):
            refuse_faults(vectors, metric, "queries")


def test_different_dimensions_are_refused_with_both_numbers() -> None:
    with pytest.raises(InputError, match="the base has 3 dimensions and the queries have 2"):
        refuse_mismatch(InMemoryVectors(np.eye(3)), InMemoryVectors(np.eye(2)))


def test_the_digest_depends_on_shape_type_order_and_numbers() -> None:
    first = np.arange(6, dtype=np.uint8)
    same = [first.reshape(2, 3), first.reshape(3, 2), first.reshape(1, 6), first.reshape(2, 3)[::-1]]
    same += [first.reshape(2, 3).astype(np.int8), (first + 1).reshape(2, 3)]
    assert len({digest_vectors(InMemoryVectors(matrix)) for matrix in same}) == len(same)


def test_the_digest_does_not_depend_on_the_memory_layout() -> None:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert digest_vectors(InMemoryVectors(rows)) == digest_vectors(InMemoryVectors(np.asfortranarray(rows)))
    assert digest_vectors(InMemoryVectors(rows)) == digest_vectors(InMemoryVectors(rows.astype(">f4")))
