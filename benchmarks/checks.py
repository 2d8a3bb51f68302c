"""Time each check of an evaluation set of a million labels."""

import argparse
import time
from dataclasses import replace

import numpy as np
import polars as pl

from assay.core.arrays import Ints
from assay.core.judgments import Judgments
from assay.core.tables import Documents, Qrels, Queries, Run
from assay.judging.checks import EvaluationSet, RunTop, TrainingSet
from assay.judging.checks.registry import check_each

PER_QUERY = 10
RUNS = 2


def random_texts(rng: np.random.Generator, count: int, words: int) -> list[str]:
    """Return texts of random words."""
    vocabulary = np.array(["".join(rng.choice(list("abcdefghijklmnop"), 6)) for _ in range(5000)])
    return [" ".join(row) for row in vocabulary[rng.integers(0, len(vocabulary), (count, words))].tolist()]


def build_set(queries: int, documents: int, seed: int = 0) -> EvaluationSet:
    """Return a random evaluation set with runs, judgments, a training set and an earlier version."""
    rng = np.random.default_rng(seed)
    positions = rng.integers(0, documents // PER_QUERY, (queries, PER_QUERY)) * PER_QUERY + np.arange(
        PER_QUERY
    )
    names = [f"q{number}" for number in range(queries)]
    query = pl.Series(names).gather(np.repeat(np.arange(queries), PER_QUERY))
    labels = pl.DataFrame(
        {"query_id": query, "doc_id": _ids(positions), "grade": rng.integers(0, 3, len(query))}
    )
    tables = (
        Qrels(labels),
        Queries({"query_id": names, "text": random_texts(rng, queries, 6)}),
        Documents({"doc_id": _ids(np.arange(documents)), "text": random_texts(rng, documents, 50)}),
        Judgments(labels.with_columns(judge=pl.lit("judge"))),
    )
    return EvaluationSet(
        *tables,
        runs=[_run(rng, query, positions, documents, number) for number in range(RUNS)],
        train=TrainingSet(queries=Queries({"query_id": names, "text": random_texts(rng, queries, 6)})),
        previous=EvaluationSet(*tables),
    )


def _ids(positions: Ints) -> list[str]:
    return [f"d{position}" for position in positions.ravel().tolist()]


def _run(rng: np.random.Generator, query: pl.Series, positions: Ints, documents: int, number: int) -> RunTop:
    moved = (positions + (rng.random(positions.shape) < 0.1) * (documents // 2)) % documents
    scores = -np.tile(np.arange(PER_QUERY, dtype=np.float64), len(positions))
    frame = pl.DataFrame({"query_id": query, "doc_id": _ids(moved), "score": scores})
    rows = frame.unique(["query_id", "doc_id"], maintain_order=True)
    return RunTop.from_run(Run(rows, name=f"run{number}"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--train", action="store_true", help="also compare the texts of a training set")
    options = parser.parse_args()
    data = build_set(options.queries, options.documents)
    data = data if options.train else replace(data, train=None)
    begin = last = time.perf_counter()
    for name, findings in check_each(data):
        now = time.perf_counter()
        print(f"{name:20} {now - last:6.2f} s  {len(findings)} findings", flush=True)
        last = now
    print(f"{'all':20} {last - begin:6.2f} s  {len(data.qrels):,} labels of {options.queries:,} queries")


if __name__ == "__main__":
    main()
