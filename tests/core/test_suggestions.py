"""Suggestions for misspelt names."""

from assay.core.suggestions import did_you_mean


def test_the_closest_choice_is_suggested() -> None:
    assert did_you_mean("levle", ["name", "level", "label"]) == "did you mean level?"


def test_nothing_is_suggested_if_no_choice_is_close() -> None:
    assert did_you_mean("colour", ["name", "level"]) == ""
    assert did_you_mean("colour", []) == ""
