"""An audit finds everything that is known to go wrong in truth files, and nothing in a right one."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.core.vectors import METRICS, InMemoryVectors, Neighbors
from assay.indexes.exact.audit import Audit, audit
from assay.indexes.exact.truth import truth

RNG = np.random.default_rng(1)
BASE = RNG.standard_normal((500, 8)).astype(np.float32) + 0.3
QUERIES = RNG.standard_normal((40, 8)).astype(np.float32)
TRUTH = {metric: truth(InMemoryVectors(BASE), InMemoryVectors(QUERIES), 10, metric) for metric in METRICS}


def audit_truth(
    positions: Any, distances: Any = None, metric: str = "l2", base: Any = BASE, queries: Any = QUERIES
) -> Audit:
    return audit(Neighbors(positions, distances), InMemoryVectors(base), InMemoryVectors(queries), metric)


def names(result: Audit) -> list[str]:
    return [finding.name for finding in result.findings]


def copy_truth(metric: str = "l2") -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A right truth, to be spoilt."""
    neighbors = TRUTH[metric]
    assert neighbors.distances is not None
    return neighbors.positions.copy(), neighbors.distances.copy()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("single", [False, True])
def test_a_right_truth_is_clean(metric: str, single: bool) -> None:
    positions, distances = copy_truth(metric)
    result = audit_truth(positions, distances.astype(np.float32) if single else distances, metric)
    assert (result.findings, result.is_clean) == ([], True)
    assert (result.reachable, result.right, result.exact) == (1.0, 40, 1.0)


def test_places_lost_to_duplicates_lower_the_reachable_recall() -> None:
    """Made to the figures of a published file: duplicates in 40 of 100 queries, 46 of 1,000 places lost."""
    base = np.arange(2000, dtype=np.float32)[:, None]
    queries = base[5:1995:20][:100]
    positions = truth(InMemoryVectors(base), InMemoryVectors(queries), 10, "l2").positions.copy()
    positions[:40, 9] = positions[:40, 8]
    positions[:6, 7] = positions[:6, 8]
    result = audit_truth(positions, base=base, queries=queries)
    assert result.reachable == pytest.approx(0.954)
    duplicates = next(finding for finding in result.findings if finding.name == "duplicate ids")
    assert (duplicates.cases, duplicates.share, duplicates.wrong) == (40, 0.4, True)
    assert duplicates.example.startswith("query 0 names ")


def test_rows_out_of_order_are_found_by_their_distances() -> None:
    positions, distances = copy_truth()
    for table in (positions, distances):
        table[3, [2, 7]] = table[3, [7, 2]]
    result = audit_truth(positions, distances)
    assert names(result) == ["unsorted rows"]
    assert result.findings[0].cases == 1
    assert result.findings[0].example.startswith("query 3 has ")


@pytest.mark.parametrize("metric", METRICS)
def test_rows_out_of_order_are_found_without_distances(metric: str) -> None:
    positions, distances = copy_truth(metric)
    positions[4:] = positions[4:, ::-1]
    result = audit_truth(positions, metric=metric)
    assert (names(result), result.findings[0].cases, result.right) == (["unsorted rows"], 36, 40)
    high, low = (f"{distances[4, at]:.6g}" for at in (-1, -2))
    assert result.findings[0].example == f"query 4 has {high} at rank 1 and {low} at rank 2"


def test_ties_in_another_order_are_not_unsorted() -> None:
    base = np.vstack([BASE, BASE * (1 + 1e-7)])
    positions = truth(InMemoryVectors(base), InMemoryVectors(QUERIES), 10, "l2").positions
    swapped = positions.reshape(40, 5, 2)[:, :, ::-1].reshape(40, 10)
    assert audit_truth(swapped, base=base).is_clean


