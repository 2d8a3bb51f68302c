"""An audit finds everything that is known to go wrong in truth files, and nothing in a right one."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.core.vectors import METRICS, Held, Neighbors
from assay.indexes.exact.audit import Audit, audit
from assay.indexes.exact.truth import truth

RNG = np.random.default_rng(1)
BASE = RNG.standard_normal((500, 8)).astype(np.float32) + 0.3
QUERIES = RNG.standard_normal((40, 8)).astype(np.float32)
TRUTH = {metric: truth(Held(BASE), Held(QUERIES), 10, metric) for metric in METRICS}


def audited(
    positions: Any, distances: Any = None, metric: str = "l2", base: Any = BASE, queries: Any = QUERIES
) -> Audit:
    return audit(Neighbors(positions, distances), Held(base), Held(queries), metric)


def names(found: Audit) -> list[str]:
    return [finding.name for finding in found.findings]


def given(metric: str = "l2") -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A right truth, to be spoilt."""
    made = TRUTH[metric]
    assert made.distances is not None
    return made.positions.copy(), made.distances.copy()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("single", [False, True])
def test_a_right_truth_is_clean(metric: str, single: bool) -> None:
    positions, distances = given(metric)
    found = audited(positions, distances.astype(np.float32) if single else distances, metric)
    assert (found.findings, found.clean) == ([], True)
    assert (found.reachable, found.right, found.exact) == (1.0, 40, 1.0)


def test_places_lost_to_duplicates_lower_the_reachable_recall() -> None:
    """Made to the figures of a published file: duplicates in 40 of 100 queries, 46 of 1,000 places lost."""
    base = np.arange(2000, dtype=np.float32)[:, None]
    queries = base[5:1995:20][:100]
    positions = truth(Held(base), Held(queries), 10, "l2").positions.copy()
    positions[:40, 9] = positions[:40, 8]
    positions[:6, 7] = positions[:6, 8]
    found = audited(positions, base=base, queries=queries)
    assert found.reachable == pytest.approx(0.954)
    duplicates = next(finding for finding in found.findings if finding.name == "duplicate ids")
    assert (duplicates.cases, duplicates.share, duplicates.wrong) == (40, 0.4, True)
    assert duplicates.example.startswith("query 0 names ")


def test_rows_out_of_order_are_found_by_their_distances() -> None:
    positions, distances = given()
    for table in (positions, distances):
        table[3, [2, 7]] = table[3, [7, 2]]
    found = audited(positions, distances)
    assert names(found) == ["unsorted rows"]
    assert found.findings[0].cases == 1
    assert found.findings[0].example.startswith("query 3 has ")


@pytest.mark.parametrize("metric", METRICS)
def test_rows_out_of_order_are_found_without_distances(metric: str) -> None:
    positions, distances = given(metric)
    positions[4:] = positions[4:, ::-1]
    found = audited(positions, metric=metric)
    assert (names(found), found.findings[0].cases, found.right) == (["unsorted rows"], 36, 40)
    high, low = (f"{distances[4, at]:.6g}" for at in (-1, -2))
    assert found.findings[0].example == f"query 4 has {high} at rank 1 and {low} at rank 2"


def test_ties_in_another_order_are_not_unsorted() -> None:
    base = np.vstack([BASE, BASE * (1 + 1e-7)])
    positions = truth(Held(base), Held(QUERIES), 10, "l2").positions
    swapped = positions.reshape(40, 5, 2)[:, :, ::-1].reshape(40, 10)
    assert audited(swapped, base=base).clean


def test_rows_of_similarities_out_of_order_are_shown_as_they_are() -> None:
    positions, distances = given("ip")
    kept = -distances
    for table in (positions, kept):
        table[3] = table[3, ::-1]
    found = audited(positions, kept, "ip")
    example = next(finding.example for finding in found.findings if finding.name == "unsorted rows")
    assert example == f"query 3 has {kept[3, 0]:.6g} at rank 1 and {kept[3, 1]:.6g} at rank 2"


def test_ties_at_k_are_worth_knowing() -> None:
    base = np.vstack([BASE, BASE])
    made = truth(Held(base), Held(QUERIES), 9, "l2")
    found = audited(made.positions, made.distances, base=base)
    assert names(found) == ["ties at K"]
    assert (found.findings[0].cases, found.clean) == (40, True)


def test_the_other_of_two_at_the_same_distance_is_right() -> None:
    base = np.vstack([BASE, BASE])
    made = truth(Held(base), Held(QUERIES), 9, "l2")
    other = np.where(np.arange(9) == 8, made.positions + 500, made.positions)
    found = audited(other, base=base)
    assert (found.right, names(found)) == (40, ["ties at K"])
    assert found.exact == pytest.approx(8 / 9)


