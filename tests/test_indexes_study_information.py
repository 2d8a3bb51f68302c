"""Which measures the mean recall tells already."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import linregress

from assay.indexes.study.information import information
from assay.indexes.study.observed import Observed, Study
from brute import value
from studies import asked, plane, reported, stated, study


def told(found: Study) -> dict[str, float | None]:
    return {one.measure: one.r2 for one in information(found)}


def test_r2_is_that_of_a_line_through_the_configurations() -> None:
    counts = [[5, 0, 0, 0, 95], [1, 9, 10, 30, 50], [0, 2, 8, 30, 60], [20, 0, 0, 20, 60], [0, 0, 0, 5, 95]]
    found = told(study(*map(stated, counts)))
    recall = [np.dot(one, range(5)) / 400 for one in counts]
    low = [1 - one[0] / 100 for one in counts]
    assert found["Robustness(delta=0.2)@4"] == pytest.approx(linregress(recall, low).rvalue ** 2)
    assert found["ZeroHit@4"] == pytest.approx(found["Robustness(delta=0.2)@4"])
    assert found["Robustness(delta=0.1)@4"] == pytest.approx(found["Robustness(delta=0.2)@4"])
    p10 = [4 / 4, 2 / 4, 3 / 4, 0.0, 4 / 4]
    assert found["p10 of R@4"] == pytest.approx(linregress(recall, p10).rvalue ** 2)


@pytest.mark.parametrize(("name", "span"), [("text2image_10M", 0.0152), ("deep_10M", 0.0083)])
def test_of_indexes_that_were_brought_to_one_recall_r2_is_withheld(
    shared: Path, name: str, span: float
) -> None:
    """The paper brings six indexes to a recall of about .9: over so little of it, r² is chance."""
    published = json.loads((shared / "robustness_paper" / "recall_histograms_k10.json").read_text())
    found = study(*(stated(one["hist_hits_0_to_10"]) for one in published[name].values()))
    assert np.ptp([one.recall.value for one in found.observed]) == pytest.approx(span, abs=1e-4)
    assert {one.r2 for one in information(found)} == {None}


def answers(rng: np.random.Generator, share: float) -> Observed:
    """40 queries, of which each of 5 answers is one of the truth by chance; some stand twice, some lack."""
    truth = np.arange(40 * 5).reshape(40, 5)
    ids = np.where(
        rng.random((40, 5)) < share, rng.permuted(truth, axis=1), 900 + rng.integers(0, 50, (40, 5))
    )
    ids[rng.random((40, 5)) < 0.1] = -1
    ids[:, 4] = np.where(rng.random(40) < 0.3, ids[:, 0], ids[:, 4])
    hits = [len({*row} & {*near}) for row, near in zip(ids.tolist(), truth.tolist(), strict=True)]
    return asked(hits, k=5, ids=ids, search={"ef": share})


def by_hand(one: Observed, measure: str) -> float:
    """The mean of a measure of retrieval, with the true neighbours as what is relevant."""
    assert one.returned is not None
    values = []
    for query, row in enumerate(one.returned.tolist()):
        near = {f"{query * 5 + i:03}": 1 for i in range(5)}
        # a repeated id and a lacking one keep their places as documents that nobody judged
        names = [f"{i:03}" if i >= 0 and i not in row[:at] else f"x{at}" for at, i in enumerate(row)]
        values.append(value(measure, {"q": near}, {"q": {name: -at for at, name in enumerate(names)}}, "q"))
    return float(np.mean([found for found in values if found is not None]))


def test_ap_and_ndcg_are_those_of_retrieval_with_the_truth_as_relevant() -> None:
    rng = np.random.default_rng(0)
    several = [answers(rng, share) for share in (0.3, 0.5, 0.6, 0.7, 0.9)]
    found = told(study(*several, data=plane(np.arange(200).reshape(40, 5), k=5)))
    recall = [one.recall.value for one in several]
    for measure in ("AP@5", "nDCG@5"):
        expected = linregress(recall, [by_hand(one, measure) for one in several]).rvalue ** 2
        assert found[measure] == pytest.approx(expected)
        assert expected < 1 - 1e-6


def test_below_five_configurations_or_without_any_change_r2_is_undefined() -> None:
    four = study(*(stated([bad, 10 - bad]) for bad in range(1, 5)))
    assert {one.r2 for one in information(four)} == {None}
    assert {one.n for one in information(four)} == {4}
    flat = study(*(stated([0, bad, 10 - bad]) for bad in range(1, 6)))
    assert told(flat)["ZeroHit@2"] is None
    assert told(flat)["Robustness(delta=1.0)@2"] == pytest.approx(1)


def test_only_what_is_stated_is_compared() -> None:
    figures = ((0.8, 0.9), (0.9, 0.97), (0.95, 0.96), (0.93, 0.95), (0.85, 0.92))
    several = [reported({"recall": r, "Robustness(delta=0.3)@10": share}) for r, share in figures]
    found = {one.measure: one for one in information(study(*several, reported({"recall": 0.99})))}
    assert found["Robustness(delta=0.3)@10"].n == 5
    assert found["Robustness(delta=0.3)@10"].r2 == pytest.approx(
        linregress(*zip(*figures, strict=True)).rvalue ** 2
    )
    assert (found["p1 of R@10"].r2, found["p1 of R@10"].n) == (None, 0)
    assert "AP@10" not in found