def test_rows_of_similarities_out_of_order_are_shown_as_they_are() -> None:
    positions, distances = copy_truth("ip")
    file_distances = -distances
    for table in (positions, file_distances):
        table[3] = table[3, ::-1]
    result = audit_truth(positions, file_distances, "ip")
    example = next(finding.example for finding in result.findings if finding.name == "unsorted rows")
    assert (
        example
        == f"query 3 has {file_distances[3, 0]:.6g} at rank 1 and {file_distances[3, 1]:.6g} at rank 2"
    )


def test_ties_at_k_are_worth_knowing() -> None:
    base = np.vstack([BASE, BASE])
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(QUERIES), 9, "l2")
    result = audit_truth(neighbors.positions, neighbors.distances, base=base)
    assert names(result) == ["ties at K"]
    assert (result.findings[0].cases, result.is_clean) == (40, True)


def test_the_other_of_two_at_the_same_distance_is_right() -> None:
    base = np.vstack([BASE, BASE])
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(QUERIES), 9, "l2")
    other = np.where(np.arange(9) == 8, neighbors.positions + 500, neighbors.positions)
    result = audit_truth(other, base=base)
    assert (result.right, names(result)) == (40, ["ties at K"])
    assert result.exact == pytest.approx(8 / 9)


def test_padding_empty_rows_and_ids_outside_are_told_apart() -> None:
    positions, _ = copy_truth()
    positions[0, 8:], positions[1], positions[2, 0] = -1, -1, 500
    result = audit_truth(positions)
    examples = {finding.name: finding.example for finding in result.findings}
    assert examples["padding"] == "query 0 has 2 of 10 places empty"
    assert examples["empty rows"] == "query 1 has no neighbour"
    assert examples["ids outside the base"] == "query 2 names 500, but the base ends at 499"
    assert len(examples) == 3
    assert result.right == 37
    assert result.reachable == pytest.approx((39 * 10 - 2 - 1) / 390)


def test_empty_rows_are_left_out_of_the_recall_of_exact_search_and_hide_no_shift() -> None:
    positions, _ = copy_truth()
    positions[::2] = -1
    result = audit_truth(positions)
    assert (result.reachable, result.exact) == (1, 1)
    assert "ids off by one" in names(audit_truth(np.where(positions >= 0, positions + 1, -1)))


def test_ids_below_minus_one_are_outside_the_base() -> None:
    positions, _ = copy_truth()
    positions[6, 3] = -7
    (finding,) = audit_truth(positions).findings
    assert finding.name == "ids outside the base"
    assert (finding.cases, finding.example) == (1, "query 6 names -7, but the base begins at 0")


def test_rows_wrong_by_their_ids_alone_are_told_once() -> None:
    positions, distances = copy_truth()
    positions[0, 9], positions[1, 4:] = positions[0, 8], -1
    positions[2] = -1
    for file_distances in (None, distances):
        result = audit_truth(positions, file_distances)
        assert names(result) == ["empty rows", "padding", "duplicate ids"]
        assert (result.right, result.is_clean) == (37, False)
    positions, distances = copy_truth()
    positions[:, 9] = positions[:, 8]
    assert names(audit_truth(positions, distances)) == ["duplicate ids"]


def test_the_example_of_wrong_neighbours_is_too_far() -> None:
    positions, distances = copy_truth()
    furthest = truth(InMemoryVectors(-BASE), InMemoryVectors(QUERIES), 1, "ip").positions[:, 0]
    positions[2, 9] = positions[2, 8]
    positions[5, :2] = -1, furthest[5]
    examples = {finding.name: finding for finding in audit_truth(positions).findings}
    assert list(examples) == ["padding", "duplicate ids", "wrong neighbours"]
    assert examples["wrong neighbours"].cases == 1
    assert examples["wrong neighbours"].example.startswith(f"query 5 names {furthest[5]} at ")
    assert examples["wrong neighbours"].example.endswith(f"the K-th is at {distances[5, 9]:.6g}")


