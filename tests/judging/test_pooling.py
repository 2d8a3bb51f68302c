"""Pools by depth and by strata: what is in them, and with which probability."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.errors import InputError
from assay.core.tables import Qrels, Run
from assay.datasets import open_run, read
from assay.judging.pool_coverage import cost_by_depth, cover_runs
from assay.judging.pooling import (
    PoolFrame,
    build_pool_frame,
    depth_costs,
    pool_by_depth,
    pool_by_strata,
    read_top,
    shuffle_pairs,
)

TOPS = {"a": {"q1": ["x", "y", "z"], "q2": ["x"]}, "b": {"q1": ["y", "w"], "q3": ["v"]}}


def random_frame(queries: int = 4, runs: int = 3, depth: int = 20, seed: int = 0) -> PoolFrame:
    rng = np.random.default_rng(seed)
    tops = {
        f"run{r}": {f"q{q}": [f"d{d}" for d in rng.permutation(40)[:depth]] for q in range(queries)}
        for r in range(runs)
    }
    return build_pool_frame(tops, depth)


def test_a_frame_has_each_pair_once_with_its_rank_in_every_run() -> None:
    frame = build_pool_frame(TOPS, 2)
    assert frame.pairs(np.arange(len(frame))) == [
        ("q1", "x"),
        ("q1", "y"),
        ("q1", "w"),
        ("q2", "x"),
        ("q3", "v"),
    ]
    assert frame.ranks.tolist() == [[1, 0], [2, 1], [0, 2], [1, 0], [0, 1]]
    assert frame.best_rank.tolist() == [1, 1, 2, 1, 1]


def test_the_top_of_a_run_has_the_order_of_trec_eval() -> None:
    run = Run({"q1": {"a": 1.0, "b": 1.0, "c": 2.0}, "q2": {"a": 1.0}})
    assert read_top(run, 2) == {"q1": ["c", "b"], "q2": ["a"]}


def test_pairs_with_labels_are_left_out_and_negative_grades_are_no_labels() -> None:
    frame = build_pool_frame(TOPS, 2, ["q1"])
    grades = frame.grades(Qrels({"q1": {"x": 1, "w": -1}}))
    pool = pool_by_depth(frame, ~np.isnan(grades), 2)
    assert frame.pairs(pool.rows) == [("q1", "y"), ("q1", "w")]
    assert pool.probabilities.tolist() == [1.0, 1.0]


def test_a_budget_lowers_the_depth() -> None:
    frame = random_frame()
    none = np.zeros(len(frame), np.bool_)
    costs = depth_costs(frame, none, range(1, 21))
    pool = pool_by_depth(frame, none, 20, int(costs[4]) + 1)
    assert (pool.depth, len(pool.rows)) == (5, costs[4])
    with pytest.raises(InputError, match="is below the"):
        pool_by_depth(frame, none, 20, 1)


@given(st.integers(8, 90), st.integers(0, 5))
def test_a_stratified_pool_has_the_size_of_its_budget(budget: int, seed: int) -> None:
    frame = random_frame(seed=seed)
    pool = pool_by_strata(frame, np.zeros(len(frame), np.bool_), budget, np.random.default_rng(seed))
    assert len(pool.rows) == len(set(pool.rows.tolist())) == min(budget, len(frame))
    assert 1 / pool.probabilities.max() >= 1
    assert (1 / pool.probabilities).sum() == pytest.approx(len(frame))


def test_pairs_are_drawn_as_often_as_their_probability_says() -> None:
    frame, rng, trials = random_frame(queries=1), np.random.default_rng(3), 2000
    none, counts, stated = np.zeros(len(frame), np.bool_), np.zeros(len(frame)), np.zeros(len(frame))
    for _ in range(trials):
        pool = pool_by_strata(frame, none, 12, rng)
        counts[pool.rows] += 1
        stated[pool.rows] = pool.probabilities
    assert np.abs(counts / trials - stated).max() < 4 * 0.5 / np.sqrt(trials)
    assert len(set(pool.strata)) == 4


def test_the_order_is_that_of_the_seed_and_tells_nothing_of_ranks() -> None:
    frame = random_frame(queries=30)
    pool = pool_by_depth(frame, np.zeros(len(frame), np.bool_), 20)
    first, again, other = (shuffle_pairs(frame, pool, np.random.default_rng(s)).rows for s in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()
    assert sorted(first.tolist()) == pool.rows.tolist()
    queries = frame.query[first]
    assert (np.diff(queries) != 0).sum() == 29  # the pairs of a query stay together
    assert abs(np.corrcoef(np.arange(len(first)), frame.best_rank[first])[0, 1]) < 0.1


def test_coverage_counts_what_a_depth_costs_and_what_only_one_run_has() -> None:
    frame = build_pool_frame(TOPS, 3)
    judged = ~np.isnan(frame.grades(Qrels({"q1": {"x": 1}})))
    cost = cost_by_depth(frame, judged, 3, 2, rate=2.0)
    assert [(c.depth, c.pairs, c.hours) for c in cost] == [(1, 3, 1.5), (2, 4, 2.0), (3, 5, 2.5)]
    assert cost[0].judged == {"a": 1.0, "b": 0.75}
    a, b = cover_runs(frame, judged, ~judged, 2)
    assert (a.judged, a.already, a.unique, a.without) == (1.0, 0.25, 2, 0.5)
    assert (b.judged, b.already, b.unique, b.without) == (1.0, 0.0, 2, 0.25)


def test_a_pool_of_trec_runs_contains_their_judged_documents(shared: Path) -> None:
    folder = shared / "trec_dl2019"
    qrels = read(folder / "2019qrels-pass.txt", "qrels")
    runs = [open_run(path) for path in sorted(folder.glob("input.*.gz"))]
    frame = build_pool_frame({run.name: read_top(run, 10) for run in runs}, 10, qrels.query_ids)
    judged = ~np.isnan(frame.grades(qrels))
    assert len(frame.runs) == 3
    assert judged.mean() > 0.95  # NIST pooled the runs to depth 10
    assert all(
        run.already is not None and run.already > 0.95 for run in cover_runs(frame, judged, ~judged, 10)
    )


def test_what_cannot_be_pooled_is_refused() -> None:
    with pytest.raises(InputError, match="--depth must be 1 or more"):
        build_pool_frame(TOPS, 0)
    with pytest.raises(InputError, match="same query ids"):
        build_pool_frame(TOPS, 1, ["other"])
    frame = random_frame()
    with pytest.raises(InputError, match="at least 8"):
        pool_by_strata(frame, np.zeros(len(frame), np.bool_), 7, np.random.default_rng(0))
