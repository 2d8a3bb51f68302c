"""The geometry of online charts."""

from assay.views.online_series import TimePoint
from assay.web.online_charts import scatter_chart, share_axis, time_chart


def line(*points: tuple[str, float | None]) -> list[TimePoint]:
    return [TimePoint(label, value) for label, value in points]


def test_days_lie_by_the_calendar_and_a_missing_day_breaks_the_line() -> None:
    chart = time_chart({"all": line(("2026-01-01", 1.0), ("2026-01-02", 2.0), ("2026-01-05", 3.0))})
    (series,) = chart["series"]
    assert [mark["x"] for mark in series["marks"]] == [2.0, 26.0, 98.0]
    assert len(series["lines"]) == 1
    assert series["lines"][0].startswith("2.0,")
    assert "98.0," not in series["lines"][0]


def test_times_of_records_lie_at_equal_distances() -> None:
    points = line(("2026-01-01T10:00", 1.0), ("2026-01-01T10:01", 2.0), ("2026-03-01T10:00", 3.0))
    (series,) = time_chart({"all": points})["series"]
    assert [mark["x"] for mark in series["marks"]] == [2.0, 50.0, 98.0]
    assert len(series["lines"][0].split()) == 3


def test_a_value_that_is_undefined_has_no_mark_and_breaks_the_line() -> None:
    days = [
        ("2026-01-01", 1.0),
        ("2026-01-02", 2.0),
        ("2026-01-03", None),
        ("2026-01-04", 3.0),
        ("2026-01-05", 2.0),
    ]
    (series,) = time_chart({"all": line(*days)})["series"]
    assert [mark["y"] is None for mark in series["marks"]] == [False, False, True, False, False]
    assert len(series["lines"]) == 2


def test_changed_data_break_the_line_and_are_marked() -> None:
    points = [*line(("a", 1.0), ("b", 2.0)), TimePoint("c", 3.0, break_reason="changed"), TimePoint("d", 3.0)]
    chart = time_chart({"all": points})
    assert [mark["point"].label for mark in chart["breaks"]] == ["c"]
    assert len(chart["series"][0]["lines"]) == 2


def test_lines_of_several_variants_share_days_and_axis() -> None:
    chart = time_chart(
        {"a": line(("2026-01-01", 0.0), ("2026-01-03", 1.0)), "b": line(("2026-01-02", 2.0))}, with_zero=True
    )
    a, b = chart["series"]
    assert [mark["x"] for mark in (*a["marks"], *b["marks"])] == [2.0, 98.0, 50.0]
    assert a["marks"][0]["y"] > a["marks"][1]["y"] > b["marks"][0]["y"]  # from the top
    assert chart["zero"] == a["marks"][0]["y"]


def test_a_chart_of_one_value_and_one_of_none_can_be_drawn() -> None:
    (series,) = time_chart({"all": line(("2026-01-01", 0.5))})["series"]
    assert (series["marks"][0]["x"], series["marks"][0]["y"]) == (50.0, 50.0)
    assert time_chart({"all": line(("2026-01-01", None))})["series"][0]["lines"] == []


def test_one_wide_interval_does_not_flatten_the_axis_of_the_others() -> None:
    narrow = {"value": 0.01, "low": -0.01, "high": 0.02}
    assert share_axis([narrow] * 4 + [{"value": 3.0, "low": -9.0, "high": 12.0}]) == (-0.1, 0.1)
    assert share_axis([{"value": 0.009}, {"value": 0.05, "low": 0.026, "high": 0.076}]) == (-0.1, 0.1)
    assert share_axis([{"value": 0.0}] * 2 + [{"value": 0.3}]) == (-0.5, 0.5)
    assert share_axis([]) == (-0.01, 0.01)


def test_the_line_of_a_scatter_is_cut_at_the_ends_of_its_box() -> None:
    rows = [{"offline": (x, None, None), "online": (2 * x, None, None)} for x in (-0.1, 0.0, 0.1)]
    chart = scatter_chart(rows, (20.0, 0.0))
    ends = [tuple(map(float, end.split(","))) for end in chart["line"].split()]
    assert all(0 <= x <= 100 and 0 <= y <= 100 for x, y in ends)
    assert {y for _, y in ends} == {0.0, 100.0}
    assert scatter_chart(rows, (0.0, 9.0))["line"] == ""
