"""Which measures the mean recall tells already."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import linregress

from assay.bench.studies.recall_correlation import recall_correlations
from assay.bench.studies.scored_trial import ScoredTrial
from assay.bench.studies.study import Study
from tests.reference_measures import reference_value
from tests.studies import make_data, make_study, trial_with_figures, trial_with_histogram, trial_with_hits

WHOLE = (0.0, 1.0)


def correlations_by_measure(study: Study) -> dict[str, float | None]:
    return {item.measure: item.r2 for item in recall_correlations(study, WHOLE)}


def test_r2_is_that_of_a_line_through_the_configurations() -> None:
    counts = [[5, 0, 0, 0, 95], [1, 9, 10, 30, 50], [0, 2, 8, 30, 60], [20, 0, 0, 20, 60], [0, 0, 0, 5, 95]]
    result = correlations_by_measure(make_study(*map(trial_with_histogram, counts)))
    recall = [np.dot(item, range(5)) / 400 for item in counts]
    low = [1 - item[0] / 100 for item in counts]
    assert result["Robustness(delta=0.2)@4"] == pytest.approx(linregress(recall, low).rvalue ** 2)
    assert result["ZeroHit@4"] == pytest.approx(result["Robustness(delta=0.2)@4"])
    assert result["Robustness(delta=0.1)@4"] == pytest.approx(result["Robustness(delta=0.2)@4"])
    p10 = [4 / 4, 2 / 4, 3 / 4, 0.0, 4 / 4]
    assert result["p10 of R@4"] == pytest.approx(linregress(recall, p10).rvalue ** 2)


@pytest.mark.parametrize(("name", "span"), [("text2image_10M", 0.0152), ("deep_10M", 0.0083)])
def test_of_indexes_that_were_brought_to_one_recall_r2_is_withheld(
    shared: Path, name: str, span: float
) -> None:
    """The paper brings six indexes to a recall of about .9: over so little of it, r² is chance."""
    published = json.loads((shared / "robustness_paper" / "recall_histograms_k10.json").read_text())
    result = make_study(
        *(trial_with_histogram(item["hist_hits_0_to_10"]) for item in published[name].values())
    )
    assert np.ptp([item.recall.value for item in result.scored_trials]) == pytest.approx(span, abs=1e-4)
    assert {item.r2 for item in recall_correlations(result, WHOLE)} == {None}


def answers(rng: np.random.Generator, share: float) -> ScoredTrial:
    """40 queries, of which each of 5 answers is one of the truth by chance; some stand twice, some lack."""
    truth = np.arange(40 * 5).reshape(40, 5)
    ids = np.where(
        rng.random((40, 5)) < share, rng.permuted(truth, axis=1), 900 + rng.integers(0, 50, (40, 5))
    )
    ids[rng.random((40, 5)) < 0.1] = -1
    ids[:, 4] = np.where(rng.random(40) < 0.3, ids[:, 0], ids[:, 4])
    hits = [len({*row} & {*nearby}) for row, nearby in zip(ids.tolist(), truth.tolist(), strict=True)]
    return trial_with_hits(hits, k=5, ids=ids, search={"ef": share})


def by_hand(item: ScoredTrial, measure: str) -> float:
    """The mean of a measure of retrieval, with the true neighbours as what is relevant."""
    assert item.returned_ids is not None
    values = []
    for query, row in enumerate(item.returned_ids.tolist()):
        nearby = {f"{query * 5 + i:03}": 1 for i in range(5)}
        # a repeated id and a lacking one keep their places as documents that nobody judged
        names = [f"{i:03}" if i >= 0 and i not in row[:at] else f"x{at}" for at, i in enumerate(row)]
        values.append(
            reference_value(measure, {"q": nearby}, {"q": {name: -at for at, name in enumerate(names)}}, "q")
        )
    return float(np.mean([result for result in values if result is not None]))


def test_ap_and_ndcg_are_those_of_retrieval_with_the_truth_as_relevant() -> None:
    rng = np.random.default_rng(0)
    items = [answers(rng, share) for share in (0.3, 0.5, 0.6, 0.7, 0.9)]
    result = correlations_by_measure(make_study(*items, data=make_data(np.arange(200).reshape(40, 5), k=5)))
    recall = [item.recall.value for item in items]
    for measure in ("AP@5", "nDCG@5", "RR@5"):
        expected = linregress(recall, [by_hand(item, measure) for item in items]).rvalue ** 2
        assert result[measure] == pytest.approx(expected)
        assert expected < 1 - 1e-6


def test_below_five_configurations_or_without_any_change_r2_is_undefined() -> None:
    four = make_study(*(trial_with_histogram([bad, 10 - bad]) for bad in range(1, 5)))
    assert {item.r2 for item in recall_correlations(four, WHOLE)} == {None}
    assert {item.n for item in recall_correlations(four, WHOLE)} == {4}
    flat = make_study(*(trial_with_histogram([0, bad, 10 - bad]) for bad in range(1, 6)))
    assert correlations_by_measure(flat)["ZeroHit@2"] is None
    assert correlations_by_measure(flat)["Robustness(delta=1.0)@2"] == pytest.approx(1)


def test_only_what_is_stated_is_compared() -> None:
    figures = ((0.8, 0.9), (0.9, 0.97), (0.95, 0.96), (0.93, 0.95), (0.85, 0.92))
    scored_trials = [
        trial_with_figures({"recall": r, "Robustness(delta=0.3)@10": share}) for r, share in figures
    ]
    result = {
        item.measure: item
        for item in recall_correlations(
            make_study(*scored_trials, trial_with_figures({"recall": 0.99})), WHOLE
        )
    }
    assert result["Robustness(delta=0.3)@10"].n == 5
    assert result["Robustness(delta=0.3)@10"].r2 == pytest.approx(
        linregress(*zip(*figures, strict=True)).rvalue ** 2
    )
    assert (result["p1 of R@10"].r2, result["p1 of R@10"].n) == (None, 0)
    assert "AP@10" not in result


def test_r2_is_over_the_configurations_in_a_range_of_recall() -> None:
    recalls = (0.5, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)
    shares = (0.2, 0.90, 0.93, 0.91, 0.95, 0.94, 0.98, 0.1)
    study = make_study(
        *(
            trial_with_figures({"recall": recall, "Robustness(delta=0.3)@10": share})
            for recall, share in zip(recalls, shares, strict=True)
        )
    )
    found = {item.measure: item for item in recall_correlations(study)}["Robustness(delta=0.3)@10"]
    assert found.n == 6
    assert found.r2 == pytest.approx(linregress(recalls[1:7], shares[1:7]).rvalue ** 2)
    narrow = recall_correlations(study, (0.7, 0.9))
    assert {item.n for item in narrow if item.measure.startswith("Robustness(delta=0.3)")} == {5}


def test_measures_that_others_report_are_compared_on_their_own_scale() -> None:
    """Some state AP in percent and RR as a sum: r² does not depend on it."""
    recalls, rr = (0.7, 0.75, 0.8, 0.85, 0.9), (9.1, 9.3, 9.2, 9.6, 9.5)
    study = make_study(
        *(
            trial_with_figures({"recall": recall, "RR@10": value, "p5 of recall": recall / 2})
            for recall, value in zip(recalls, rr, strict=True)
        )
    )
    found = correlations_by_measure(study)
    assert found["RR@10"] == pytest.approx(linregress(recalls, rr).rvalue ** 2)
    assert found["p5 of R@10"] == pytest.approx(1)
