"""Trials of three indexes whose recall and throughput are known, saved as `assay bench --save` does."""

from pathlib import Path

import numpy as np

from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.sweeps.pass_figures import query_measures
from assay.bench.trials import PassSpread, Trial
from assay.indexes.hits import Hits
from assay.indexes.recall import mean_recall
from assay.stats.intervals import estimate
from assay.workflows.bench import BenchResult, save_trials
from assay.workflows.recording import SaveRequest

QUERIES, K = 200, 10
TRIALS = {  # the hits of most queries and of every twentieth, and the queries per second
    "quick": (8, 6, 30_000.0),
    "even": (9, 9, 15_000.0),
    "uneven": (10, 0, 9_000.0),
    "exact": (10, 10, 2_000.0),
}


def save_known_trials(store: Path, name: str = "sweep", suffix: str = "") -> None:
    """Save the trials; "even" and "uneven" have nearly the same recall, and one finds nothing for some."""
    trials = tuple(_make_trial(f"{engine}{suffix}", *figures) for engine, figures in TRIALS.items())
    metadata = {"data": {"digests": {"base": "b", "queries": "q"}}}
    save_trials(SaveRequest(name=name, store=str(store)), BenchResult(trials, metadata, "", len(trials)))


def _make_trial(engine: str, most: int, few: int, qps: float) -> ScoredTrial:
    counts = np.where(np.arange(QUERIES) % 20 == 0, few, most).astype(np.int64)
    hits = Hits(counts, np.full(QUERIES, K), K, "ties")
    measures = {name: estimate(values, "share") for name, values in query_measures(hits).items()}
    trial = Trial(
        engine,
        f"engines.{engine}",
        {"M": 8},
        {"ef": most},
        k=K,
        measures={**measures, f"R@{K}": mean_recall(hits.recall)},
        zero_hits=int((counts == 0).sum()),
        qps=PassSpread(qps, qps, qps, 1),
        latency={"p99_ms": 1e6 / qps},
        memory_bytes=int(qps) * 1000,
    )
    return ScoredTrial(trial, hits)