def test_padding_empty_rows_and_ids_outside_are_told_apart() -> None:
    positions, _ = given()
    positions[0, 8:], positions[1], positions[2, 0] = -1, -1, 500
    found = audited(positions)
    told = {finding.name: finding.example for finding in found.findings}
    assert told["padding"] == "query 0 has 2 of 10 places empty"
    assert told["empty rows"] == "query 1 has no neighbour"
    assert told["ids outside the base"] == "query 2 names 500, and the base ends at 499"
    assert len(told) == 3
    assert found.right == 37
    assert found.reachable == pytest.approx((39 * 10 - 2 - 1) / 390)


def test_empty_rows_are_left_out_of_the_recall_of_exact_search_and_hide_no_shift() -> None:
    positions, _ = given()
    positions[::2] = -1
    found = audited(positions)
    assert (found.reachable, found.exact) == (1, 1)
    assert "ids off by one" in names(audited(np.where(positions >= 0, positions + 1, -1)))


def test_ids_below_minus_one_are_outside_the_base() -> None:
    positions, _ = given()
    positions[6, 3] = -7
    (finding,) = audited(positions).findings
    assert finding.name == "ids outside the base"
    assert (finding.cases, finding.example) == (1, "query 6 names -7, and the base begins at 0")


def test_rows_wrong_by_their_ids_alone_are_told_once() -> None:
    positions, distances = given()
    positions[0, 9], positions[1, 4:] = positions[0, 8], -1
    positions[2] = -1
    for kept in (None, distances):
        found = audited(positions, kept)
        assert names(found) == ["empty rows", "padding", "duplicate ids"]
        assert (found.right, found.clean) == (37, False)
    positions, distances = given()
    positions[:, 9] = positions[:, 8]
    assert names(audited(positions, distances)) == ["duplicate ids"]


def test_the_example_of_wrong_neighbours_is_too_far() -> None:
    positions, distances = given()
    furthest = truth(Held(-BASE), Held(QUERIES), 1, "ip").positions[:, 0]
    positions[2, 9] = positions[2, 8]
    positions[5, :2] = -1, furthest[5]
    told = {finding.name: finding for finding in audited(positions).findings}
    assert list(told) == ["padding", "duplicate ids", "wrong neighbours"]
    assert told["wrong neighbours"].cases == 1
    assert told["wrong neighbours"].example.startswith(f"query 5 names {furthest[5]} at ")
    assert told["wrong neighbours"].example.endswith(f"the K-th is at {distances[5, 9]:.6g}")


@pytest.mark.parametrize(
    ("metric", "kept", "name"),
    [
        ("l2", np.square, "squared Euclidean distances"),
        ("ip", np.negative, "inner products (similarities)"),
        ("cosine", lambda far: 1 - far, "cosines (similarities)"),
        ("cosine", lambda far: np.sqrt(2 * far), "Euclidean distances of unit vectors"),
    ],
)
def test_another_convention_is_named_and_is_no_fault(metric: str, kept: Any, name: str) -> None:
    positions, distances = given(metric)
    found = audited(positions, kept(distances), metric)
    assert (found.convention, names(found), found.clean) == (name, ["another convention"], True)


def test_unit_vectors_kept_by_a_kindred_distance_are_right() -> None:
    base, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (BASE, QUERIES))
    made = truth(Held(base), Held(queries), 10, "ip")
    assert made.distances is not None
    found = audited(made.positions, 1 + made.distances, "ip", base, queries)  # 1 − ⟨q, x⟩
    assert (names(found), found.clean) == (["another convention"], True)


@pytest.mark.parametrize("with_distances", [True, False])
def test_a_truth_by_another_metric_is_caught(with_distances: bool) -> None:
    positions, distances = given("ip")
    found = audited(positions, distances if with_distances else None, "l2")
    mismatch = next(finding for finding in found.findings if finding.name == "metric mismatch")
    assert "ip" in mismatch.example
    assert not found.clean
    assert "wrong neighbours" in names(found)


def test_distances_of_no_metric_are_caught() -> None:
    positions, distances = given()
    (finding,) = audited(positions, distances + 7).findings
    assert (finding.name, "the neighbours are right" in finding.effect) == ("distances of no metric", True)
    others = np.roll(positions, 1, axis=0)
    found = next(f for f in audited(others, distances + 7).findings if f.name == "distances of no metric")
    assert "may be of other vectors" in found.effect


@pytest.mark.parametrize(
    ("metric", "name", "kept"),
    [
        ("ip", "1 − inner product", lambda far: 1 + far),
        ("cosine", "negated cosines", lambda far: far - 1),
        ("cosine", "angles", lambda far: np.arccos(1 - far)),
    ],
)
def test_what_libraries_call_a_distance_is_known(metric: str, name: str, kept: Any) -> None:
    positions, distances = given(metric)
    found = audited(positions, kept(distances), metric)
    assert (found.clean, found.convention) == (True, name)


