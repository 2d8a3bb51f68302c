"""The table of sums."""

import json
from typing import Any

import pytest

from assay.core.errors import FormatError
from assay.online.ab.cells import plain_sums
from assay.online.ab.sums_file import parse_sums

RATIO = {"sum": 30, "sum_squares": 50, "denominator_sum": 90, "denominator_sum_squares": 220, "cross": 80}


def variant(name: str = "a", n: Any = 50, **metrics: Any) -> dict[str, Any]:
    return {"name": name, "n": n, "metrics": metrics or {"ctr": {"sum": 5}}}


def test_sums_are_read_and_written_alike() -> None:
    body = {"variants": [variant(ctr=RATIO), variant("b", ctr=RATIO)]}
    sums = parse_sums(json.dumps(body))
    assert sums.arms()["a"].metrics["ctr"].cross == 80
    assert parse_sums(json.dumps(plain_sums(sums))).arms() == sums.arms()


def test_days_and_strata_divide_the_sums() -> None:
    days = [{"day": day, "variants": [variant(), variant("b")]} for day in ("2026-01-01", "2026-01-02")]
    sums = parse_sums(json.dumps({"days": days}))
    assert (sums.columns, sums.arms()["a"].n) == (("day",), 100)
    strata = [{"stratum": name, "variants": [variant()]} for name in "xy"]
    assert list(parse_sums(json.dumps({"strata": strata})).split("stratum")) == ["x", "y"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "expected a table of sums in JSON"),
        ("[]", "found list"),
        ("{}", 'expected the key "variants"'),
        ({"variants": [{"name": "a"}]}, 'expected "name", "n" and "metrics"'),
        ({"variants": [variant(), variant()]}, "the variant 'a' appears twice"),
        ({"variants": [variant(n=-1)]}, "expected a count of units"),
        ({"variants": [variant(n="many")]}, "expected a count of units"),
        ({"variants": [variant(n=2.5)]}, "expected a count of units"),
        ({"variants": [variant(ctr={"sum": "x"})]}, "a, ctr: expected a number as sum, found 'x'"),
        ({"variants": [variant(ctr={"sum": 1, "sum_square": 1})]}, "did you mean sum_squares"),
        ({"variants": [variant(ctr={"sum": 60})]}, "expected sum_squares, unless all values are 0 or 1"),
        ({"variants": [variant(ctr={"sum": 60, "sum_squares": 3})]}, "sum_squares of at least sum"),
        ({"variants": [variant(ctr={**RATIO, "cross": None})]}, "expected cross, since"),
        ('{"variants": [{"name": "a", "n": 5, "metrics": {"x": {"sum": NaN}}}]}', "found NaN"),
    ],
)
def test_what_is_no_table_of_sums_is_refused_with_its_place(body: Any, message: str) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(FormatError, match=message) as raised:
        parse_sums(text, "sums.json")
    assert str(raised.value).startswith("sums.json:")


def test_the_whole_must_be_the_sum_of_its_days() -> None:
    days = [{"day": "1", "variants": [variant()]}]
    with pytest.raises(FormatError, match="51 units in variants, but 50 in days"):
        parse_sums(json.dumps({"variants": [variant(n=51)], "days": days}))