@pytest.mark.parametrize(
    ("metric", "file_distances", "name"),
    [
        ("l2", np.square, "squared Euclidean distances"),
        ("ip", np.negative, "inner products (similarities)"),
        ("cosine", lambda far: 1 - far, "cosines (similarities)"),
        ("cosine", lambda far: np.sqrt(2 * far), "Euclidean distances of unit vectors"),
    ],
)
def test_another_convention_is_named_and_is_no_fault(metric: str, file_distances: Any, name: str) -> None:
    positions, distances = copy_truth(metric)
    result = audit_truth(positions, file_distances(distances), metric)
    assert (result.convention, names(result), result.is_clean) == (name, ["another convention"], True)


def test_unit_vectors_kept_by_a_kindred_distance_are_right() -> None:
    base, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (BASE, QUERIES))
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(queries), 10, "ip")
    assert neighbors.distances is not None
    result = audit_truth(neighbors.positions, 1 + neighbors.distances, "ip", base, queries)  # 1 − ⟨q, x⟩
    assert (names(result), result.is_clean) == (["another convention"], True)


@pytest.mark.parametrize("with_distances", [True, False])
def test_a_truth_by_another_metric_is_caught(with_distances: bool) -> None:
    positions, distances = copy_truth("ip")
    result = audit_truth(positions, distances if with_distances else None, "l2")
    mismatch = next(finding for finding in result.findings if finding.name == "metric mismatch")
    assert "ip" in mismatch.example
    assert not result.is_clean
    assert "wrong neighbours" in names(result)


def test_distances_of_no_metric_are_caught() -> None:
    positions, distances = copy_truth()
    (finding,) = audit_truth(positions, distances + 7).findings
    assert (finding.name, "the neighbours are right" in finding.effect) == ("distances of no metric", True)
    rolled_positions = np.roll(positions, 1, axis=0)
    result = next(
        f for f in audit_truth(rolled_positions, distances + 7).findings if f.name == "distances of no metric"
    )
    assert "may belong to other vectors" in result.effect


@pytest.mark.parametrize(
    ("metric", "name", "file_distances"),
    [
        ("ip", "1 − inner product", lambda far: 1 + far),
        ("cosine", "negated cosines", lambda far: far - 1),
        ("cosine", "angles", lambda far: np.arccos(1 - far)),
    ],
)
def test_what_libraries_call_a_distance_is_known(metric: str, name: str, file_distances: Any) -> None:
    positions, distances = copy_truth(metric)
    result = audit_truth(positions, file_distances(distances), metric)
    assert (result.is_clean, result.convention) == (True, name)


def test_distances_unlike_the_others_are_caught() -> None:
    positions, distances = copy_truth()
    lines = f"where {positions[0, 9]} is at {distances[0, 9]:.6g}"
    distances[:, 9] *= 1.5
    result = audit_truth(positions, distances)
    (finding,) = result.findings
    assert (result.convention, result.is_clean) == ("Euclidean distances", False)
    assert (finding.name, finding.cases, finding.out_of) == ("wrong distances", 40, 40)
    assert finding.example == f"query 0 has {distances[0, 9]:.6g} at rank 10, {lines}"


def test_small_distances_that_single_precision_blurs_are_not_wrong() -> None:
    base = np.vstack([BASE, QUERIES[:4]])
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(QUERIES), 10, "l2")
    assert neighbors.distances is not None
    blurred = np.sqrt(neighbors.distances**2 + 1e-5)
    assert audit_truth(neighbors.positions, blurred, base=base).is_clean


def test_cosines_near_one_another_lose_their_digits_and_are_not_wrong() -> None:
    base, queries = BASE * 1e-2 + 1, QUERIES * 1e-2 + 1
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(queries), 10, "cosine")
    assert neighbors.distances is not None
    neighbors.distances[:, 0] += 3e-7
    assert audit_truth(neighbors.positions, neighbors.distances, "cosine", base, queries).is_clean


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_distances_that_are_no_numbers_are_caught(value: float) -> None:
    positions, distances = copy_truth()
    distances[3, 9] = value
    (finding,) = audit_truth(positions, distances).findings
    assert (finding.name, finding.cases) == ("NaN or infinite distances", 1)
    assert finding.example == f"query 3 has {value} beside {positions[3, 9]} at rank 10"