def test_distances_unlike_the_others_are_caught() -> None:
    positions, distances = given()
    shown = f"where {positions[0, 9]} is at {distances[0, 9]:.6g}"
    distances[:, 9] *= 1.5
    found = audited(positions, distances)
    (finding,) = found.findings
    assert (found.convention, found.clean) == ("Euclidean distances", False)
    assert (finding.name, finding.cases, finding.out_of) == ("wrong distances", 40, 40)
    assert finding.example == f"query 0 has {distances[0, 9]:.6g} at rank 10, {shown}"


def test_small_distances_that_single_precision_blurs_are_not_wrong() -> None:
    base = np.vstack([BASE, QUERIES[:4]])
    made = truth(Held(base), Held(QUERIES), 10, "l2")
    assert made.distances is not None
    blurred = np.sqrt(made.distances**2 + 1e-5)
    assert audited(made.positions, blurred, base=base).clean


def test_cosines_near_one_another_lose_their_digits_and_are_not_wrong() -> None:
    base, queries = BASE * 1e-2 + 1, QUERIES * 1e-2 + 1
    made = truth(Held(base), Held(queries), 10, "cosine")
    assert made.distances is not None
    made.distances[:, 0] += 3e-7
    assert audited(made.positions, made.distances, "cosine", base, queries).clean


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_distances_that_are_no_numbers_are_caught(value: float) -> None:
    positions, distances = given()
    distances[3, 9] = value
    (finding,) = audited(positions, distances).findings
    assert (finding.name, finding.cases) == ("NaN or infinite distances", 1)
    assert finding.example == f"query 3 has {value} beside {positions[3, 9]} at rank 10"


def test_distances_none_of_which_is_a_number_are_told_once() -> None:
    positions, distances = given()
    assert names(audited(positions, np.full_like(distances, np.nan))) == ["NaN or infinite distances"]


@pytest.mark.parametrize("shift", [1, -1])
def test_ids_off_by_one_are_caught(shift: int) -> None:
    positions, _ = given()
    found = audited(positions + shift)
    assert "ids off by one" in names(found)
    assert "wrong neighbours" in names(found)


def test_wrong_neighbours_are_counted_with_an_example() -> None:
    positions, _ = given()
    furthest = truth(Held(-BASE), Held(QUERIES), 1, "ip").positions
    positions[5:9, 4] = furthest[5:9, 0]
    found = audited(positions)
    (finding,) = found.findings
    assert (finding.name, finding.cases, finding.out_of, found.right) == ("wrong neighbours", 4, 40, 36)
    assert finding.example.startswith(f"query 5 names {furthest[5, 0]} at ")
    assert found.exact == pytest.approx(1 - 4 / 400)


def test_confusion_by_rounding_is_told_from_wrong_neighbours() -> None:
    base, queries = 1 + np.arange(1, 51)[:, None] * 1e-5, np.full((1, 1), 1e-9)
    positions = truth(Held(base), Held(queries), 10, "l2").positions.copy()
    positions[0, 9] = 12
    found = audited(positions, base=base, queries=queries)
    assert (names(found), found.clean, found.right) == (["neighbours confused by rounding"], True, 0)


def test_queries_that_are_in_the_base_are_named() -> None:
    base = np.vstack([BASE, QUERIES[:4]])
    made = truth(Held(base), Held(QUERIES), 10, "l2")
    found = audited(made.positions, made.distances, base=base)
    assert names(found) == ["queries contained in the base"]
    assert (found.findings[0].cases, found.findings[0].example) == (
        4,
        "query 0 is at position 500 of the base",
    )


@pytest.mark.parametrize(("metric", "clean"), [("cosine", False), ("l2", True)])
def test_zero_vectors_are_a_fault_under_cosine_only(metric: str, clean: bool) -> None:
    base = BASE.copy()
    base[7] = 0
    positions = truth(Held(base), Held(QUERIES), 10, "l2").positions
    found = audited(positions, metric=metric, base=base)
    assert (names(found), found.clean) == (["zero vectors in the base"], clean)
    assert found.right == (40 if clean else None)


def test_zero_vectors_among_the_queries_are_a_fault_under_cosine() -> None:
    queries = QUERIES.copy()
    queries[3] = 0
    found = audited(given("cosine")[0], metric="cosine", queries=queries)
    assert (names(found), found.clean) == (["zero vectors in the queries"], False)


@pytest.mark.parametrize("number", [np.nan, np.inf])
@pytest.mark.parametrize("which", ["base", "queries"])
def test_what_is_no_number_is_a_fault(which: str, number: float) -> None:
    spoilt: Any = {"base": BASE.copy(), "queries": QUERIES.copy()}
    spoilt[which][3, 1] = number
    found = audited(given()[0], **spoilt)
    assert not found.clean
    assert any(which in name for name in names(found))


def test_another_number_of_rows_is_caught() -> None:
    found = audited(given()[0][:39])
    assert names(found) == ["another number of rows"]
    assert found.findings[0].example == "39 rows of truth, 40 queries"


def test_a_truth_without_any_neighbour_has_no_reachable_recall() -> None:
    found = audited(np.full((40, 3), -1))
    assert (found.reachable, names(found)[0]) == (None, "empty rows")
