"""Pools that follow labels: they find relevant documents, or what settles a comparison, early."""

from collections.abc import Callable

import numpy as np
import pytest

from assay.core.arrays import Floats
from assay.judging.adaptive_pooling import pool_by_bandit, pool_by_difference, pool_by_move_to_front
from assay.judging.pooling import Pool, PoolFrame, build_pool_frame

Choose = Callable[[PoolFrame, Floats, int, np.random.Generator], Pool]
METHODS: list[Choose] = [pool_by_move_to_front, pool_by_bandit]


def good_and_bad_runs(queries: int = 10) -> tuple[PoolFrame, Floats]:
    """One run returns relevant documents first; four return others."""
    tops = {"good": {f"q{q}": [f"r{d}" for d in range(30)] for q in range(queries)}}
    tops |= {f"bad{r}": {f"q{q}": [f"n{r}-{d}" for d in range(30)] for q in range(queries)} for r in range(4)}
    frame = build_pool_frame(tops, 30)
    return frame, np.array([doc.startswith("r") for doc in frame.doc_ids], np.float64)


def follow(frame: PoolFrame, truth: Floats, choose: Choose, steps: int, budget: int) -> Floats:
    grades, rng = np.full(len(frame), np.nan), np.random.default_rng(0)
    for _ in range(steps):
        rows = choose(frame, grades, budget, rng).rows
        grades[rows] = truth[rows]
    return grades


@pytest.mark.parametrize("choose", METHODS)
def test_labels_steer_the_next_step_to_the_better_run(choose: Choose) -> None:
    frame, truth = good_and_bad_runs()
    grades = follow(frame, truth, choose, steps=10, budget=40)
    assert int(np.sum(~np.isnan(grades))) == 400
    assert np.nansum(grades) > 2 * 400 / 5  # a fifth would be relevant without labels


@pytest.mark.parametrize("choose", METHODS)
def test_a_step_proposes_only_pairs_without_labels_as_many_in_each_query(choose: Choose) -> None:
    frame, truth = good_and_bad_runs()
    grades = np.where(np.arange(len(frame)) % 3 == 0, truth, np.nan)
    pool = choose(frame, grades, 50, np.random.default_rng(1))
    assert np.isnan(grades[pool.rows]).all()
    assert np.bincount(frame.query[pool.rows]).tolist() == [5] * 10
    assert len(set(pool.rows.tolist())) == 50
    assert np.isnan(pool.probabilities).all()


@pytest.mark.parametrize("choose", METHODS)
def test_the_last_step_takes_what_is_left(choose: Choose) -> None:
    frame, truth = good_and_bad_runs(queries=2)
    grades = truth.copy()
    grades[[3, 200]] = np.nan
    assert sorted(choose(frame, grades, 50, np.random.default_rng(1)).rows.tolist()) == [3, 200]


def test_the_difference_asks_first_what_the_systems_disagree_on() -> None:
    tops = {"a": {"q": ["same", "only-a", "deep"]}, "b": {"q": ["same", "deep", "x", "only-b"]}}
    frame = build_pool_frame(tops, 4)
    pool = pool_by_difference(frame, np.full(len(frame), np.nan), 2)
    assert [doc for _, doc in frame.pairs(pool.rows)] == ["only-a", "x"]
    whole = pool_by_difference(frame, np.full(len(frame), np.nan), 99)
    assert frame.pairs(whole.rows)[-1] == ("q", "same")


def test_settled_pairs_of_systems_are_asked_about_last() -> None:
    queries = range(40)
    tops = {
        "best": {f"q{q}": [f"r{q}"] for q in queries} | {"new": ["n1"]},
        "worst": {f"q{q}": [f"x{q}"] for q in queries} | {"new": ["n2"]},
        "twin": {f"q{q}": [f"r{q}"] for q in queries} | {"new": ["n3"]},
    }
    frame = build_pool_frame(tops, 1)
    grades = np.array([{"r": 1.0, "x": 0.0, "n": np.nan}[doc[0]] for doc in frame.doc_ids])
    pool = pool_by_difference(frame, grades, 2)
    assert {doc for _, doc in frame.pairs(pool.rows)} == {"n1", "n3"}
