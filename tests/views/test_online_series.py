"""Online metrics and differences over time, read from saved results."""

from datetime import UTC, datetime
from typing import Any

from assay.core.online_records import ONLINE_METRICS, OnlineRecord
from assay.views.online_series import (
    ALL,
    find_break,
    metric_names,
    read_arm_series,
    read_metric_series,
    read_slices,
    read_test_series,
)


def estimate(value: float | None, n: int = 10) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "n": n}


def part(column: str, value: str | None, ctr: float) -> dict[str, Any]:
    return {"column": column, "value": value, "metrics": {"ctr": estimate(ctr)}}


def log(day: int, ctr: float | None, *by: dict[str, Any], **fields: Any) -> OnlineRecord:
    """Metrics of a log that were saved on a day."""
    body = {"metrics": {"ctr": estimate(ctr)}, "by": by, **fields}
    return OnlineRecord("shop", ONLINE_METRICS, body, at=datetime(2026, 1, day, tzinfo=UTC), id=f"r{day}")


def test_without_days_there_is_a_point_for_each_record() -> None:
    series = read_metric_series([log(1, 0.1), log(2, None), log(3, 0.3)], "ctr")
    assert series.kind == "records"
    assert [point.value for point in series.lines[ALL]] == [0.1, None, 0.3]


def test_days_of_several_records_are_joined_and_the_newest_record_wins() -> None:
    first = log(1, 0.0, part("day", "2026-01-01", 0.1), part("day", "2026-01-02", 0.2))
    second = log(
        3, 0.0, part("day", "2026-01-02", 0.25), part("day", "2026-01-03", 0.3), part("day", None, 9.0)
    )
    series = read_metric_series([first, second], "ctr")
    assert series.kind == "days"
    assert [(p.label[-2:], p.value) for p in series.lines[ALL]] == [("01", 0.1), ("02", 0.25), ("03", 0.3)]


def test_variants_have_a_line_each_if_several_records_have_them() -> None:
    records = [
        log(day, 0.5, part("variant", "a", 0.1 * day), part("variant", "b", 0.2 * day)) for day in (1, 2)
    ]
    series = read_metric_series(records, "ctr", by_variant=True)
    assert {name: [p.value for p in line] for name, line in series.lines.items()} == {
        "a": [0.1, 0.2],
        "b": [0.2, 0.4],
    }
    assert list(read_metric_series(records, "ctr").lines) == [ALL]
    assert list(read_metric_series(records[:1], "ctr", by_variant=True).lines) == [ALL]


def test_a_line_breaks_where_the_definition_the_unit_or_the_cut_changed() -> None:
    before = {"unit": "client_id", "definitions": {"ctr": "x"}, "caps": {}}
    assert find_break(before, before, "ctr") == ""
    assert find_break(before, before | {"unit": "session_id"}, "ctr").startswith("the unit changed")
    assert find_break(before, before | {"definitions": {"ctr": "y"}}, "ctr") == "the definition changed"
    assert find_break(before, before | {"caps": {"ctr": 9.0}}, "ctr") == "values were cut in one of them"
    assert find_break({}, before, "ctr") == ""  # an older record does not say
    records = [log(1, 0.1, unit="client_id"), log(2, 0.1, unit="session_id"), log(3, 0.1, unit="session_id")]
    breaks = [bool(point.break_reason) for point in read_metric_series(records, "ctr").lines[ALL]]
    assert breaks == [False, True, False]


def test_slices_are_those_of_the_record_without_its_days_and_variants_come_first() -> None:
    record = log(1, 0.5, part("day", "2026-01-01", 0.1), part("device", None, 0.2), part("variant", "a", 0.3))
    found = [(column, value, point.value) for column, value, point in read_slices(record, "ctr")]
    assert found == [("variant", "a", 0.3), ("device", "(none)", 0.2)]


def test_metrics_of_older_records_come_last() -> None:
    older = OnlineRecord("shop", ONLINE_METRICS, {"metrics": {"dwell": estimate(1.0), "ctr": estimate(0.1)}})
    assert metric_names([older, log(2, 0.1)]) == ["ctr", "dwell"]


def row(day: str, relative: float, variant: str = "b") -> dict[str, Any]:
    arms = {"control": estimate(0.4), "treatment": estimate(0.4 + relative)}
    return {"metric": "ctr", "variant": variant, "value": day, "relative": estimate(relative), **arms}


def test_a_test_over_time_is_as_it_grew_else_by_look_else_by_day() -> None:
    grown, days = [row("d1", 0.1), row("d2", 0.2)], [row("d1", 0.3), row("d2", 0.4)]
    look = {"metrics": [row("", 0.5)], "days": days}
    assert read_test_series([log(1, 0.0, **look, over_time=grown)], "ctr").kind == "growing"  # type: ignore[union-attr]
    looks = read_test_series([log(1, 0.0, **look), log(2, 0.0, **look)], "ctr")
    assert looks is not None
    assert [point.link for point in looks.lines["b"]] == ["/online/tests/r1", "/online/tests/r2"]
    assert read_test_series([log(1, 0.0, **look)], "ctr").kind == "days"  # type: ignore[union-attr]
    assert read_test_series([log(1, 0.0, metrics=[row("", 0.5)])], "ctr") is None


def test_each_variant_of_a_test_has_its_own_values_by_day() -> None:
    days = [row("d1", 0.1), row("d1", 0.2, "c"), row("d2", 0.1)]
    lines = read_arm_series({"control": "a", "days": days}, "ctr")
    assert {name: [round(p.value or 0, 3) for p in line] for name, line in lines.items()} == {
        "a": [0.4, 0.4],
        "b": [0.5, 0.5],
        "c": [0.6],
    }
