"""Failures of whole families at about one mean recall."""

import json
from pathlib import Path

import numpy as np
import pytest

from assay.bench.imported import read_reported_trials
from assay.bench.studies.pooled_families import pool_families
from tests.studies import trial_with_figures, trial_with_histogram, trial_with_hits


def test_the_rate_of_a_family_is_the_mean_of_its_configurations(shared: Path) -> None:
    """Of the six published indexes at δ = .1: (2,445 + 2,087 + 1,944) / (138 + 26 + 1,236) = 4.626."""
    published = json.loads((shared / "robustness_paper" / "recall_histograms_k10.json").read_text())
    trials = [
        trial_with_histogram(item["hist_hits_0_to_10"], name)
        for name, item in published["text2image_10M"].items()
    ]
    low, middle = pool_families(trials)
    assert (low.families, low.configurations, low.delta) == (("graph", "partition"), (3, 3), 0.1)
    assert low.first == pytest.approx((2445 + 2087 + 1944) / 300_000)
    assert low.ratio.value == pytest.approx((2445 + 2087 + 1944) / (138 + 26 + 1236))
    assert middle.delta == 0.3
    assert middle.ratio.value == pytest.approx(10_365 / 3_765)


def test_figures_alone_are_pooled_as_counts_are(shared: Path) -> None:
    path = shared / "robustness_paper" / "text2image_10M_k10_cdf.csv"
    assert pool_families(read_reported_trials(str(path)))[0].ratio.value == pytest.approx(4.6257, abs=1e-4)


def test_the_tolerance_decides_which_configurations_count(shared: Path) -> None:
    """IVFFlat has a mean recall of .8864, and is pooled within .02 of .9 and not within .01."""
    path = shared / "robustness_paper" / "text2image_10M_k10_cdf.csv"
    trials = read_reported_trials(str(path))
    narrow = pool_families(trials, tolerance=0.01)[0]
    assert narrow.configurations == (3, 2)
    assert narrow.ratio.value == pytest.approx((6476 / 3) / ((26 + 1236) / 2), rel=1e-4)
    assert pool_families(trials, recall=0.5) == []


def test_the_interval_is_over_queries_and_weighs_families_equally() -> None:
    rng = np.random.default_rng(0)
    fails = rng.random((3, 400)) < [[0.08], [0.08], [0.04]]
    hits = np.where(fails, 0, 10).tolist()
    graphs = [trial_with_hits(row, "hnswlib", search={"ef": at}) for at, row in enumerate(hits[:2])]
    partition = trial_with_hits(hits[2], "faiss.ivfflat")
    pooled = pool_families([*graphs, partition], recall=0.95, tolerance=0.05)[0]
    expected = fails[:2].mean() / fails[2].mean()
    assert pooled.ratio.value == pytest.approx(expected)
    assert pooled.ratio.low is not None
    assert pooled.ratio.high is not None
    assert pooled.ratio.low < expected < pooled.ratio.high


def test_exact_search_and_configurations_without_the_figure_are_left_out() -> None:
    figures = {"recall": 0.9, "Robustness(delta=0.1)@10": 0.99}
    trials = [
        trial_with_figures(figures, "hnsw"),
        trial_with_figures({"recall": 0.9}, "diskann"),
        trial_with_figures(figures, "scann"),
        trial_with_figures(figures, "faiss.flat"),
    ]
    (pooled,) = pool_families(trials)
    assert pooled.configurations == (1, 1)
    assert pooled.ratio.value == pytest.approx(1)
    assert pooled.ratio.low is None


def test_a_family_that_never_fails_has_no_ratio() -> None:
    trials = [
        trial_with_figures({"recall": 0.9, "Robustness(delta=0.1)@10": share}, engine)
        for engine, share in (("hnsw", 0.99), ("scann", 1.0))
    ]
    assert pool_families(trials)[0].ratio.value is None
