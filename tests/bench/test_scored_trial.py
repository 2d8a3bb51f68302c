"""How recall is distributed over queries: nothing is lost between hits, counts, curves and figures."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from assay.bench.studies.distribution import RecallDistribution
from assay.bench.studies.study import choose_mode
from assay.bench.trials import Trial
from assay.core.errors import InputError
from assay.stats.intervals import Estimate, estimate
from tests.studies import make_study, trial_with_figures, trial_with_histogram, trial_with_hits

counts_of_queries = st.lists(st.integers(0, 500), min_size=2, max_size=101).filter(any)


@given(counts_of_queries)
def test_mean_recall_is_the_mean_of_the_robustness_curve(counts: list[int]) -> None:
    result = RecallDistribution(np.array(counts))
    assert result.mean == pytest.approx(np.mean([share.value for _, share in result.curve()]), abs=1e-12)


@given(counts_of_queries, st.floats(0, 1))
def test_a_percentile_is_the_most_that_so_many_queries_reach(counts: list[int], share: float) -> None:
    result = RecallDistribution(np.array(counts))
    at = result.percentile(share)
    assert at is not None
    assert (result.robustness(at).value or 0) >= 1 - share - 1e-9
    above = at + 1 / result.k
    assert at == 1 or (result.robustness(above).value or 0) < 1 - share + 1e-9


@given(st.lists(st.integers(0, 10), min_size=1), st.sampled_from([0.1, 0.3, 0.55, 0.9, 1.0]))
def test_queries_and_their_histogram_tell_the_same(hits: list[int], delta: float) -> None:
    single, counted = trial_with_hits(hits), trial_with_histogram(np.bincount(hits, minlength=11).tolist())
    assert single.distribution is not None
    assert single.distribution.counts.tolist() == np.bincount(hits, minlength=11).tolist()
    assert single.robustness(delta) == counted.robustness(delta)
    assert single.failure(delta).value == sum(hit < np.ceil(delta * 10 - 1e-9) for hit in hits) / len(hits)


def test_published_histograms_come_out_as_the_published_curves(shared: Path) -> None:
    folder = shared / "robustness_paper"
    for name, indexes in json.loads((folder / "recall_histograms_k10.json").read_text()).items():
        with open(folder / f"{name}_k10_cdf.csv", newline="") as file:
            rows = {row["algorithm"]: row for row in csv.DictReader(file)}
        assert rows.keys() == indexes.keys()
        for index, text in indexes.items():
            result = RecallDistribution(np.array(text["hist_hits_0_to_10"]))
            assert (result.k, result.n) == (text["k"], text["n_queries"])
            assert f"{result.mean:.6f}" == rows[index]["recall"] == f"{text['mean_recall']:.6f}"
            curve = {f"cdf_{delta:.1f}": f"{share.value:.6f}" for delta, share in result.curve()}
            assert curve == {column: rows[index][column] for column in curve}


def test_the_intervals_of_published_curves_are_exact(shared: Path) -> None:
    content = json.loads((shared / "robustness_paper" / "recall_histograms_k10.json").read_text())
    counts = np.array(content["text2image_10M"]["ScaNN"]["hist_hits_0_to_10"])
    for delta, share in RecallDistribution(counts).curve():
        passed = int(counts[round(delta * 10) :].sum())
        low, high = binomtest(passed, int(counts.sum())).proportion_ci(method="exact")
        assert (share.low, share.high) == pytest.approx((low, high), abs=1e-9)


def test_thresholds_are_whole_numbers_of_hits() -> None:
    result = RecallDistribution(np.bincount([7, 14, 28, 55, 56], minlength=101))
    assert [result.robustness(d).value for d in (0.07, 0.14, 0.28, 0.55, 0.56)] == [1.0, 0.8, 0.6, 0.4, 0.2]


def test_the_mean_of_a_histogram_has_the_interval_of_a_mean() -> None:
    result = RecallDistribution(np.array([50, 0, 50])).recall()
    assert result == estimate(np.repeat([0.0, 1.0], 50), "mean", bounds=(0.0, 1.0))
    assert RecallDistribution(np.array([0, 0, 1])).recall() == Estimate(1.0, None, None, 0.95, 1)


def test_of_no_queries_nothing_is_known() -> None:
    result = RecallDistribution(np.zeros(11, np.int64))
    assert (result.mean, result.percentile(0.05), result.robustness(0.9).value) == (None, None, None)


def test_a_query_without_truth_is_left_out_and_a_short_truth_counts_by_its_share() -> None:
    scored_trial = trial_with_hits([0, 2, 10])
    assert scored_trial.hits is not None
    short = replace(scored_trial, hits=scored_trial.hits._replace(out_of=np.array([0, 4, 10])))
    assert short.distribution is not None
    assert np.flatnonzero(short.distribution.counts).tolist() == [5, 10]
    assert short.robustness(0.5) == RecallDistribution(np.array([0, 2])).robustness(1)


def test_what_was_measured_is_told_before_what_can_be_computed() -> None:
    recall = Estimate(0.9, 0.8, 0.95, 0.95, 2)
    scored_trial = trial_with_hits([9, 9], measures={"R@10": recall})
    assert scored_trial.recall is recall
    assert trial_with_hits([9, 7]).recall.value == 0.8


def test_stated_figures_have_an_interval_where_the_queries_are_counted() -> None:
    figures = {"recall": 0.9, "Robustness(delta=0.3)@10": 0.99}
    bare, counted = trial_with_figures(figures), trial_with_figures({**figures, "queries": 1000.0})
    assert bare.recall == Estimate(0.9, None, None, 0.95, 0)
    assert bare.robustness(0.3) == Estimate(0.99, None, None, 0.95, 0)
    assert bare.failure(0.3).value == pytest.approx(0.01)
    low, high = binomtest(10, 1000).proportion_ci(method="exact")
    assert counted.failure(0.3)[:3] == pytest.approx((0.01, low, high))
    assert counted.robustness(0.5).value is counted.failure(0.5).value is None
    assert counted.distribution is None


def test_a_study_has_one_k() -> None:
    with pytest.raises(InputError, match="K = 5 and 10: choose one"):
        _ = make_study(trial_with_hits([1], k=5), trial_with_hits([1])).k
    assert make_study(trial_with_hits([1])).k == 10


def test_the_way_of_asking_is_named_or_single() -> None:
    both = [Trial("a", "flat", mode="batch"), Trial("b", "flat")]
    assert (choose_mode(both, None), choose_mode(both, "batch")) == ("single", "batch")
    with pytest.raises(
        InputError, match="no trial has the request mode open; there are trials of batch, single"
    ):
        choose_mode(both, "open")
