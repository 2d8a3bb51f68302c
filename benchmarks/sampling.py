"""How samples of judgments estimate what all judgments say, and how early adaptive pools find them.

    python benchmarks/sampling.py ../shared/data/trec_dl2019

The runs of TREC Deep Learning 2019 are pooled to rank 50; pairs without a published grade count as 0. A
stratified pool is drawn again and again: the mean of its estimates is held against the value from all
judgments, and against what the same labels say without weights. Then each method labels the same number of
pairs, in ten steps, and the relevant documents (grade 2 or more) that it finds are counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from assay.core.arrays import Floats
from assay.core.pair_probabilities import PairProbabilities
from assay.core.tables import Run
from assay.datasets import open_run, read
from assay.evaluation import evaluate
from assay.judging.adaptive_pooling import pool_by_bandit, pool_by_difference, pool_by_move_to_front
from assay.judging.pooling import Pool, PoolFrame, build_pool_frame, pool_by_strata, read_top

DEPTH, DRAWS, STEPS = 50, 60, 10
SHARES = (0.1, 0.25, 0.5)
MEASURES = ("P(rel=2)@10", "DCG@10", "nDCG@10", "AP(rel=2)@50", "R(rel=2)@50")
Tops = dict[str, dict[str, list[str]]]


def load(folder: Path) -> tuple[PoolFrame, Floats, Tops]:
    """Return the pool of the runs, the grade of each pair and the runs."""
    qrels = read(folder / "2019qrels-pass.txt", "qrels")
    runs = [open_run(path) for path in sorted(folder.glob("input.*.gz"))]
    tops = {run.name: read_top(run, DEPTH) for run in runs}
    frame = build_pool_frame(tops, DEPTH, qrels.query_ids)
    return frame, np.nan_to_num(frame.grades(qrels)), tops


def grades_by_query(frame: PoolFrame, rows: np.ndarray, grades: Floats) -> dict[str, dict[str, float]]:
    """Return the grades of these pairs as qrels."""
    judged: dict[str, dict[str, float]] = {}
    for (query, doc), grade in zip(frame.pairs(rows), grades[rows].tolist(), strict=True):
        judged.setdefault(query, {})[doc] = grade
    return judged


def run_of(top: dict[str, list[str]], queries: list[str]) -> Run:
    """Return a run with the documents in this order."""
    return Run({q: {doc: float(-rank) for rank, doc in enumerate(top[q])} for q in queries if q in top})


def estimate_all(frame: PoolFrame, grades: Floats, tops: Tops, share: float) -> list[str]:
    """Return a line for each measure: the truth and the means of weighted and unweighted estimates."""
    run = run_of(tops[frame.runs[0]], frame.query_ids)
    truth = evaluate(grades_by_query(frame, np.arange(len(frame)), grades), run, MEASURES).estimates
    budget, none = int(share * len(frame)), np.zeros(len(frame), np.bool_)
    weighted, plain = list[list[float]](), list[list[float]]()
    for seed in range(DRAWS):
        pool = pool_by_strata(frame, none, budget, np.random.default_rng(seed))
        qrels = grades_by_query(frame, pool.rows, grades)
        queries, docs = zip(*frame.pairs(pool.rows), strict=True)
        chances = PairProbabilities(queries, docs, pool.probabilities, pool.strata)
        for values, result in (
            (weighted, evaluate(qrels, run, MEASURES, pool=chances)),
            (plain, evaluate(qrels, run, MEASURES)),
        ):
            values.append([result.estimates[m].value or 0.0 for m in MEASURES])
    rows = zip(MEASURES, np.array(weighted).T, np.array(plain).T, strict=True)
    return [
        f"{share:5.0%} {m:14} all {truth[m].value:.4f}   weighted {w.mean():.4f} ± {w.std():.4f}   "
        f"unweighted {p.mean():.4f}"
        for m, w, p in rows
    ]


def relevant_found(frame: PoolFrame, grades: Floats, choose: Callable[[Floats], Pool], budget: int) -> int:
    """Return how many relevant pairs are labelled after ten steps."""
    labels = np.full(len(frame), np.nan)
    for _ in range(STEPS):
        rows = choose(labels).rows[: budget // STEPS]
        labels[rows] = grades[rows]
    return int((labels >= 2).sum())


def adaptive_lines(frame: PoolFrame, grades: Floats, budget: int) -> list[str]:
    """Return a line for each method with the relevant pairs that it finds."""
    rng, step = np.random.default_rng(0), budget // STEPS
    order = np.lexsort((np.arange(len(frame)), frame.best_rank))
    by_depth = int((grades[order[:budget]] >= 2).sum())
    at_random = round(float((grades >= 2).mean()) * budget)
    methods: dict[str, Callable[[Floats], Pool]] = {
        "move-to-front": lambda labels: pool_by_move_to_front(frame, labels, step, rng, 2),
        "bandit": lambda labels: pool_by_bandit(frame, labels, step, rng, 2),
        "difference": lambda labels: pool_by_difference(frame, labels, step, 2),
    }
    counts = {"at random": at_random, "by depth": by_depth}
    counts |= {name: relevant_found(frame, grades, choose, budget) for name, choose in methods.items()}
    total = int((grades >= 2).sum())
    return [
        f"{name:14} {count:5,} of {total:,} relevant in {budget:,} pairs" for name, count in counts.items()
    ]


def main(folder: Path) -> None:
    """Print both tables."""
    frame, grades, tops = load(folder)
    print(f"{len(frame):,} pairs of {len(frame.query_ids)} queries, {len(frame.runs)} runs, depth {DEPTH}")
    for share in SHARES:
        print("\n".join(estimate_all(frame, grades, tops, share)), flush=True)
    print("\n".join(adaptive_lines(frame, grades, len(frame) // 5)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
