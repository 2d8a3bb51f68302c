"""Settings read field by field: everything wrong with them is said at once, by field."""

from typing import Any

import pytest

from assay.core.settings import Fields, is_number


def asked(given: dict[str, Any]) -> Fields:
    """A few fields of every kind, asked for."""
    fields = Fields(given, "gate")
    fields.text("name")
    fields.texts("by", "a column or a list of columns")
    fields.number("level", "a number between 0 and 1", lambda v: 0 < v < 1, 0.95)
    fields.count("min_n", 0)
    fields.one_of("undecided", ("hold", "pass"), "hold")
    fields.done()
    return fields


def test_good_settings_have_no_problem() -> None:
    given = {"name": "a", "by": ["x", "y"], "level": 0.9, "min_n": 3, "undecided": "pass"}
    assert asked(given).problems == {}


def test_every_problem_is_said_under_the_field_it_is_in() -> None:
    given = {"name": 5, "by": [1], "level": 95, "min_n": -1, "undecided": "maybe", "colour": 1}
    assert asked(given).problems == {
        "gate.name": "expected text, found 5",
        "gate.by": "expected a column or a list of columns, found [1]",
        "gate.level": "expected a number between 0 and 1, found 95",
        "gate.min_n": "expected a whole number of at least 0, found -1",
        "gate.undecided": "expected one of hold, pass, found 'maybe'",
        "gate.colour": "there is no such setting; known: by, level, min_n, name, undecided",
    }


def test_a_misspelt_field_is_told_its_likely_spelling() -> None:
    assert asked({"levle": 0.9}).problems == {"gate.levle": "there is no such setting; did you mean level?"}


def test_what_is_wrong_or_not_given_takes_its_default() -> None:
    fields = Fields({"level": "high"}, "")
    assert fields.number("level", "a number", lambda v: True, 0.95) == 0.95
    assert fields.count("min_n", 7) == 7
    assert fields.text("name") is None
    assert list(fields.problems) == ["level"]


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), "1", None, [1]])
def test_what_is_no_number_is_refused(value: object) -> None:
    fields = Fields({"x": value}, "")
    assert fields.number("x", "a number", lambda v: True, 0.5) == 0.5
    assert fields.problems["x"].startswith("expected a number, found ")
    assert not is_number(value)


@pytest.mark.parametrize("value", [True, 2.0, "3"])
def test_what_is_no_whole_number_is_refused(value: object) -> None:
    fields = Fields({"x": value}, "")
    assert fields.count("x", 1) == 1
    assert "expected a whole number of at least 0" in fields.problems["x"]


def test_a_text_may_not_be_empty() -> None:
    fields = Fields({"run": ""}, "candidate")
    assert fields.text("run", "a path") is None
    assert fields.problems == {"candidate.run": "expected a path, found ''"}


def test_one_text_is_a_list_of_one() -> None:
    assert Fields({"by": "category"}, "").texts("by", "a column") == ["category"]


def test_tables_inside_a_table_are_named_by_their_path() -> None:
    fields = Fields({"gate": {"rules": [{"x": 1}, 5, {"y": "no"}]}}, "")
    for rule in fields.inner("gate").each("rules"):
        rule.count("y", 0)
        rule.done()
    assert fields.problems == {
        "gate.rules[2]": "expected a table, found 5",
        "gate.rules[1].x": "there is no such setting; known: y",
        "gate.rules[3].y": "expected a whole number of at least 0, found 'no'",
    }


def test_a_table_or_a_list_that_is_something_else_is_refused() -> None:
    fields = Fields({"data": "qrels.txt", "rules": {"measure": "R@10"}}, "")
    assert fields.inner("data").given == {}
    assert fields.each("rules") == []
    assert fields.problems["data"] == "expected a table, found 'qrels.txt'"
    assert fields.problems["rules"].startswith("expected a list of tables, found ")


@pytest.mark.parametrize(("given", "found"), [({}, "found none"), ({"a": 1, "b": 2}, "found a, b")])
def test_exactly_one_of_several_fields_must_be_given(given: dict[str, int], found: str) -> None:
    fields = Fields(given, "rule")
    assert fields.exactly_one(("a", "b", "c"), "what it is about") is None
    assert found in fields.problems["rule"]


def test_two_choices_that_both_lack_are_both_said() -> None:
    fields = Fields({}, "rule")
    fields.exactly_one(("a", "b"), "what it is about")
    fields.exactly_one(("c", "d"), "what must hold")
    assert fields.problems["rule"] == (
        "expected exactly one of a, b (what it is about), found none; "
        "expected exactly one of c, d (what must hold), found none"
    )
