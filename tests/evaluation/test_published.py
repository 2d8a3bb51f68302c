"""The published hits of six indexes (100,000 and 10,000 queries, not paired) read as the paper reads them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.core.tables import Scores
from assay.evaluation.compare import ComparisonOptions, Comparisons, compare_scores
from assay.views.readings import describe_reading
from tests.evaluation.readings import cites_its_evidence, keys

DELTAS = (0.1, 0.3, 0.5, 0.9)


@pytest.fixture(scope="module")
def indexes(shared: Path) -> dict[str, dict[str, Any]]:
    result: dict[str, dict[str, Any]] = json.loads(
        (shared / "robustness_paper" / "recall_histograms_k10.json").read_text()
    )
    return result


def hits_scores(histogram: list[int]) -> Scores:
    hits = np.repeat(np.arange(11), histogram)
    low = {f"Robustness(delta={d})@10": (hits >= round(10 * d)).astype(float) for d in DELTAS}
    values = {"R@10": hits / 10, **low, "ZeroHit@10": (hits == 0).astype(float)}
    return Scores([str(i) for i in range(len(hits))], values)


def compare_published(
    indexes: dict[str, dict[str, Any]], collection: str, before: str, after: str
) -> Comparisons:
    first, second = (hits_scores(indexes[collection][name]["hist_hits_0_to_10"]) for name in (before, after))
    return compare_scores(
        first, {after: second}, baseline_name=before, options=ComparisonOptions(paired=False)
    )


@pytest.mark.parametrize("collection", ["text2image_10M", "deep_10M"])
def test_means_are_those_published(indexes: dict[str, dict[str, Any]], collection: str) -> None:
    expected_values = indexes[collection]
    for name in sorted(expected_values.keys() - {"HNSW"}):
        row = compare_published(indexes, collection, "HNSW", name).find("R@10")
        assert f"{row.baseline:.6f}" == f"{expected_values['HNSW']['published_recall']:.6f}"
        assert f"{row.candidate:.6f}" == f"{expected_values[name]['published_recall']:.6f}"
        assert row.difference.n == expected_values["HNSW"]["n_queries"] + expected_values[name]["n_queries"]


@pytest.mark.parametrize(
    ("before", "after", "word", "gain"), [("HNSW", "ScaNN", "better", 1), ("ScaNN", "HNSW", "worse", -1)]
)
def test_scann_and_hnsw_have_one_mean_and_two_tails(
    indexes: dict[str, dict[str, Any]], before: str, after: str, word: str, gain: int
) -> None:
    result = compare_published(indexes, "text2image_10M", before, after)
    assert keys(result) == ["same", f"tail {word}"]
    assert result.find("R@10").difference.value == pytest.approx(gain * (0.900409 - 0.898911))
    assert result.find("ZeroHit@10").difference.value == pytest.approx(gain * (26 - 2445) / 100_000)
    assert result.find("Robustness(delta=0.9)@10").difference.value == pytest.approx(-0.051 * gain, abs=5e-4)
    start = f"mean recall (R@10) is unchanged (within ±0.01), but the tail is {word} (while Robustness("
    assert describe_reading(result.readings[1]).startswith(
        f"{start}delta=0.9)@10 moved the other way): R@10 "
    )
    cites_its_evidence(result, f"tail {word}")


def test_the_zero_hit_queries_are_those_published(indexes: dict[str, dict[str, Any]]) -> None:
    expected_values = {"DiskANN": 2087, "Zilliz": 1944, "Puck": 1236, "IVFFlat": 138, "ScaNN": 26}
    for name, zeros in expected_values.items():
        row = compare_published(indexes, "text2image_10M", "HNSW", name).find("ZeroHit@10")
        assert round((row.candidate or 0) * 100_000) == zeros
        assert round((row.baseline or 0) * 100_000) == 2445


@pytest.mark.parametrize(
    ("before", "after", "key"), [("HNSW", "ScaNN", "tail better"), ("ScaNN", "HNSW", "tail worse")]
)
def test_the_tail_shows_on_the_smaller_set_too(
    indexes: dict[str, dict[str, Any]], before: str, after: str, key: str
) -> None:
    result = compare_published(indexes, "deep_10M", before, after)
    assert keys(result) == ["same", key]
    assert "the other way" not in describe_reading(
        result.readings[1]
    )  # Robustness-0.9 is not shown to differ
    assert result.find("Robustness(delta=0.9)@10").direction() is None
    cites_its_evidence(result, key)


@pytest.mark.parametrize(
    ("collection", "before", "after", "key", "difference"),
    [
        ("text2image_10M", "HNSW", "IVFFlat", "worse", -0.0125),
        ("text2image_10M", "IVFFlat", "HNSW", "better", 0.0125),
        ("deep_10M", "HNSW", "IVFFlat", "better", 0.0073),
    ],
)
def test_a_tail_beside_a_mean_that_moved_is_no_hidden_tail(
    indexes: dict[str, dict[str, Any]], collection: str, before: str, after: str, key: str, difference: float
) -> None:
    result = compare_published(indexes, collection, before, after)
    assert keys(result) == ([key, "torn"] if collection == "text2image_10M" else [key])
    assert result.find("R@10").difference.value == pytest.approx(difference, abs=5e-5)
    assert result.find("ZeroHit@10").direction()
