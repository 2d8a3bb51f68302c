"""Differences as they grew: of all units until each day."""

from typing import Any

from assay.online.ab.analysis import ABTest, analyse_sums
from assay.online.ab.cells import DAY, STRATUM, Cell, TestSums
from assay.online.ab.design import ABDesign
from assay.stats.moments import Moments

WATCHED, FIXED = ABDesign(control="a", is_watched=True), ABDesign(control="a", planned_days=9)


def cell(variant: str, day: int, stratum: str, n: int, mean: float) -> Cell:
    moments = Moments(n=n, sum=mean * n, sum_squares=mean * n)  # clicks of 0 or 1
    return Cell(variant, (f"2026-01-{day:02d}", stratum), n, {"clicks": moments})


def analyse(design: ABDesign, days: int = 3, columns: tuple[str, str] = (DAY, STRATUM)) -> ABTest:
    """A test in which b has more clicks, in two strata that click more or less."""
    cells = [
        cell(variant, day, stratum, 200, base + 0.05 * (variant == "b") + 0.01 * day)
        for day in range(1, days + 1)
        for stratum, base in (("x", 0.1), ("y", 0.4))
        for variant in "ab"
    ]
    return analyse_sums(TestSums(cells, columns), design)


def values(row: dict[str, Any], *keys: str) -> list[Any]:
    return [row[key] for key in keys]


def test_the_last_day_has_the_difference_of_the_whole_test() -> None:
    body = analyse(WATCHED).to_dict()
    keys = ("metric", "variant", "control", "treatment", "difference", "relative", "p", "method")
    assert values(body["over_time"][-1], *keys) == values(body["metrics"][0], *keys)


def test_each_day_has_the_units_that_came_until_it_as_a_test_of_so_many_days() -> None:
    rows = analyse(WATCHED).to_dict()["over_time"]
    assert [row["value"] for row in rows] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    assert [row["difference"]["n"] for row in rows] == [800, 1600, 2400]
    for days, row in enumerate(rows, 1):
        assert row["difference"] == analyse(WATCHED, days).to_dict()["metrics"][0]["difference"]


def test_intervals_over_time_are_always_valid_whatever_the_plan_is() -> None:
    test = analyse(FIXED)
    assert all("always valid" in part.result.absolute.method for part in test.over_time)
    assert "always valid" not in test.metrics[0].absolute.method


def test_without_days_there_is_nothing_over_time() -> None:
    assert analyse(WATCHED, 1, ("device", STRATUM)).over_time == []