def test_distances_none_of_which_is_a_number_are_told_once() -> None:
    positions, distances = copy_truth()
    assert names(audit_truth(positions, np.full_like(distances, np.nan))) == ["NaN or infinite distances"]


@pytest.mark.parametrize("shift", [1, -1])
def test_ids_off_by_one_are_caught(shift: int) -> None:
    positions, _ = copy_truth()
    result = audit_truth(positions + shift)
    assert "ids off by one" in names(result)
    assert "wrong neighbours" in names(result)


def test_wrong_neighbours_are_counted_with_an_example() -> None:
    positions, _ = copy_truth()
    furthest = truth(InMemoryVectors(-BASE), InMemoryVectors(QUERIES), 1, "ip").positions
    positions[5:9, 4] = furthest[5:9, 0]
    result = audit_truth(positions)
    (finding,) = result.findings
    assert (finding.name, finding.cases, finding.out_of, result.right) == ("wrong neighbours", 4, 40, 36)
    assert finding.example.startswith(f"query 5 names {furthest[5, 0]} at ")
    assert result.exact == pytest.approx(1 - 4 / 400)


def test_confusion_by_rounding_is_told_from_wrong_neighbours() -> None:
    base, queries = 1 + np.arange(1, 51)[:, None] * 1e-5, np.full((1, 1), 1e-9)
    positions = truth(InMemoryVectors(base), InMemoryVectors(queries), 10, "l2").positions.copy()
    positions[0, 9] = 12
    result = audit_truth(positions, base=base, queries=queries)
    assert (names(result), result.is_clean, result.right) == (["neighbours confused by rounding"], True, 0)


def test_queries_that_are_in_the_base_are_named() -> None:
    base = np.vstack([BASE, QUERIES[:4]])
    neighbors = truth(InMemoryVectors(base), InMemoryVectors(QUERIES), 10, "l2")
    result = audit_truth(neighbors.positions, neighbors.distances, base=base)
    assert names(result) == ["queries contained in the base"]
    assert (result.findings[0].cases, result.findings[0].example) == (
        4,
        "query 0 is at position 500 of the base",
    )


@pytest.mark.parametrize(("metric", "clean"), [("cosine", False), ("l2", True)])
def test_zero_vectors_are_a_fault_under_cosine_only(metric: str, clean: bool) -> None:
    base = BASE.copy()
    base[7] = 0
    positions = truth(InMemoryVectors(base), InMemoryVectors(QUERIES), 10, "l2").positions
    result = audit_truth(positions, metric=metric, base=base)
    assert (names(result), result.is_clean) == (["zero vectors in the base"], clean)
    assert result.right == (40 if clean else None)


def test_zero_vectors_among_the_queries_are_a_fault_under_cosine() -> None:
    queries = QUERIES.copy()
    queries[3] = 0
    result = audit_truth(copy_truth("cosine")[0], metric="cosine", queries=queries)
    assert (names(result), result.is_clean) == (["zero vectors in the queries"], False)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("which", ["base", "queries"])
def test_what_is_no_number_is_a_fault(which: str, number: float) -> None:
    spoilt: Any = {"base": BASE.copy(), "queries": QUERIES.copy()}
    spoilt[which][3, 1] = number
    result = audit_truth(copy_truth()[0], **spoilt)
    assert not result.is_clean
    assert any(which in name for name in names(result))


def test_another_number_of_rows_is_caught() -> None:
    result = audit_truth(copy_truth()[0][:39])
    assert names(result) == ["another number of rows"]
    assert result.findings[0].example == "39 rows of truth, 40 queries"


def test_a_truth_without_any_neighbour_has_no_reachable_recall() -> None:
    result = audit_truth(np.full((40, 3), -1))
    assert (result.reachable, names(result)[0]) == (None, "empty rows")
