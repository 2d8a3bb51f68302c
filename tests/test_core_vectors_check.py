"""Faults of vectors are found with their number and the place of the first; content has a name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core import vectors_check
from assay.core.errors import InputError
from assay.core.vectors import Held
from assay.core.vectors_check import Faults, Found, faults, refuse_faults, refuse_mismatch
from assay.core.vectors_digest import digest


@given(st.lists(st.sampled_from(["good", "nan", "inf", "zero"]), min_size=1, max_size=40))
def test_faults_are_counted_and_the_first_is_placed(kinds: list[str]) -> None:
    rows = {"good": [1.0, -2.0], "nan": [np.nan, 0.0], "inf": [0.0, -np.inf], "zero": [0.0, -0.0]}
    found = faults(Held(np.array([rows[kind] for kind in kinds], np.float32)))
    bad = [at for at, kind in enumerate(kinds) if kind in ("nan", "inf")]
    zero = [at for at, kind in enumerate(kinds) if kind == "zero"]
    assert found.not_finite == Found(len(bad), bad[0] if bad else None)
    assert found.zero == Found(len(zero), zero[0] if zero else None)


def test_faults_are_the_same_however_many_rows_are_looked_at_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matrix = np.ones((1000, 3), np.float32)
    matrix[[7, 700]], matrix[[512, 999], 1] = 0, np.nan
    whole = faults(Held(matrix))
    one_by_one = vectors_check.pieces
    monkeypatch.setattr(vectors_check, "pieces", lambda vectors: one_by_one(vectors, 1))
    assert faults(Held(matrix)) == whole == Faults(1000, Found(2, 512), Found(2, 7))


def test_whole_numbers_can_be_zero_but_not_infinite() -> None:
    assert faults(Held(np.array([[0, 0], [255, 1]], np.uint8))) == Faults(2, Found(), Found(1, 0))


def test_a_large_number_is_not_an_infinite_one() -> None:
    assert faults(Held(np.full((1, 2), 3e38, np.float32))) == Faults(1)


def test_zero_vectors_are_refused_under_cosine_alone() -> None:
    zero = Held(np.array([[1, 1], [0, 0]], np.float32))
    refuse_faults(zero, "l2", "base")
    refuse_faults(zero, "ip", "base")
    with pytest.raises(InputError, match="base: 1 of 2 rows are zero, the first at position 1"):
        refuse_faults(zero, "cosine", "base")


def test_nan_is_refused_under_every_metric() -> None:
    bad = Held(np.array([[1, np.nan]], np.float16))
    for metric in ("l2", "ip", "cosine"):
        with pytest.raises(InputError, match="1 of 1 rows hold NaN or infinite numbers"):
            refuse_faults(bad, metric, "queries")


def test_other_dimensions_are_refused_with_both_numbers() -> None:
    with pytest.raises(InputError, match="the base has 3 dimensions and the queries have 2"):
        refuse_mismatch(Held(np.eye(3)), Held(np.eye(2)))


def test_a_digest_tells_shape_type_order_and_numbers_apart() -> None:
    first = np.arange(6, dtype=np.uint8)
    same = [first.reshape(2, 3), first.reshape(3, 2), first.reshape(1, 6), first.reshape(2, 3)[::-1]]
    same += [first.reshape(2, 3).astype(np.int8), (first + 1).reshape(2, 3)]
    assert len({digest(Held(matrix)) for matrix in same}) == len(same)


def test_a_digest_sees_the_numbers_not_how_they_lie_in_memory() -> None:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert digest(Held(rows)) == digest(Held(np.asfortranarray(rows)))
    assert digest(Held(rows)) == digest(Held(rows.astype(">f4")))
