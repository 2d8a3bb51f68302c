"""The rules of a gate: what they mean in words, and everything wrong with them at once."""

from typing import Any

import pytest

from assay.core.errors import ConfigurationError, OldNameWarning
from assay.decisions.rules import Rules, read_rules
from assay.measures import parse

GOOD = {"measure": "nDCG@10", "at_least": 0.4}


def problems(*rules: Any, **settings: Any) -> dict[str, str]:
    """What is wrong with these rules."""
    with pytest.raises(ConfigurationError) as caught:
        read_rules({"rules": list(rules), **settings})
    return caught.value.problems


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (GOOD, "nDCG@10 at least 0.4"),
        ({"measure": "ZeroHit@10", "at_most": 0.05}, "ZeroHit@10 at most 0.05"),
        ({"measure": "R@100", "not_worse_than": 0.02}, "R@100 not worse by more than 0.02"),
        ({"measure": "nDCG@10", "better_by": 0.01}, "nDCG@10 better by 0.01"),
        ({"measure": "Robustness-0.3@10", "at_least": 0.9}, "Robustness(delta=0.3)@10 at least 0.9"),
        ({"latency": "p99.9", "at_most": 250}, "latency p99.9 in ms at most 250"),
        ({"slo_ms": 200, "at_least": 0.99}, "share within 200 ms at least 0.99"),
        ({"figure": "cost per 1k", "at_most": 0.5}, "cost per 1k at most 0.5"),
    ],
)
def test_a_rule_is_read_and_named_in_words(rule: dict[str, Any], name: str) -> None:
    assert read_rules({"rules": [rule]}).rules[0].name == name


def test_the_old_name_of_a_condition_is_read_with_a_warning() -> None:
    rule = {"measure": "R@10", "no_worse_than": 0.02}
    with pytest.warns(
        OldNameWarning, match=r"gate.rules\[1\].no_worse_than is now not_worse_than: rename it"
    ):
        rules = read_rules({"rules": [rule]}).rules
    assert (rules[0].condition, rules[0].threshold) == ("not_worse_than", 0.02)


def test_the_old_and_the_new_name_of_a_condition_do_not_go_together() -> None:
    rule = {"measure": "R@10", "no_worse_than": 0.02, "not_worse_than": 0.01}
    assert problems(rule) == {
        "gate.rules[1].no_worse_than": "there is no such setting; did you mean not_worse_than?"
    }


def test_what_is_not_said_has_a_default() -> None:
    result = read_rules({"rules": [GOOD]})
    (rule,) = result.rules
    assert (rule.by, rule.min_n, rule.priority, rule.compares) == ((), 0, 1, False)
    assert result == Rules((rule,), 0.95, "holm", 0, "hold", 0)


def test_the_measures_and_columns_of_all_rules_are_gathered_once() -> None:
    rules = [GOOD, {"measure": "R@10", "better_by": 0, "by": "x"}, {**GOOD, "by": ["y", "x"]}]
    result = read_rules({"rules": rules})
    assert result.measures == (parse("nDCG@10"), parse("R@10"))
    assert result.by == ("x", "y")
    assert result.needs_baseline


def test_every_problem_of_every_rule_is_said_at_once_by_field() -> None:
    result = problems(
        {"measure": "nDGC@10", "at_lest": 0.4},
        {"measure": "R@10", "latency": "p95", "at_most": 1},
        {"latency": "95", "at_most": "fast", "priority": 0},
        7,
        level=95,
        sed=1,
    )
    assert "did you mean nDCG?" in result.pop("gate.rules[1].measure")
    assert result == {
        "gate.rules[4]": "expected a table, found 7",
        "gate.rules[1]": "expected exactly one of at_least, at_most, not_worse_than, better_by "
        "(what must hold), found none",
        "gate.rules[1].at_lest": "there is no such setting; did you mean at_least?",
        "gate.rules[2]": "expected exactly one of measure, latency, slo_ms, figure "
        "(what the rule is about), found measure, latency",
        "gate.rules[3].latency": "expected a percentile such as p95, found '95'",
        "gate.rules[3].at_most": "expected a number, found 'fast'",
        "gate.rules[3].priority": "expected a whole number of at least 1, found 0",
        "gate.level": "expected a number between 0 and 1, found 95",
        "gate.sed": "there is no such setting; did you mean seed?",
    }


