"""The three-way trade-off: each of recall, robustness and throughput fixed in turn."""

from dataclasses import replace

import pytest

from assay.bench.selection.tradeoff import tradeoff_planes
from assay.core.errors import InputError
from tests.choices import measured_trial, reported_trial

EVEN, UNEVEN, WHOLE = [8] * 40, [10] * 36 + [0] * 4, [10] * 40
TRIALS = [
    measured_trial("even", EVEN, 80),
    measured_trial("uneven", UNEVEN, 70),
    measured_trial("whole", WHOLE, 10),
]


def test_each_figure_is_fixed_at_the_median_of_the_front_unless_a_floor_is_given() -> None:
    planes = tradeoff_planes(TRIALS, 0.1)
    assert [(p.fixed, p.floor, p.x, p.y) for p in planes] == [
        ("recall", 0.9, "robustness-0.1", "qps"),
        ("robustness-0.1", 1.0, "recall", "qps"),
        ("qps", 70.0, "recall", "robustness-0.1"),
    ]
    assert tradeoff_planes(TRIALS, 0.1, {"qps": 75})[2].floor == 75


def test_a_plane_has_the_trials_that_reach_its_floor_and_its_own_front() -> None:
    recall, robustness, qps = tradeoff_planes(TRIALS, 0.1)
    assert [point[:4] for point in recall.points] == [("uneven", 0.9, 70, True), ("whole", 1.0, 10, True)]
    assert [point[:4] for point in robustness.points] == [("even", 0.8, 80, True), ("whole", 1.0, 10, True)]
    assert [point[:4] for point in qps.points] == [("even", 0.8, 1.0, True), ("uneven", 0.9, 0.9, True)]


def test_trials_of_one_label_are_all_there() -> None:
    scored_trial = measured_trial("even", EVEN, 80)
    second = replace(
        measured_trial("even", EVEN, 90),
        trial=replace(measured_trial("even", EVEN, 90).trial, key="x", threads=2),
    )
    points = tradeoff_planes([scored_trial, second], 0.1)[0].points
    assert [(p.label, p.key, p.on_front) for p in points] == [("even", "even", False), ("even", "x", True)]


def test_a_floor_is_reached_but_for_the_last_digit_of_a_sum() -> None:
    assert tradeoff_planes([measured_trial("a", [3] * 40)], 0.1, {"recall": 0.3 + 1e-13})[0].points
    assert not tradeoff_planes([measured_trial("a", [3] * 40)], 0.1, {"recall": 0.3 + 1e-9})[0].points


def test_one_that_is_worse_in_both_is_not_on_the_front_of_a_plane() -> None:
    slower = measured_trial("slower", EVEN, 60)
    points = tradeoff_planes([*TRIALS, slower], 0.1, {"robustness-0.1": 1.0})[1].points
    assert [(p.label, p.on_front) for p in points] == [("slower", False), ("even", True), ("whole", True)]


def test_trials_that_lack_a_figure_failed_or_are_not_indexed_have_no_place() -> None:
    more = [
        measured_trial("failed", None, None, status="failed"),
        measured_trial("brute", WHOLE, 900, indexed=False),
        reported_trial("stated", recall=1.0, qps=900),
    ]
    assert tradeoff_planes([*TRIALS, *more], 0.1) == tradeoff_planes(TRIALS, 0.1)
    assert tradeoff_planes(more, 0.1) == []


def test_a_floor_of_another_figure_is_refused() -> None:
    with pytest.raises(InputError, match=r"uses recall, robustness-0\.3, qps; found a floor for p99_ms"):
        tradeoff_planes(TRIALS, 0.3, {"p99_ms": 5})


def test_each_figure_may_have_several_floors_the_lowest_first() -> None:
    planes = tradeoff_planes(TRIALS, 0.1, {"recall": [0.95, 0.85], "qps": 75}, defaults=2)
    assert [(plane.fixed, plane.floor) for plane in planes] == [
        ("recall", 0.85),
        ("recall", 0.95),
        ("robustness-0.1", pytest.approx(0.9333, abs=1e-4)),
        ("robustness-0.1", 1.0),
        ("qps", 75),
    ]
    assert [len(plane.points) for plane in planes] == [2, 1, 2, 2, 1]
