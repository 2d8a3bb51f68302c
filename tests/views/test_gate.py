"""A verdict as a table, JSON, CSV, Markdown, HTML and JUnit XML."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from assay.evaluation.compare import ComparisonOptions, compare_evaluations
from assay.evaluation.gate import GateVerdict, gate
from assay.views.checks import describe_check, describe_verdict
from assay.views.gate import FORMATS, render_verdict, verdict_dict
from tests.evaluation.gates import QUARTERS, gate_values, moved_scores

N = 40
QRELS = {f"q{i}": {"a": 1} for i in range(N)}
FIRST = {f"q{i}": ["a"] for i in range(N)}
SECOND = {f"q{i}": ["x", "a"] for i in range(N)}
MIXED = {f"q{i}": ["a"] if i % 2 else ["x", "a"] for i in range(N)}
QUERIES = {"query_id": list(QRELS), "team": ["a|b <c>", *["d"] * (N - 1)]}
RULES = [
    {"measure": "RR@10", "at_least": 0.9, "by": "team", "min_n": 10},
    {"latency": "p95", "at_most": 200},
    {"figure": "cost", "at_most": 1},
    {"measure": "RR@10", "not_worse_than": 0.02, "priority": 2},
]


def held(candidate: Any, rules: list[dict[str, Any]] = RULES, **settings: Any) -> GateVerdict:
    given = {"rules": rules, **settings}
    return gate(given, QRELS, candidate, SECOND, QUERIES, latencies=[100.0] * 200, figures={"cost": 0.5})


PASSED, FAILED = held(FIRST), held(SECOND)
UNDECIDED = held(MIXED, [{"measure": "RR@10", "at_least": 0.75}])
LET_THROUGH = held(MIXED, [{"measure": "RR@10", "at_least": 0.75}], undecided="pass")
REFUSED = held(FIRST, min_queries=1000)
OUTWEIGHED = held(
    FIRST, [{"measure": "RR@10", "better_by": 0.1}, {"figure": "cost", "at_most": 0.1, "priority": 2}]
)
VERDICTS = {
    "passed": PASSED,
    "failed": FAILED,
    "undecided": UNDECIDED,
    "let through": LET_THROUGH,
    "refused": REFUSED,
    "outweighed": OUTWEIGHED,
}
every = pytest.mark.parametrize("made", VERDICTS.values(), ids=VERDICTS)


def test_the_verdicts_are_what_their_names_say() -> None:
    assert [made.status for made in VERDICTS.values()] == [
        *("passed", "failed", "undecided", "passed", "undecided", "passed")
    ]


def test_the_table_begins_with_the_verdict_and_ends_with_what_to_do() -> None:
    shown = render_verdict(FAILED, "table")
    assert shown.startswith("failed: RR@10 at least 0.9 (all): 0.5000 (0.4557 … 0.5443), n 40: below it")
    assert "✗ FAIL  RR@10 at least 0.9" in shown
    assert "– skip  RR@10 at least 0.9" in shown
    assert "candidate: 40 judged queries" in shown
    assert "what to do\n- RR@10 at least 0.9 (all): it lies 0.4 on the wrong side of 0.9" in shown


def test_priorities_are_shown_where_there_are_several() -> None:
    assert "priority" in render_verdict(FAILED, "md")
    assert "priority" not in render_verdict(UNDECIDED, "md")


def test_the_keys_of_the_json_are_stable() -> None:
    made = verdict_dict(FAILED)
    assert list(made) == [
        *("status", "exit_code", "words", "queries", "level", "checks", "outweighed", "readings"),
        *("configuration", "counts"),
    ]
    assert [list(check) for check in made["checks"]] == [
        [
            *("status", "rule", "subject", "condition", "threshold", "slice", "priority"),
            *("value", "low", "high", "n", "holds_p", "fails_p", "corrected_p", "text", "advice"),
        ]
    ] * len(made["checks"])


def test_the_guide_shows_the_keys_of_the_json() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    shown = json.loads(guide.split("```json\n")[1].split("```")[0])
    made = verdict_dict(FAILED)
    assert list(shown) == list(made)
    assert list(shown["checks"][0]) == list(made["checks"][0])


def test_the_json_says_what_the_verdict_says() -> None:
    made = verdict_dict(FAILED)
    assert (made["status"], made["exit_code"], made["queries"], made["level"]) == ("failed", 1, N, 0.95)
    assert made["words"] == describe_verdict(FAILED)
    assert list(made["counts"]) == ["baseline", "candidate"]
    assert [check["status"] for check in made["checks"]] == [check.status for check in FAILED.checks]
    assert verdict_dict(OUTWEIGHED)["outweighed"] == ["cost at most 0.1 (all)"]


@every
def test_the_json_has_no_number_that_json_lacks(made: GateVerdict) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(json.dumps(verdict_dict(made)), parse_constant=refuse)


def test_what_is_undefined_is_null() -> None:
    few = {f"q{i}": {"a": 1} for i in range(5)}
    rules = [{"latency": "p95", "at_most": 200}, {"figure": "cost", "at_most": 1}]
    made = gate({"rules": rules}, few, FIRST, latencies=[100.0] * 5, figures={"cost": 0.5})
    percentile, cost = verdict_dict(made)["checks"]
    assert percentile["high"] is None
    assert [cost[name] for name in ("low", "high", "holds_p", "fails_p", "corrected_p")] == [None] * 5


@every
def test_junit_is_red_where_the_verdict_is_and_only_there(made: GateVerdict) -> None:
    suite = Xml.fromstring(render_verdict(made, "junit"))
    cases = suite.findall("testcase")
    counts = {name: len(suite.findall(f"testcase/{name}")) for name in ("failure", "error", "skipped")}
    assert bool(counts["failure"] + counts["error"]) == (made.status != "passed")
    assert suite.attrib == {
        "name": "assay gate",
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
    assert len(cases) == 1 + len(made.checks)


def test_junit_tells_what_failed_from_what_is_open_and_what_was_left_out() -> None:
    failed = Xml.fromstring(render_verdict(FAILED, "junit"))
    assert failed.find("testcase[@name='the gate']/failure").get("message") == describe_verdict(FAILED)  # type: ignore[union-attr]
    assert failed.find("testcase[@name='RR@10 at least 0.9 · team: a|b <c>']/skipped") is not None
    undecided = Xml.fromstring(render_verdict(UNDECIDED, "junit"))
    assert [case.find("error") is not None for case in undecided] == [True, True]


def test_junit_parses_whatever_a_slice_is_called() -> None:
    queries = {"query_id": list(QRELS), "team": ["\x00 \x1b & \uffff ]]>"] * N}
    rules = {"rules": [{"measure": "RR@10", "at_least": 0.9, "by": "team"}]}
    suite = Xml.fromstring(render_verdict(gate(rules, QRELS, FIRST, queries=queries), "junit"))
    assert "team: \ufffd \ufffd & \ufffd ]]>" in str(suite.findall("testcase")[2].get("name"))


def test_csv_has_a_row_for_every_check() -> None:
    rows = list(csv.DictReader(io.StringIO(render_verdict(FAILED, "csv"))))
    assert [row["status"] for row in rows] == [check.status for check in FAILED.checks]
    assert list(rows[0]) == [
        *("status", "rule", "slice", "priority", "value", "low", "high", "n", "threshold"),
        *("holds_p", "fails_p", "corrected_p", "text", "advice"),
    ]
    assert (rows[0]["value"], rows[0]["threshold"], rows[0]["n"]) == ("0.5", "0.9", "40")


@pytest.mark.parametrize(
    ("made", "banner"),
    [(PASSED, "✅ passed"), (FAILED, "❌ failed"), (UNDECIDED, "❔ undecided")],
    ids=["passed", "failed", "undecided"],
)
def test_markdown_begins_with_the_verdict(made: GateVerdict, banner: str) -> None:
    shown = render_verdict(made, "md")
    assert shown.startswith(f"## Assay gate: {banner}\n\n- {describe_verdict(made)}")
    assert "\n| --- |" in shown


def test_a_slice_with_a_bar_keeps_the_markdown_table_whole() -> None:
    row = next(line for line in render_verdict(FAILED, "md").splitlines() if "a\\|b" in line)
    assert row.count("|") - row.count("\\|") == 7


def test_the_page_escapes_what_it_shows() -> None:
    shown = render_verdict(FAILED, "html")
    assert "<!doctype html>" in shown.lower()
    assert "Assay gate: ❌ failed" in shown
    assert "&lt;c&gt;" in shown
    assert "<c>" not in shown


@pytest.mark.parametrize("style", FORMATS)
@every
def test_every_verdict_has_every_format(made: GateVerdict, style: str) -> None:
    shown = render_verdict(made, style)
    assert shown
    assert "nan" not in shown.lower()


def test_a_failure_that_is_lost_to_correction_says_so() -> None:
    rules = [{"measure": "R@10", "not_worse_than": margin / 1000} for margin in (20, 21, 22)]
    columns = {"R@10": moved_scores(-0.041)}
    assert describe_check(gate_values(rules[:1], columns).checks[0]).endswith(
        ": worse by more than that, p 0.019"
    )
    verdict = gate_values(rules, columns)
    first = verdict.checks[0]
    assert (first.status, first.side) == ("undecided", -1)
    assert describe_check(first).endswith(
        ": worse by more than that, but not shown after correction (p 0.057)"
    )


def test_a_failed_check_and_too_few_queries_are_not_in_one_output() -> None:
    rule = {"measure": "R@10", "better_by": 0.1}
    verdict = gate_values(rule, {"R@10": moved_scores(0.01)})
    shown = render_verdict(verdict, "table")
    assert "✗ FAIL" in shown
    assert "too few" not in shown
    assert "no difference is shown, and one of 0.01 is not excluded" in shown


def test_no_reading_leaves_open_what_a_check_has_decided() -> None:
    rules = [{"measure": "R@10", "not_worse_than": 0.0, "by": "team"}]
    verdict = gate_values(rules, {"R@10": moved_scores(-0.0215)}, QUARTERS, correction="none")
    assert verdict.checks[0].status == "failed"
    uncorrected = verdict.comparisons
    assert uncorrected is not None
    corrected = compare_evaluations(uncorrected.evaluations, ComparisonOptions(correction="holm"))
    assert [reading.key for reading in corrected.readings] == ["not shown after correction"]
    assert "not shown" not in render_verdict(replace(verdict, comparisons=corrected), "table")


def test_checks_are_not_decided_with_fewer_queries_than_the_rules_require() -> None:
    verdict = held(SECOND, min_queries=1000)
    shown = render_verdict(verdict, "table")
    assert "FAIL" not in shown
    assert re.search(r"0.5000 \(0.\d+ … 0.\d+\), n 40: not decided with so few judged queries", shown)


@every
def test_no_sentence_says_that_it_cannot_be_decided_and_what_decides(made: GateVerdict) -> None:
    assert "cannot be decided" not in describe_verdict(made) or "decides" not in describe_verdict(made)
