"""Settings are read field by field, and all problems are reported at once."""

from typing import Any

import pytest

from assay.core.settings import SettingsReader, is_number


def read_settings(settings: dict[str, Any]) -> SettingsReader:
    """Read a few fields of every kind."""
    fields = SettingsReader(settings, "gate")
    fields.text("name")
    fields.texts("by", "a column or a list of columns")
    fields.number("level", "a number between 0 and 1", lambda v: 0 < v < 1, 0.95)
    fields.count("min_n", 0)
    fields.one_of("undecided", ("hold", "pass"), "hold")
    fields.refuse_unknown()
    return fields


def test_good_settings_have_no_problem() -> None:
    settings = {"name": "a", "by": ["x", "y"], "level": 0.9, "min_n": 3, "undecided": "pass"}
    assert read_settings(settings).problems == {}


def test_every_problem_is_reported_under_its_field() -> None:
    settings = {"name": 5, "by": [1], "level": 95, "min_n": -1, "undecided": "maybe", "colour": 1}
    assert read_settings(settings).problems == {
        "gate.name": "expected text, found 5",
        "gate.by": "expected a column or a list of columns, found [1]",
        "gate.level": "expected a number between 0 and 1, found 95",
        "gate.min_n": "expected a whole number of at least 0, found -1",
        "gate.undecided": "expected one of hold, pass, found 'maybe'",
        "gate.colour": "there is no such setting; known: by, level, min_n, name, undecided",
    }


def test_the_likely_spelling_of_a_misspelt_field_is_suggested() -> None:
    assert read_settings({"levle": 0.9}).problems == {
        "gate.levle": "there is no such setting; did you mean level?"
    }


def test_a_wrong_or_missing_field_has_its_default() -> None:
    fields = SettingsReader({"level": "high"}, "")
    assert fields.number("level", "a number", lambda v: True, 0.95) == 0.95
    assert fields.count("min_n", 7) == 7
    assert fields.text("name") is None
    assert list(fields.problems) == ["level"]


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), "1", None, [1]])
def test_a_value_that_is_not_a_number_is_refused(value: object) -> None:
    fields = SettingsReader({"x": value}, "")
    assert fields.number("x", "a number", lambda v: True, 0.5) == 0.5
    assert fields.problems["x"].startswith("expected a number, found ")
    assert not is_number(value)


@pytest.mark.parametrize("value", [True, 2.0, "3"])
def test_a_value_that_is_not_a_whole_number_is_refused(value: object) -> None:
    fields = SettingsReader({"x": value}, "")
    assert fields.count("x", 1) == 1
    assert "expected a whole number of at least 0" in fields.problems["x"]


def test_a_text_may_not_be_empty() -> None:
    fields = SettingsReader({"run": ""}, "candidate")
    assert fields.text("run", "a path") is None
    assert fields.problems == {"candidate.run": "expected a path, found ''"}


def test_one_text_is_a_list_of_one() -> None:
    assert SettingsReader({"by": "category"}, "").texts("by", "a column") == ["category"]


def test_tables_inside_a_table_are_named_by_their_path() -> None:
    fields = SettingsReader({"gate": {"rules": [{"x": 1}, 5, {"y": "no"}]}}, "")
    for rule in fields.table("gate").tables("rules"):
        rule.count("y", 0)
        rule.refuse_unknown()
    assert fields.problems == {
        "gate.rules[2]": "expected a table, found 5",
        "gate.rules[1].x": "there is no such setting; known: y",
        "gate.rules[3].y": "expected a whole number of at least 0, found 'no'",
    }


def test_a_table_or_a_list_that_is_something_else_is_refused() -> None:
    fields = SettingsReader({"data": "qrels.txt", "rules": {"measure": "R@10"}}, "")
    assert fields.table("data").settings == {}
    assert fields.tables("rules") == []
    assert fields.problems["data"] == "expected a table, found 'qrels.txt'"
    assert fields.problems["rules"].startswith("expected a list of tables, found ")


@pytest.mark.parametrize(("settings", "listing"), [({}, "found none"), ({"a": 1, "b": 2}, "found a, b")])
def test_exactly_one_of_several_fields_must_be_given(settings: dict[str, int], listing: str) -> None:
    fields = SettingsReader(settings, "rule")
    assert fields.exactly_one(("a", "b", "c"), "what it is about") is None
    assert listing in fields.problems["rule"]


def test_two_missing_choices_are_both_reported() -> None:
    fields = SettingsReader({}, "rule")
    fields.exactly_one(("a", "b"), "what it is about")
    fields.exactly_one(("c", "d"), "what must hold")
    assert fields.problems["rule"] == (
        "expected exactly one of a, b (what it is about), found none; "
        "expected exactly one of c, d (what must hold), found none"
    )