def test_the_message_lists_every_problem_on_a_line_of_its_own() -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_rules({"rules": [{"measure": "R@10", "at_least": "x"}], "level": 2})
    assert str(caught.value).splitlines() == [
        "2 settings are wrong",
        "  gate.rules[1].at_least: expected a number between 0 and 1, found 'x'",
        "  gate.level: expected a number between 0 and 1, found 2",
    ]


def test_an_empty_rule_lacks_both_its_subject_and_its_condition() -> None:
    text = problems({})["gate.rules[1]"]
    assert "what the rule is about" in text
    assert "what must hold" in text


@pytest.mark.parametrize("settings", [{}, {"rules": []}])
def test_a_gate_without_rules_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="expected at least one rule"):
        read_rules(settings)


@pytest.mark.parametrize("rules", [{"measure": "R@10"}, "R@10"])
def test_rules_that_are_no_list_are_refused(rules: Any) -> None:
    with pytest.raises(ConfigurationError, match="expected a list of tables"):
        read_rules({"rules": rules})


@pytest.mark.parametrize("measure", [5, ["nDCG@10"], "nDCG@", "Robustness@10", ""])
def test_a_measure_that_cannot_be_read_is_a_problem_of_its_field(measure: Any) -> None:
    assert list(problems({"measure": measure, "at_least": 0.4})) == ["gate.rules[1].measure"]


@pytest.mark.parametrize(
    "subject", [{"latency": "p95"}, {"slo_ms": 200}, {"figure": "cost"}], ids=lambda s: next(iter(s))
)
def test_only_measures_are_compared_query_by_query_and_sliced(subject: dict[str, Any]) -> None:
    result = problems({**subject, "not_worse_than": 0.1, "by": "category"})
    assert "use at_least or at_most" in result["gate.rules[1].not_worse_than"]
    assert "slices are of the queries' measures" in result["gate.rules[1].by"]


def test_margins_are_not_negative() -> None:
    assert problems({"measure": "R@10", "not_worse_than": -0.01}) == {
        "gate.rules[1].not_worse_than": "expected 0 or more, below 1 (two points are 0.02), found -0.01"
    }


@pytest.mark.parametrize("subject", [{"slo_ms": 200}, {"measure": "Robustness-0.3@10"}, {"measure": "R@10"}])
def test_a_share_is_not_asked_for_in_percent(subject: dict[str, Any]) -> None:
    result = problems({**subject, "at_least": 95})
    assert result == {"gate.rules[1].at_least": "expected a number between 0 and 1, found 95"}


@pytest.mark.parametrize("condition", ["not_worse_than", "better_by"])
def test_a_margin_is_not_given_in_points(condition: str) -> None:
    text = problems({"measure": "nDCG@10", condition: 2})[f"gate.rules[1].{condition}"]
    assert text == "expected 0 or more, below 1 (two points are 0.02), found 2"
    assert read_rules({"rules": [{"measure": "DCG@10", condition: 2}]}).rules[0].threshold == 2


@pytest.mark.parametrize("latency", ["95", "p0", "p100", "p", "p9x", "P95", 95, "p-5"])
def test_a_percentile_is_written_as_p95(latency: Any) -> None:
    result = problems({"latency": latency, "at_most": 200})
    assert result["gate.rules[1].latency"].startswith("expected a percentile such as p95")


@pytest.mark.parametrize("name", ["correction", "undecided"])
def test_a_choice_names_what_there_is(name: str) -> None:
    assert problems(GOOD, **{name: "other"})[f"gate.{name}"].startswith("expected one of ")
